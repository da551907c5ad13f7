// The editor as pure functions on states that never change; the same as `env/arc/editor.py`, message for message.

export type Grid = readonly (readonly number[])[];
export type On = "output" | "input";
export type Cell = readonly [row: number, column: number];

export interface Selection {
  on: On;
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/** What undo or redo goes to, and the moment beyond it. */
export interface Moment {
  grid: Grid;
  selection: Selection | null;
  beyond: Moment | null;
  depth: number;
}

export interface State {
  input: Grid;
  /** null where it is not known: a submission is counted, but not judged. */
  answer: Grid | null;
  grid: Grid;
  selection: Selection | null;
  clipboard: Grid | null;
  colour: number;
  trials: number;
  status: "open" | "right" | "closed";
  past: Moment | null;
  future: Moment | null;
  message: string;
}

/** One thing done: `do` names it, the rest are its arguments. */
export type Step =
  | { do: "resize"; height: number; width: number }
  | { do: "copy_input" | "reset" | "crop" | "deselect" | "copy" | "paste" | "undo" | "redo" | "submit" }
  | { do: "put"; grid: Grid; note?: string }
  | { do: "clip"; grid: Grid }
  | { do: "colour" | "fill"; colour: number }
  | { do: "pick"; on: On; row: number; column: number }
  | { do: "paint" | "flood"; row: number; column: number; colour: number }
  | { do: "line"; cells: readonly Cell[]; colour: number }
  | { do: "select"; on: On; row: number; column: number; to_row: number; to_column: number }
  | { do: "flip"; axis: "horizontal" | "vertical" }
  | { do: "rotate"; turns: number }
  | { do: "move"; rows: number; columns: number };

export const LARGEST_SIDE = 30;
export const TRIALS = 3;
const NOTHING = "nothing is selected; drag over cells of the input or the output first";
const LOOKING = new Set(["colour", "pick", "select", "deselect", "copy", "clip"]);

export const blank = (height: number, width: number): number[][] => Array.from({ length: height }, () => new Array<number>(width).fill(0));
export const same = (a: Grid, b: Grid): boolean => a.length === b.length && a[0].length === b[0].length && a.every((row, r) => row.every((cell, c) => cell === b[r][c]));
export const cells = (s: Selection): number => (s.bottom - s.top + 1) * (s.right - s.left + 1);
export const part = (grid: Grid, s: Selection): number[][] => grid.slice(s.top, s.bottom + 1).map((row) => row.slice(s.left, s.right + 1));
const copied = (grid: Grid): number[][] => grid.map((row) => [...row]);

export function start(input: Grid, answer: Grid | null): State {
  return { input, answer, grid: blank(3, 3), selection: null, clipboard: null, colour: 0, trials: 0, status: "open", past: null, future: null, message: "" };
}

const said = (state: State, message: string): State => ({ ...state, message });
const on = (state: State, which: On): Grid => (which === "output" ? state.grid : state.input);

function outside(state: State, which: On, row: number, column: number): State | null {
  const grid = on(state, which);
  if (row >= 0 && row < grid.length && column >= 0 && column < grid[0].length) return null;
  return said(state, `row ${row}, column ${column} is outside: the ${which} is ${grid.length}x${grid[0].length}`);
}

function selected(state: State): Selection {
  if (state.selection?.on === "output") return state.selection;
  return { on: "output", top: 0, left: 0, bottom: state.grid.length - 1, right: state.grid[0].length - 1 };
}

function changed(state: State, grid: Grid, kept: Selection | null = state.selection): State {
  const gone = kept?.on === "output" && (kept.bottom >= grid.length || kept.right >= grid[0].length);
  const selection = gone ? null : kept;
  if (same(grid, state.grid)) return { ...state, selection, message: "" };
  const past = { grid: state.grid, selection: state.selection, beyond: state.past, depth: (state.past?.depth ?? 0) + 1 };
  return { ...state, grid, selection, past, future: null, message: "" };
}

function write(grid: number[][], block: Grid, top: number, left: number): void {
  block.forEach((row, r) => row.forEach((cell, c) => {
    if (grid[top + r]?.[left + c] !== undefined) grid[top + r][left + c] = cell;
  }));
}

function lifted(state: State, chosen: Selection, block: Grid, top: number, left: number): State {
  const grid = copied(state.grid);
  for (let r = chosen.top; r <= chosen.bottom; r++) grid[r].fill(0, chosen.left, chosen.right + 1);
  write(grid, block, top, left);
  let selection = state.selection;
  if (selection?.on === "output") {
    const bottom = Math.min(top + block.length, grid.length) - 1;
    const right = Math.min(left + block[0].length, grid[0].length) - 1;
    selection = { on: "output", top: Math.max(top, 0), left: Math.max(left, 0), bottom, right };
  }
  return changed(state, grid, selection);
}

/** Cells on the straight line between two (Bresenham 1965), both included. */
export function straight([row, column]: Cell, [toRow, toColumn]: Cell): Cell[] {
  const rows = Math.abs(toRow - row), columns = Math.abs(toColumn - column);
  const down = toRow > row ? 1 : -1, across = toColumn > column ? 1 : -1;
  let error = columns - rows;
  const found: Cell[] = [[row, column]];
  while (row !== toRow || column !== toColumn) {
    const twice = 2 * error;
    if (twice > -rows) [error, column] = [error - rows, column + across];
    if (twice < columns) [error, row] = [error + columns, row + down];
    found.push([row, column]);
  }
  return found;
}

function line(state: State, stroke: readonly Cell[], colour: number): State {
  for (const [row, column] of stroke) {
    const refused = outside(state, "output", row, column);
    if (refused) return refused;
  }
  const grid = copied(state.grid);
  stroke.forEach((cell, i) => straight(cell, stroke[i + 1] ?? cell).forEach(([r, c]) => { grid[r][c] = colour; }));
  return changed(state, grid);
}

function flood(state: State, row: number, column: number, colour: number): State {
  const refused = outside(state, "output", row, column);
  if (refused) return refused;
  const grid = copied(state.grid), old = grid[row][column];
  const waiting: Cell[] = old === colour ? [] : [[row, column]];
  while (waiting.length) {
    const [r, c] = waiting.pop()!;
    if (grid[r]?.[c] !== old) continue;
    grid[r][c] = colour;
    waiting.push([r - 1, c], [r + 1, c], [r, c - 1], [r, c + 1]);
  }
  return changed(state, grid);
}

function turned(block: Grid, turns: number): Grid {
  let grid = block;
  for (let i = 0; i < turns; i++) {
    const before = grid;
    grid = before[0].map((_, c) => before.map((_, r) => before[before.length - 1 - r][c]));
  }
  return grid;
}

function rotate(state: State, turns: number): State {
  const chosen = selected(state);
  const block = turned(part(state.grid, chosen), turns);
  if (cells(chosen) !== state.grid.length * state.grid[0].length) return lifted(state, chosen, block, chosen.top, chosen.left);
  const whole: Selection = { on: "output", top: 0, left: 0, bottom: block.length - 1, right: block[0].length - 1 };
  return changed(state, block, state.selection?.on === "output" ? whole : state.selection);
}

function move(state: State, rows: number, columns: number): State {
  const chosen = selected(state);
  const top = chosen.top + rows, left = chosen.left + columns;
  if (chosen.bottom + rows < 0 || chosen.right + columns < 0 || top >= state.grid.length || left >= state.grid[0].length) {
    return said(state, "nothing of it would be left inside the grid");
  }
  return lifted(state, chosen, part(state.grid, chosen), top, left);
}

function paste(state: State): State {
  const chosen = state.selection;
  if (!state.clipboard) return said(state, "nothing was copied yet; select cells and copy them first");
  if (chosen?.on !== "output") return said(state, "select the cell of the output where the top left corner goes");
  if (cells(chosen) > 1) return said(state, `${cells(chosen)} cells are selected; select one, where the top left corner goes`);
  const grid = copied(state.grid);
  write(grid, state.clipboard, chosen.top, chosen.left);
  return changed(state, grid);
}

function travel(state: State, from: "past" | "future", to: "past" | "future", nothing: string): State {
  const there = state[from];
  if (!there) return said(state, nothing);
  const here = { grid: state.grid, selection: state.selection, beyond: state[to], depth: (state[to]?.depth ?? 0) + 1 };
  return { ...state, grid: there.grid, selection: there.selection, [from]: there.beyond, [to]: here, message: "" };
}

function submit(state: State): State {
  const trials = state.trials + 1;
  const left = TRIALS - trials;
  const count = left === 0 ? "no trial is left" : left === 1 ? "1 trial is left" : `${left} trials are left`;
  if (state.answer && same(state.grid, state.answer)) return { ...state, trials, status: "right", message: "right: the size and every cell" };
  const message = state.answer ? `not right; ${count}` : `submitted; nobody knows the answer here; ${count}`;
  return { ...state, trials, status: left === 0 ? "closed" : "open", message };
}

/** The state after one step. */
export function apply(state: State, step: Step): State {
  if (state.status !== "open" && !LOOKING.has(step.do)) {
    return said(state, state.status === "right" ? "this test input is solved" : "this test input is closed: its trials are used");
  }
  switch (step.do) {
    case "resize": {
      const { height, width } = step;
      if (!(height >= 1 && height <= LARGEST_SIDE && width >= 1 && width <= LARGEST_SIDE)) {
        return said(state, `a grid has 1 to ${LARGEST_SIDE} rows and columns, not ${height}x${width}`);
      }
      const grid = blank(height, width);
      write(grid, state.grid, 0, 0);
      return changed(state, grid);
    }
    case "copy_input": return changed(state, state.input);
    case "reset": return changed(state, blank(state.grid.length, state.grid[0].length));
    case "crop": return state.selection ? changed(state, part(on(state, state.selection.on), state.selection), null) : said(state, NOTHING);
    case "put": return changed(state, step.grid);
    case "colour": return { ...state, colour: step.colour, message: "" };
    case "pick": return outside(state, step.on, step.row, step.column) ?? { ...state, colour: on(state, step.on)[step.row][step.column], message: "" };
    case "paint": return line(state, [[step.row, step.column]], step.colour);
    case "line": return line(state, step.cells, step.colour);
    case "fill": {
      const chosen = state.selection;
      if (chosen?.on !== "output") return said(state, "nothing is selected on the output; drag over its cells first");
      const grid = copied(state.grid);
      for (let r = chosen.top; r <= chosen.bottom; r++) grid[r].fill(step.colour, chosen.left, chosen.right + 1);
      return changed(state, grid);
    }
    case "flood": return flood(state, step.row, step.column, step.colour);
    case "select": {
      const refused = outside(state, step.on, step.row, step.column) ?? outside(state, step.on, step.to_row, step.to_column);
      if (refused) return refused;
      const [top, bottom] = [Math.min(step.row, step.to_row), Math.max(step.row, step.to_row)];
      const [left, right] = [Math.min(step.column, step.to_column), Math.max(step.column, step.to_column)];
      return { ...state, selection: { on: step.on, top, left, bottom, right }, message: "" };
    }
    case "deselect": return { ...state, selection: null, message: "" };
    case "copy": return state.selection ? { ...state, clipboard: part(on(state, state.selection.on), state.selection), message: "" } : said(state, NOTHING);
    case "clip": return { ...state, clipboard: step.grid, message: "" };
    case "paste": return paste(state);
    case "flip": {
      const chosen = selected(state), grid = copied(state.grid), block = part(state.grid, chosen);
      write(grid, step.axis === "horizontal" ? block.map((row) => row.reverse()) : block.reverse(), chosen.top, chosen.left);
      return changed(state, grid);
    }
    case "rotate": return rotate(state, step.turns);
    case "move": return move(state, step.rows, step.columns);
    case "undo": return travel(state, "past", "future", "nothing to undo");
    case "redo": return travel(state, "future", "past", "nothing to redo");
    case "submit": return submit(state);
  }
}
