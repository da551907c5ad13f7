"""ARC grids: tasks, the editor as pure functions, and the same editor as an environment."""
