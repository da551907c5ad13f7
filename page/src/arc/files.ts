// Reads task and trace files that a reader brings, trusting nothing; what is wrong is one line with its place.
import { LARGEST_SIDE, type Grid, type Step } from "./editor";

export interface Pair {
  input: Grid;
  output: Grid | null;
}

export interface Task {
  name: string;
  train: Pair[];
  test: Pair[];
}

export interface Trace {
  task: string;
  test: number;
  by: string;
  input: Grid;
  steps: Step[];
}

export const SCHEMA = "wilkins/arc-traces/1";
/** Bytes, as in Python. */
export const LARGEST_FILE = 16 << 20;
const WHOLE = ["row", "column", "to_row", "to_column", "rows", "columns", "height", "width"];
const ARGUMENTS: Record<Step["do"], string> = {
  resize: "height width", copy_input: "", reset: "", crop: "", put: "grid note", colour: "colour", pick: "on row column", paint: "row column colour",
  line: "cells colour", fill: "colour", flood: "row column colour", select: "on row column to_row to_column", deselect: "", copy: "", clip: "grid",
  paste: "", flip: "axis", rotate: "turns", move: "rows columns", undo: "", redo: "", submit: "",
};

type Json = Record<string, unknown>;

function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value) return "an object";
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 60 ? text : `${text.slice(0, 56)}...`;
}

function object(value: unknown, where: string, keys: readonly string[]): Json {
  if (typeof value !== "object" || !value || Array.isArray(value)) throw new Error(`${where}: an object with ${keys.join(" and ")} is needed, found ${shown(value)}`);
  for (const key of keys) if (!Object.hasOwn(value, key)) throw new Error(`${where}: '${key}' is missing`);
  return value as Json;
}

function grid(value: unknown, where: string): Grid {
  if (!Array.isArray(value)) throw new Error(`${where}: a grid, a list of rows, is needed, found ${shown(value)}`);
  if (value.length < 1 || value.length > LARGEST_SIDE) throw new Error(`${where}: ${value.length} rows; a grid has 1 to ${LARGEST_SIDE}`);
  value.forEach((cells: unknown, row) => {
    if (!Array.isArray(cells)) throw new Error(`${where}, row ${row}: a list of colours is needed, found ${shown(cells)}`);
    if (cells.length !== (value[0] as unknown[]).length) throw new Error(`${where}, row ${row}: ${cells.length} columns where row 0 has ${(value[0] as unknown[]).length}`);
    if (cells.length < 1 || cells.length > LARGEST_SIDE) throw new Error(`${where}, row ${row}: ${cells.length} columns; a grid has 1 to ${LARGEST_SIDE}`);
    cells.forEach((cell: unknown, column) => {
      if (!Number.isInteger(cell) || (cell as number) < 0 || (cell as number) > 9) throw new Error(`${where}, row ${row}, column ${column}: ${shown(cell)} is no colour; colours are 0 to 9`);
    });
  });
  return value as Grid;
}

function whole(value: unknown, where: string, least: number, most: number): void {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) throw new Error(`${where}: ${shown(value)} is no whole number from ${least} to ${most}`);
}

function text(value: unknown, where: string): string {
  if (typeof value !== "string" || value.length > 200 || /[\p{C}\p{Zl}\p{Zp}]/u.test(value)) throw new Error(`${where}: ${shown(value)} is no text of one line, 200 characters at most`);
  return value;
}

function json(content: string, where: string): unknown {
  if (content.length > LARGEST_FILE) throw new Error(`${where}: over 16 MiB; a task takes some kilobytes`);
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new Error(`${where}: not JSON: ${error instanceof Error ? error.message.slice(0, 160) : error}`);
  }
}

function task(value: unknown, name: string, where: string): Task {
  const found = object(value, where, ["train", "test"]);
  const pairs = (key: "train" | "test"): Pair[] => {
    const list = found[key];
    if (!Array.isArray(list) || !list.length) throw new Error(`${where}: ${key}: a list of pairs is needed, at least one, found ${Array.isArray(list) ? "an empty list" : shown(list)}`);
    return list.map((pair: unknown, number) => {
      const place = `${where}: ${key}[${number}]`;
      const held = object(pair, place, key === "train" ? ["input", "output"] : ["input"]);
      return { input: grid(held.input, `${place}.input`), output: Object.hasOwn(held, "output") ? grid(held.output, `${place}.output`) : null };
    });
  };
  return { name, train: pairs("train"), test: pairs("test") };
}

