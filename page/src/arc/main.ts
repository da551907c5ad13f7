// The page of grid tasks: chooses a task, edits its output, keeps and replays what was done.
import { fill, h, name, plural, uniqueId } from "../common/dom";
import { begin } from "../common/shell";
import { draw, PALETTES, type Look } from "./draw";
import { apply, LARGEST_SIDE, part, same, start, straight, TRIALS, type Cell, type Grid, type On, type State, type Step } from "./editor";
import { LARGEST_FILE, parseSize, parseStep, parseTasks, parseTraces, SCHEMA, type Task, type Trace } from "./files";

interface Work {
  state: State;
  steps: Step[];
}

const TOOLS = [["paint", "Paint", "e"], ["select", "Select", "s"], ["flood", "Flood fill", "f"], ["stamp", "Stamp", "b"], ["pick", "Pick colour", "p"]] as const;
type Tool = (typeof TOOLS)[number][0];
const NAMES = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const MOST_SHOWN = 60;
const LOOK = "wilkins-arc-look";
const EARLIER = "person, earlier";
/** Keys that go on while they are held down; any other does its work once, so that no trial is spent unasked. */
const GO_ON = new Set(["z", "y", "[", "]", "<", ">", ",", "."]);

function words(step: Step): string {
  const at = "row" in step ? ` ${step.row}, ${step.column}` : "";
  const colour = "colour" in step ? ` in ${step.colour}` : "";
  switch (step.do) {
    case "resize": return `resize to ${step.height}x${step.width}`;
    case "line": return `stroke of ${plural(step.cells.length, "point")}${colour}`;
    case "put": return step.note || "replace the grid";
    case "select": return `select on ${step.on}: ${step.row}, ${step.column} to ${step.to_row}, ${step.to_column}`;
    case "move": return `move by ${step.rows}, ${step.columns}`;
    case "rotate": return `rotate ${step.turns * 90}\u00b0`;
    case "flip": return `flip, ${step.axis}`;
    case "colour": return `colour ${step.colour}`;
    case "copy_input": return "copy the input";
    default: return `${step.do}${at}${colour}`;
  }
}

function store(key: string, value?: string): string | null {
  if (value === undefined) return localStorage.getItem(key);
  localStorage.setItem(key, value);
  return value;
}

const after = (input: Grid, answer: Grid | null, steps: readonly Step[], upTo = steps.length): State => steps.slice(0, upTo).reduce(apply, start(input, answer));

