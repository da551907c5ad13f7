"""The world that an agent learns in: rules, pools, oracle matrix, belief, environments."""

import os

# Threads that wait for work sleep instead of spinning: on two shared cores spinning starves the others.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import gymnasium
except ModuleNotFoundError:  # who needs it says so, and `wilkins doctor`, which must not
    pass
else:
    gymnasium.register(id="wilkins/Cabinet-v0", entry_point="env.cabinet.environment:CabinetEnv")
    gymnasium.register(
        id="wilkins/ArcEditor-v0",
        entry_point="env.arc.environment:ArcEditorEnv",
        vector_entry_point="env.arc.vector:ArcEditorVectorEnv",
    )
    gymnasium.register(id="wilkins/Keywords-v0", entry_point="env.keywords.environment:KeywordsEnv")
    gymnasium.register(id="wilkins/ArcSteps-v0", entry_point="env.arc.solving:ArcStepsEnv")