/** Tasks of a file: one, called after the file, or many by name. */
export function parseTasks(content: string, file: string): Task[] {
  const value = json(content, file);
  const found = object(value, file, []);
  const many = Object.keys(found).length > 0 && !("train" in found) && !("test" in found) && Object.values(found).every((each) => typeof each === "object" && each && !Array.isArray(each));
  if (many) return Object.entries(found).map(([name, each]) => task(each, name, `${file}: ${name}`));
  return [task(found, file.replace(/\.json$/i, ""), file)];
}

export function parseTraces(content: string, file: string): Trace[] {
  const found = object(json(content, file), file, ["schema", "traces"]);
  if (found.schema !== SCHEMA) throw new Error(`${file}: schema ${shown(found.schema)} is not '${SCHEMA}'; this is no file of traces`);
  if (!Array.isArray(found.traces)) throw new Error(`${file}: traces: a list is needed, found ${shown(found.traces)}`);
  return found.traces.map((each: unknown, number) => {
    const where = `${file}: traces[${number}]`;
    const held = object(each, where, ["task", "test", "input", "steps"]);
    whole(held.test, `${where}.test`, 0, 1000);
    if (!Array.isArray(held.steps) || held.steps.length > 100_000) throw new Error(`${where}.steps: a list of at most 100000 steps is needed, found ${shown(held.steps)}`);
    return {
      task: text(held.task, `${where}.task`),
      test: held.test as number,
      by: text(held.by ?? "", `${where}.by`),
      input: grid(held.input, `${where}.input`),
      steps: held.steps.map((step: unknown, i) => parseStep(step, `${where}.steps[${i}]`)),
    };
  });
}

export function parseStep(value: unknown, where: string): Step {
  const held = object(value, where, ["do"]);
  if (typeof held.do !== "string" || !Object.hasOwn(ARGUMENTS, held.do)) throw new Error(`${where}: do: ${shown(held.do)} is none of ${Object.keys(ARGUMENTS).join(", ")}`);
  const wanted = ARGUMENTS[held.do as Step["do"]].split(" ").filter(Boolean);
  object(held, where, wanted.filter((key) => key !== "note"));
  for (const [key, argument] of Object.entries(held)) {
    const place = `${where}.${key}`;
    if (key === "do") continue;
    if (!wanted.includes(key)) throw new Error(`${where}: ${held.do} has no argument ${shown(key)}`);
    if (key === "grid") grid(argument, place);
    else if (key === "note") text(argument, place);
    else if (key === "cells") {
      if (!Array.isArray(argument) || argument.length < 1 || argument.length > 4096) throw new Error(`${place}: a list of 1 to 4096 cells is needed, found ${shown(argument)}`);
      argument.forEach((cell: unknown, i) => {
        if (!Array.isArray(cell) || cell.length !== 2) throw new Error(`${place}[${i}]: a row and a column are needed, found ${shown(cell)}`);
        for (const side of cell) whole(side, `${place}[${i}]`, -1000, 1000);
      });
    } else if (key === "on" || key === "axis") {
      const allowed = key === "on" ? ["output", "input"] : ["horizontal", "vertical"];
      if (!allowed.includes(argument as string)) throw new Error(`${place}: ${shown(argument)} is neither ${allowed.join(" nor ")}`);
    } else if (WHOLE.includes(key)) whole(argument, place, -1000, 1000);
    else whole(argument, place, key === "turns" ? 1 : 0, key === "turns" ? 3 : 9);
  }
  return held as unknown as Step;
}

/** The size in a text such as `3x4`; null where it is none. */
export function parseSize(written: string): [height: number, width: number] | null {
  const found = /^\s*(\d{1,4})\s*[x\u00d7]\s*(\d{1,4})\s*$/i.exec(written);
  return found && [Number(found[1]), Number(found[2])];
}