begin((app, text) => {
  const data = JSON.parse(text) as { tasks: Task[]; traces: Trace[] };
  let tasks = data.tasks;
  let traces = data.traces;
  let index = 0, test = 0, tool: Tool = "paint";
  const cursors: Record<On, Cell> = { input: [0, 0], output: [0, 0] };
  /** The grid that keys work on, and the cell of the output under the pointer. */
  let showCursor: On | null = null, hover: Cell | null = null;
  let drag: { on: On; from: Cell; to: Cell; cells: Cell[] } | null = null;
  const look: Look = { palette: PALETTES.vivid, numbers: false };
  const works = new Map<string, Work>();
  /** What was copied last, on whichever task; it becomes a step of another task's trace when it is pasted there. */
  let carried: Grid | null = null;
  let stored = true;

  const task = (): Task => tasks[index];
  const keyOf = (of: Task, number: number): string => `${of.name}/${number}`;
  const pair = (): { input: Grid; output: Grid | null } => task().test[test];
  const asTrace = (own: Work, of = task().name, number = test): Trace => ({ task: of, test: number, by: "person", input: own.state.input, steps: own.steps });
  const traceFile = (list: Trace[]): string => JSON.stringify({ schema: SCHEMA, traces: list });

  /** The work on a test input: what was done since the page was opened, else what the browser kept. */
  function workOf(of: Task, number: number): Work {
    const key = keyOf(of, number), { input, output } = of.test[number];
    const known = works.get(key);
    if (known && same(known.state.input, input)) return known;
    const made: Work = { state: start(input, output), steps: [] };
    try {
      const kept = store(`wilkins-arc/${key}`);
      const [trace, ...before] = kept ? parseTraces(kept, "kept work") : [];
      if (trace && same(trace.input, input)) {
        Object.assign(made, { steps: trace.steps, state: { ...after(input, output, trace.steps), message: "" } });
        traces = [...traces.filter((each) => !isEarlier(each, of, number)), ...before];
      }
    } catch (error) {
      unsaved(error);
    }
    works.set(key, made);
    return made;
  }
  const work = (): Work => workOf(task(), test);
  const isEarlier = (trace: Trace, of: Task, number: number): boolean => trace.by === EARLIER && trace.task === of.name && trace.test === number;
  const clipboard = (): Grid | null => carried ?? work().state.clipboard;

  function unsaved(error: unknown): void {
    stored = false;
    fill(kept, `Your work is not kept in this browser (${error instanceof Error ? error.name : "no store"}); export it before you leave.`);
  }

  function tell(text: string, wrong = false): void {
    fill(message, text);
    message.className = wrong ? "message wrong" : "message";
  }

  function act(...steps: Step[]): void {
    const own = work();
    const before = own.state.clipboard, clip: Step[] = carried && !(before && same(before, carried)) ? [{ do: "clip", grid: carried }] : [];
    const all = steps.flatMap((step) => (step.do === "paste" ? [...clip, step] : [step]));
    for (const step of all) {
      own.state = apply(own.state, step);
      own.steps.push(step);
      if (own.state.message && step !== all.at(-1)) break;
      if (step.do === "copy" || step.do === "clip") carried = own.state.clipboard;
    }
    // A grid in the address is that of a link; read again it would replace what is done from here on.
    if (new URLSearchParams(location.hash.slice(1)).has("grid")) history.replaceState(null, "", address());
    const last = own.steps.at(-1)!;
    tell(own.state.message, own.state.message !== "" && own.state.status !== "right");
    if (!own.state.message && (last.do === "undo" || last.do === "redo")) tell(`${last.do} done`);
    keep(own);
  }

  /** Keep the work in the browser, and show it at its last step. */
  function keep(own: Work): void {
    try {
      store(`wilkins-arc/${keyOf(task(), test)}`, traceFile([asTrace(own), ...traces.filter((each) => isEarlier(each, task(), test))]));
      if (!stored) fill(kept, "");
      stored = true;
    } catch (error) {
      unsaved(error);
    }
    at = own.steps.length;
    paint();
  }

  /** Lay the trace of a closed test input beside, and begin again with all trials. */
  function beginAgain(): void {
    traces = [...traces, { ...asTrace(work()), by: EARLIER }];
    const own = { state: start(pair().input, pair().output), steps: [] };
    works.set(keyOf(task(), test), own);
    keep(own);
    tell("begun again; what was done before stands beside, under what was done");
    outputCanvas.focus();
  }

  /** The grid of another trace as one's own: the whole trace where nothing was done yet, one step otherwise. */
  function takeOver(trace: Trace, upTo: number): void {
    const own = work();
    if (own.steps.length) return act({ do: "put", grid: after(trace.input, pair().output, trace.steps, upTo).grid, note: `step ${upTo} of ${trace.by || "unnamed"}`.slice(0, 200) });
    own.steps = trace.steps.slice(0, upTo);
    own.state = { ...after(own.state.input, own.state.answer, own.steps), message: "" };
    carried = own.state.clipboard ?? carried;
    keep(own);
    tell(`${plural(upTo, "step")} taken over`);
  }

  // What the reader can press

  const button = (label: string, press: () => void, extra: Record<string, string> = {}): HTMLButtonElement => h("button", { type: "button", onclick: press, ...extra }, label);
  const canvas = (className: string, extra: Record<string, string> = {}): HTMLCanvasElement => h("canvas", { class: className, ...extra });
  const message = h("p", { class: "message", role: "status", "aria-live": "polite" });
  const kept = h("p", { class: "note", role: "status" });
  const inputCanvas = canvas("grid", { role: "application", tabindex: "0", "aria-roledescription": "grid" });
  const outputCanvas = canvas("grid", { role: "application", tabindex: "0", "aria-roledescription": "grid editor" });
  const readout = h("p", { class: "note readout", "aria-live": "polite" });
  const size = h("input", { id: uniqueId("size"), size: 7, autocomplete: "off" });
  const sized = (): void => {
    const found = parseSize(size.value);
    if (found) act({ do: "resize", height: found[0], width: found[1] });
    else tell(`write a size as rows x columns, such as 3x4, not "${size.value.slice(0, 20)}"`, true);
  };
  size.addEventListener("keydown", (event) => { if (event.key === "Enter") sized(); });

  function choose(colour: number): void {
    const own = work().state;
    if (own.colour !== colour) act({ do: "colour", colour });
    if (tool === "select" && own.selection?.on === "output") act({ do: "fill", colour });
    paint();
  }
  const swatches = NAMES.map((label, colour) => button(label, () => choose(colour), { class: "swatch", "aria-label": `colour ${colour}` }));
  const toolButtons = TOOLS.map(([id, label, shortcut]) => button(label, () => take(id), { title: `key ${shortcut}` }));
  function take(id: Tool): void {
    tool = id;
    paint();
  }
  const copy = (): void => act({ do: "copy" });
  const cut = (): void => act({ do: "copy" }, { do: "fill", colour: 0 });
  const undo = (): void => act({ do: "undo" });
  const redo = (): void => act({ do: "redo" });
  const actions: [string, string, () => void][] = [
    ["Undo", "z", undo], ["Redo", "y", redo], ["Copy", "c", copy], ["Cut", "x", cut], ["Paste", "v", () => act({ do: "paste" })],
    ["Delete", "Delete", () => act({ do: "fill", colour: 0 })], ["Select all", "a", () => act({ do: "select", on: "output", row: 0, column: 0, to_row: work().state.grid.length - 1, to_column: work().state.grid[0].length - 1 })],
    ["Crop", "k", () => act({ do: "crop" })], ["Flip \u2194", "h", () => act({ do: "flip", axis: "horizontal" })], ["Flip \u2195", "j", () => act({ do: "flip", axis: "vertical" })],
    ["Rotate", "r", () => act({ do: "rotate", turns: 1 })], ["Copy input", "i", () => act({ do: "copy_input" })], ["Reset", "w", () => act({ do: "reset" })],
  ];
  const arrows: [string, string, number, number][] = [["\u2190", "left", 0, -1], ["\u2191", "up", -1, 0], ["\u2193", "down", 1, 0], ["\u2192", "right", 0, 1]];
  const submit = button("Submit", () => act({ do: "submit" }), { class: "primary", title: "Ctrl+Enter" });
  const trials = h("span", { class: "dim" });
  const again = button("Begin again", beginAgain, { title: "key g" });
  const previous = button("\u2039 Previous", () => go(index - 1), { title: "key ," });
  const next = button("Next \u203a", () => go(index + 1), { title: "key ." });
  const random = (): void => go(Math.floor(Math.random() * tasks.length));
  const nextTest = button("Next test input", () => {
    if (test + 1 < task().test.length) go(index, test + 1);
    else tell(task().test.length > 1 ? "this was the last test input; Previous task or the list lead back" : "this task has one test input", true);
  }, { title: "key t" });

  // Choosing a task

  const heading = h("h2", { class: "task" });
  const search = h("input", { id: uniqueId("search"), type: "search", autocomplete: "off", oninput: () => list() });
  const found = h("ul", { class: "thumbs" });
  const count = h("p", { class: "note" });
  function list(): void {
    const asked = search.value.trim().toLowerCase();
    const hits = tasks.map((each, i) => [each, i] as const).filter(([each, i]) => !asked || each.name.toLowerCase().includes(asked) || String(i + 1) === asked);
    fill(count, hits.length > MOST_SHOWN ? `${hits.length} tasks, the first ${MOST_SHOWN} shown; write part of a name or a number` : plural(hits.length, "task"));
    fill(found, ...hits.slice(0, MOST_SHOWN).map(([each, i]) => {
      const picture = canvas("thumb", { "aria-hidden": "true" });
      const grid = each.train[0].input;
      draw(picture, grid, Math.max(1, Math.floor(60 / Math.max(grid.length, grid[0].length))), { ...look, numbers: false });
      return h("li", {}, h("button", { type: "button", class: "pickTask", "aria-current": i === index ? "true" : null, onclick: () => go(i) }, picture, h("span", {}, `${i + 1} `, name(each.name))));
    }));
  }

  function address(grid?: Grid): string {
    const parameters = new URLSearchParams({ task: task().name, test: String(test) });
    if (grid) parameters.set("grid", grid.map((row) => row.join("")).join("-"));
    return `#${parameters}`;
  }
  function go(to: number, number = 0, quiet = false): void {
    if (to < 0 || to >= tasks.length) return tell(to < 0 ? "this is the first task" : "this is the last task", true);
    [index, test] = [to, Math.min(Math.max(number, 0), tasks[to].test.length - 1)];
    cursors.input = cursors.output = [0, 0];
    hover = drag = null;
    if (!quiet) history.pushState(null, "", address());
    document.title = `${task().name} \u00b7 Wilkins`;
    fill(heading, `Task ${index + 1} of ${tasks.length}: `, name(task().name));
    tell("");
    at = work().steps.length;
    demonstrate();
    list();
    paint();
  }
  function arrive(): void {
    const asked = new URLSearchParams(location.hash.slice(1));
    const to = tasks.findIndex((each) => each.name === asked.get("task"));
    const number = Number(asked.get("test") ?? 0);
    go(to < 0 ? index : to, Number.isInteger(number) ? number : 0, true);
    if (asked.has("task") && to < 0) return tell("no task of that name on this page", true);
    if (number !== test) tell(`the link names a test input that is not there; this task has ${task().test.length}`, true);
    const written = asked.get("grid");
    if (written === null) return;
    try {
      const step = parseStep({ do: "put", grid: written.split("-").map((row) => [...row].map((cell) => (/\d/.test(cell) ? Number(cell) : cell))), note: "a grid from a link" }, "the link");
      if (step.do === "put" && !same(work().state.grid, step.grid)) act(step);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
    }
  }

  const demonstrations = h("div", { class: "pairs" });
  function fit(grid: Grid, room: number, most: number): number {
    return Math.max(3, Math.min(most, Math.floor(room / Math.max(grid[0].length, 1)), Math.floor(460 / grid.length)));
  }
  function demonstrate(): void {
    const room = Math.min(app.clientWidth - 60, 640) / 2 - 20;
    fill(demonstrations, ...task().train.map(({ input, output }, i) => {
      const side = Math.min(fit(input, room, 18), fit(output!, room, 18));
      const [a, b] = [canvas("grid", { role: "img", "aria-label": `demonstration ${i} input, ${input.length}x${input[0].length}` }), canvas("grid", { role: "img", "aria-label": `demonstration ${i} output, ${output!.length}x${output![0].length}` })];
      draw(a, input, side, look);
      draw(b, output!, side, look);
      return h("figure", {}, h("div", { class: "two" }, a, h("span", { "aria-hidden": "true" }, "\u2192"), b), h("figcaption", { class: "note" }, `${input.length}x${input[0].length} \u2192 ${output!.length}x${output![0].length} `, button("Copy its output", () => act({ do: "clip", grid: output! }), { class: "link" })));
    }));
  }

  // Painting on the grids

  let side = 20, inputSide = 20;
  function cellAt(event: PointerEvent, target: HTMLCanvasElement, grid: Grid, of: number): Cell {
    const box = target.getBoundingClientRect();
    const within = (at: number, most: number): number => Math.min(Math.max(Math.floor(at / of), 0), most - 1);
    return [within(event.clientY - box.top, grid.length), within(event.clientX - box.left, grid[0].length)];
  }
  function press(on: On, cell: Cell): void {
    const colour = work().state.colour;
    if (tool === "pick") act({ do: "pick", on, row: cell[0], column: cell[1] });
    else if (on === "input" || tool === "select") drag = { on, from: cell, to: cell, cells: [] };
    else if (tool === "flood") act({ do: "flood", row: cell[0], column: cell[1], colour });
    else if (tool === "stamp") act({ do: "select", on, row: cell[0], column: cell[1], to_row: cell[0], to_column: cell[1] }, { do: "paste" });
    else drag = { on, from: cell, to: cell, cells: [cell] };
  }
  function release(): void {
    const done = drag;
    drag = null;
    if (!done) return;
    if (!done.cells.length) act({ do: "select", on: done.on, row: done.from[0], column: done.from[1], to_row: done.to[0], to_column: done.to[1] });
    else if (done.cells.length === 1) act({ do: "paint", row: done.from[0], column: done.from[1], colour: work().state.colour });
    else act({ do: "line", cells: done.cells, colour: work().state.colour });
  }
  function read(on: On, [row, column]: Cell): void {
    fill(readout, `${on}: row ${row}, column ${column}, colour ${gridOn(on)[row][column]}`);
  }
  const gridOn = (on: On): Grid => (on === "input" ? work().state.input : work().state.grid);
  for (const [on, target] of [["input", inputCanvas], ["output", outputCanvas]] as const) {
    const grid = (): Grid => gridOn(on);
    const of = (): number => (on === "input" ? inputSide : side);
    target.addEventListener("pointerdown", (event) => {
      if (event.button || !event.isPrimary) return; // a second finger draws nothing
      target.setPointerCapture(event.pointerId);
      getSelection()?.removeAllRanges();
      showCursor = null;
      const cell = cellAt(event, target, grid(), of());
      press(on, cell);
      read(on, cell);
      paintGrids();
    });
    target.addEventListener("pointermove", (event) => {
      if (!event.isPrimary) return;
      const cell = cellAt(event, target, grid(), of());
      if (on === "output") hover = cell;
      read(on, cell);
      if (drag?.on === on) {
        const last = drag.cells.at(-1);
        if (last && (last[0] !== cell[0] || last[1] !== cell[1]) && drag.cells.length < 4096) drag.cells.push(cell);
        drag.to = cell;
      }
      if (drag || tool === "stamp") paintGrids();
    });
    target.addEventListener("pointerup", (event) => { if (event.isPrimary) release(); });
    target.addEventListener("pointercancel", (event) => { if (event.isPrimary) drag = null; paintGrids(); });
    target.addEventListener("pointerleave", () => { hover = null; paintGrids(); });
    target.addEventListener("focus", () => { showCursor = target.matches(":focus-visible") ? on : null; paintGrids(); });
    target.addEventListener("blur", () => { showCursor = null; paintGrids(); });
  }

  // Keys: ignored while something is typed

  const others: [string, string, () => void][] = [
    ["Select nothing", "Escape", () => act({ do: "deselect" })], ["Size", "d", () => { size.focus(); size.select(); }], ["Next test input", "t", () => nextTest.click()],
    ["Previous task", ",", () => go(index - 1)], ["Next task", ".", () => go(index + 1)], ["Random task", "m", random], ["Search tasks", "/", () => { browse.open = true; search.focus(); }], ["Open files", "o", () => file.click()],
    ["Numbers in cells", "n", () => numbers.click()], ["Next palette", "u", () => { palette.selectedIndex = (palette.selectedIndex + 1) % palette.options.length; dress(); }],
    ["Link to this state", "l", () => share.click()], ["Your trace a step back", "[", () => stepTo(at - 1)], ["Your trace a step on", "]", () => stepTo(at + 1)],
    ["The other trace a step back", "<", () => otherTo(-1)], ["The other trace a step on", ">", () => otherTo(1)],
    ["Take the other trace over", "q", () => { if (fitting().length) takeIt.click(); }], ["Begin again, once the trials are used", "g", () => { if (!again.hidden) beginAgain(); }],
  ];
  const keys = new Map<string, () => void>([
    ...TOOLS.map(([id, , shortcut]) => [shortcut, () => take(id)] as [string, () => void]),
    ...[...actions, ...others].map(([, shortcut, run]) => [shortcut, run] as [string, () => void]),
    ["Backspace", () => act({ do: "fill", colour: 0 })],
    ...NAMES.map((label, colour) => [label, () => choose(colour)] as [string, () => void]),
  ]);
  const keyNames: [string, string][] = [
    ["Colour; fills what is selected while selecting", "0 to 9"], ...TOOLS.map(([, label, shortcut]) => [label, shortcut] as [string, string]), ...[...actions, ...others].map(([label, shortcut]) => [label, shortcut] as [string, string]),
    ["Copy, cut, paste", "Ctrl+C, X, V"], ["Undo, redo", "Ctrl+Z, Y"], ["Submit", "Ctrl+Enter"], ["Export traces", "Ctrl+S"],
    ["On input or output: go to a cell", "arrows"], ["Use the tool there", "Enter"], ["Select from there", "Shift+arrows"], ["Move what is selected", "Alt+arrows"],
  ];
  const held = new Map<string, () => void>([["c", copy], ["x", cut], ["v", () => act({ do: "paste" })], ["z", undo], ["y", redo], ["s", save], ["Enter", () => act({ do: "submit" })]]);
  document.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (target.closest("input:not([type=range], [type=file], [type=checkbox]), select, textarea")) return;
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const arrow = arrows.find(([, label]) => event.key === `Arrow${label[0].toUpperCase()}${label.slice(1)}`);
    const on: On | null = target === outputCanvas ? "output" : target === inputCanvas ? "input" : null;
    let run: (() => void) | undefined;
    if (event.ctrlKey || event.metaKey) {
      if ((pressed === "c" || pressed === "x") && getSelection()?.toString()) return; // text of the page, which the browser copies
      run = event.shiftKey && pressed === "z" ? redo : held.get(pressed);
    } else if (arrow && on) run = event.altKey ? () => act({ do: "move", rows: arrow[2], columns: arrow[3] }) : () => walk(on, arrow[2], arrow[3], event.shiftKey);
    else if (event.altKey) return;
    else if (on && (event.key === "Enter" || event.key === " ")) run = () => { press(on, cursors[on]); release(); };
    else run = keys.get(pressed);
    if (event.repeat && !arrow && !GO_ON.has(pressed)) run &&= () => undefined;
    if (!run) return;
    event.preventDefault();
    run();
  });

  /** Take the cursor a cell further, and with `reach` the selection's corner with it. */
  function walk(on: On, rows: number, columns: number, reach: boolean): void {
    const grid = gridOn(on), from = cursors[on], chosen = work().state.selection;
    const to: Cell = [Math.min(Math.max(from[0] + rows, 0), grid.length - 1), Math.min(Math.max(from[1] + columns, 0), grid[0].length - 1)];
    cursors[on] = to;
    showCursor = on;
    if (reach) {
      // The corner that stays is the one where the cursor was when the selection began.
      const corner: Cell = chosen?.on === on ? [from[0] === chosen.top ? chosen.bottom : chosen.top, from[1] === chosen.left ? chosen.right : chosen.left] : from;
      act({ do: "select", on, row: corner[0], column: corner[1], to_row: to[0], to_column: to[1] });
    }
    read(on, to);
    paintGrids();
  }

  // Files and traces

  function bring(files: Iterable<File>): void {
    for (const file of files) {
      if (file.size > LARGEST_FILE) {
        tell(`${file.name}: over 16 MiB; a task takes some kilobytes`, true);
        continue;
      }
      void file.text().then((content) => {
        if (content.slice(0, 400).includes(SCHEMA)) return follow(parseTraces(content, file.name), file.name);
        const brought = parseTasks(content, file.name);
        const kept = tasks.filter((each) => !brought.some((other) => other.name === each.name));
        tasks = [...kept, ...brought];
        go(kept.length);
        tell(`${file.name}: ${plural(brought.length, "task")} read`);
      }).catch((error: unknown) => tell(error instanceof Error ? error.message : String(error), true));
    }
  }
  /** Show traces beside one's own; goes to the first test input that they belong to where this is not one. */
  function follow(read: readonly Trace[], from: string): void {
    const places = read.map((each) => [tasks.findIndex(({ name: of, test: inputs }) => of === each.task && inputs[each.test] && same(inputs[each.test].input, each.input)), each.test] as const);
    const here = places.filter(([of]) => of >= 0);
    traces = [...traces, ...read];
    if (here.length && !here.some(([of, number]) => of === index && number === test)) go(...here[0]);
    picked = read.find((each) => fitting().includes(each)) ?? picked;
    paint();
    if (here.length) tell(`${from}: ${plural(read.length, "trace")} read${here.length < read.length ? `, ${here.length} of them of tasks on this page` : ""}; see below, under what was done`);
    else tell(`${from}: ${plural(read.length, "trace")} read, none of a task on this page; open the task's file too`, true);
  }
  const file = h("input", { type: "file", accept: ".json", multiple: true, class: "offscreen", tabindex: "-1", "aria-label": "task or trace files" });
  file.addEventListener("change", () => {
    bring([...file.files!]);
    file.value = ""; // so that the same file can be read again
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); bring(event.dataTransfer?.files ?? []); });
  function save(): void {
    const done = tasks.flatMap((of) => of.test.map((_, number) => [workOf(of, number), of.name, number] as const)).filter(([own]) => own.steps.length).map((each) => asTrace(...each));
    const list = [...traces.filter((each) => each.by === EARLIER), ...done];
    const link = URL.createObjectURL(new Blob([traceFile(list)], { type: "application/json" }));
    h("a", { href: link, download: "traces.json" }).click();
    setTimeout(() => URL.revokeObjectURL(link), 60_000);
    tell(`${plural(list.length, "trace")} exported`);
  }
  let at = 0;
  function stepTo(step: number): void {
    at = Math.min(Math.max(step, 0), work().steps.length);
    replay();
  }
  function otherTo(by: number): void {
    otherAt.value = String(Number(otherAt.value) + by);
    replay();
  }
  const slider = h("input", { type: "range", min: 0, id: uniqueId("slider"), oninput: () => stepTo(Number(slider.value)) });
  const replayed = canvas("grid", { role: "img" });
  let picked: Trace | undefined;
  const otherPick = h("select", { id: uniqueId("trace"), onchange: () => { picked = fitting()[otherPick.selectedIndex]; otherAt.value = otherAt.max = "100000"; replay(); } });
  const otherAt = h("input", { type: "range", min: 0, max: 100000, value: 100000, id: uniqueId("slider"), oninput: () => replay() });
  const other = canvas("grid", { role: "img" });
  const otherStep = h("p", { class: "note" }), ownStep = h("p", { class: "note" });
  const fitting = (): Trace[] => traces.filter((each) => each.task === task().name && each.test === test && same(each.input, pair().input));
  const takeIt = button("Take this over", () => takeOver(fitting()[otherPick.selectedIndex], Number(otherAt.value)), { title: "key q" });
  const otherBox = h("div", { class: "other" }, h("label", { for: otherPick.id }, "Trace of"), " ", otherPick, h("div", {}, other), h("label", { for: otherAt.id, class: "offscreen" }, "step of the other trace"), otherAt, otherStep, takeIt);
  const log = h("ol", { class: "log" });
  function replay(): void {
    const own = work();
    slider.max = String(own.steps.length);
    slider.value = String(at);
    const room = Math.min(app.clientWidth - 60, 300);
    const mine = at >= own.steps.length ? own.state : after(own.state.input, own.state.answer, own.steps, at);
    draw(replayed, mine.grid, fit(mine.grid, room, 16), look);
    replayed.setAttribute("aria-label", `your grid after ${at} steps`);
    const hidden = own.steps.length - log.children.length;
    [...log.children].forEach((item, i) => { item.firstElementChild!.setAttribute("aria-current", hidden + i + 1 === at ? "step" : "false"); });
    fill(ownStep, `step ${at} of ${own.steps.length}${at ? `: ${words(own.steps[at - 1])}` : ""}`);
    const beside = fitting();
    otherBox.hidden = !beside.length;
    if (!beside.length) return;
    const chosen = Math.max(0, beside.findIndex((each) => each === picked));
    fill(otherPick, ...beside.map((each, i) => h("option", { selected: i === chosen }, `${each.by || "unnamed"} ${i + 1}`)));
    const trace = beside[chosen];
    otherAt.max = String(trace.steps.length);
    const k = Number(otherAt.value);
    const theirs = after(trace.input, pair().output, trace.steps, k);
    draw(other, theirs.grid, fit(theirs.grid, room, 16), look);
    other.setAttribute("aria-label", `the other grid after ${k} steps`);
    fill(otherStep, `step ${k} of ${trace.steps.length}${k ? `: ${words(trace.steps[k - 1])}` : ""}`);
  }

  // Showing it all

  function paintGrids(): void {
    const { state } = work();
    const wide = app.clientWidth > 760;
    const room = wide ? 400 : app.clientWidth - 30;
    side = fit(state.grid, room, 40);
    inputSide = fit(state.input, wide ? 330 : app.clientWidth - 30, 40);
    const dragged = drag && !drag.cells.length ? { on: drag.on, top: Math.min(drag.from[0], drag.to[0]), left: Math.min(drag.from[1], drag.to[1]), bottom: Math.max(drag.from[0], drag.to[0]), right: Math.max(drag.from[1], drag.to[1]) } : null;
    const shown = (on: On) => (dragged?.on === on ? dragged : state.selection?.on === on ? state.selection : null);
    const cursor = (on: On): Cell | null => (showCursor === on ? cursors[on] : null);
    draw(inputCanvas, state.input, inputSide, look, { selection: shown("input"), cursor: cursor("input") });
    const [lastRow, lastColumn] = [state.grid.length - 1, state.grid[0].length - 1];
    cursors.output = [Math.min(cursors.output[0], lastRow), Math.min(cursors.output[1], lastColumn)];
    const at = hover ?? cursor("output"), copied = clipboard();
    draw(outputCanvas, state.grid, side, look, {
      selection: shown("output"),
      cursor: cursor("output"),
      ghost: tool === "stamp" && copied && at && at[0] <= lastRow && at[1] <= lastColumn ? { grid: copied, at } : null,
      stroke: drag?.cells.length ? { cells: drag.cells.flatMap((cell, i, all) => straight(cell, all[i + 1] ?? cell)), colour: state.colour } : null,
    });
  }
  const clipCanvas = canvas("grid", { role: "img", "aria-label": "clipboard" });
  const clipBox = h("figure", {}, h("figcaption", { class: "note" }, "Clipboard"), clipCanvas);
  function paint(): void {
    const own = work(), { state } = own;
    paintGrids();
    inputCanvas.setAttribute("aria-label", `test input, ${state.input.length}x${state.input[0].length}; arrow keys move, with Shift they select`);
    outputCanvas.setAttribute("aria-label", `output, ${state.grid.length}x${state.grid[0].length}; arrow keys move, Enter uses the tool`);
    if (document.activeElement !== size) size.value = `${state.grid.length}x${state.grid[0].length}`;
    swatches.forEach((swatch, colour) => {
      swatch.style.setProperty("--colour", look.palette[colour]);
      swatch.setAttribute("aria-pressed", String(colour === state.colour));
    });
    toolButtons.forEach((each, i) => each.setAttribute("aria-pressed", String(TOOLS[i][0] === tool)));
    const left = TRIALS - state.trials;
    fill(trials, state.status === "right" ? "solved" : `${plural(left, "trial")} left`);
    fill(testLabel, `Test input ${test + 1} of ${task().test.length}`);
    const copied = clipboard();
    clipBox.hidden = !copied;
    if (copied) draw(clipCanvas, copied, fit(copied, 90, 12), look);
    again.hidden = state.status === "open";
    fill(log, ...own.steps.slice(-200).map((step, i) => h("li", {}, button(words(step), () => stepTo(Math.max(0, own.steps.length - 200) + i + 1), { class: "link" }))));
    log.scrollTop = log.scrollHeight;
    replay();
  }
  const testLabel = h("h2", {});
  const palette = h("select", { id: uniqueId("palette"), onchange: () => dress() }, ...Object.keys(PALETTES).map((label) => h("option", { value: label }, label)));
  const numbers = h("input", { type: "checkbox", id: uniqueId("numbers"), onchange: () => dress() });
  /** Palette and numbers as chosen, for the next visit too. */
  function dress(): void {
    Object.assign(look, { palette: PALETTES[palette.value], numbers: numbers.checked });
    try {
      store(LOOK, JSON.stringify({ palette: palette.value, numbers: numbers.checked }));
    } catch (error) {
      unsaved(error);
    }
    demonstrate();
    list();
    paint();
  }
  function undressed(): void {
    try {
      const kept = JSON.parse(store(LOOK) ?? "null") as { palette?: unknown; numbers?: unknown } | null;
      if (typeof kept?.palette === "string" && Object.hasOwn(PALETTES, kept.palette)) palette.value = kept.palette;
      numbers.checked = kept?.numbers === true;
    } catch { /* no store, which the first step says, or not what this page wrote */ }
    Object.assign(look, { palette: PALETTES[palette.value], numbers: numbers.checked });
  }
  const share = button("Link to this state", () => {
    history.replaceState(null, "", address(work().state.grid));
    void navigator.clipboard?.writeText(location.href).then(() => tell("the link is in the clipboard and in the address"), () => tell("the link is in the address"));
    tell("the link is in the address");
  });
  const browse = h("details", { class: "card browse" }, h("summary", {}, "Choose a task"), h("div", { class: "controls" }, h("label", { for: search.id }, "Name or number", search), button("Open files\u2026", () => file.click(), { title: "key o" }), file), count, found);
  app.append(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); outputCanvas.focus(); } }, "Skip to the output"),
    h("header", { class: "top arc" }, h("div", { class: "brand" }, h("h1", {}, "Wilkins"), h("p", {}, `Grid tasks: find the rule in the pairs, build the output. ${plural(tasks.length, "task")}.`)),
      h("div", { class: "chooser" }, previous, next, button("Random", random, { title: "key m" }))),
    h("main", { id: "main", tabindex: "-1" },
      browse,
      h("section", { class: "card", "aria-label": "Demonstrations" }, heading, demonstrations),
      h("section", { class: "card", "aria-label": "Editor" },
        h("div", { class: "title" }, testLabel, h("div", { class: "row" }, nextTest)),
        message, kept,
        h("div", { class: "desk" },
          h("figure", {}, h("figcaption", { class: "note" }, "Input"), inputCanvas),
          h("figure", {}, h("figcaption", { class: "note" }, "Output"), outputCanvas, readout),
          h("div", { class: "panel" },
            h("div", { class: "swatches", role: "group", "aria-label": "Colours" }, ...swatches),
            h("div", { class: "segments wrap", role: "group", "aria-label": "Tools" }, ...toolButtons),
            h("div", { class: "row", role: "group", "aria-label": "Actions" }, ...actions.map(([label, shortcut, run]) => button(label, run, { class: "quiet", title: `key ${shortcut}` }))),
            h("div", { class: "row", role: "group", "aria-label": "Move" }, h("span", {}, "Move"), ...arrows.map(([sign, label, rows, columns]) => button(sign, () => act({ do: "move", rows, columns }), { class: "quiet", "aria-label": `move ${label}`, title: "Alt+arrow" }))),
            h("div", { class: "row" }, h("label", { for: size.id }, "Size "), size, button("Resize", sized)),
            h("div", { class: "row" }, submit, trials, again),
            clipBox)),
        h("div", { class: "row looks" }, h("label", { for: palette.id }, "Palette"), palette, h("label", { for: numbers.id }, numbers, " numbers in cells"), share)),
      h("section", { class: "card", "aria-label": "History" }, h("div", { class: "title" }, h("h2", {}, "What was done"), h("div", { class: "row" }, button("Export traces", save, { title: "Ctrl+S" }), button("Import traces\u2026", () => file.click()))),
        h("div", { class: "desk" }, log, h("div", {}, h("p", { class: "note" }, "You"), h("div", {}, replayed), h("label", { for: slider.id, class: "offscreen" }, "step of your trace"), slider, ownStep), otherBox))),
    h("footer", {}, h("details", { class: "keys" }, h("summary", {}, "Keys"), h("dl", {}, ...keyNames.map(([label, shortcut]) => h("div", {}, h("dt", {}, h("kbd", {}, shortcut)), h("dd", {}, label)))))),
  );
  window.addEventListener("hashchange", arrive);
  window.addEventListener("popstate", arrive);
  window.addEventListener("resize", () => { demonstrate(); paint(); });
  undressed();
  arrive();
  // For the console, and for what compares this editor with the one in Python.
  Object.assign(window, { wilkins: { start, apply, same, part, parseTasks, parseTraces, LARGEST_SIDE, tasks: () => tasks, work: () => work() } });
}, "wilkins arc view");
