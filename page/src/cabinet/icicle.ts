// Drawing a tree as an icicle: every call a row, every node as wide as it is probable. Canvas only.
import { interpolateRgbBasis } from "d3-interpolate";
import { sentence } from "../common/dom";
import { GUESS, STOP, type Data } from "./data";
import type { Tree } from "./model";
import { guessText } from "./words";

export type Colouring = "call" | "score";

export interface Window {
  x0: number;
  x1: number;
  /** Depth of the top row, and how many rows the height holds. */
  top: number;
  rows: number;
}

export interface Palette {
  dark: boolean;
  paper: string;
  ink: string;
  lost: string;
  fill: Record<Colouring, string[]>;
  text: Record<Colouring, string[]>;
}

const STEPS = 64;
/** Rectangles below this many pixels are left out together with all below them. */
const LEAST = 0.3;

export function palette(): Palette {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const style = getComputedStyle(document.documentElement);
  const call = interpolateRgbBasis(dark ? ["#1d3a4d", "#2f6482", "#5a97ad", "#a5cbbf", "#ece6b4"] : ["#1f4a63", "#3a7793", "#74abbc", "#b5d4cb", "#efe9c6"]);
  // From orange to blue: told apart with every common kind of colour vision, and the losses stand out.
  const score = interpolateRgbBasis(dark ? ["#e8893a", "#a8733f", "#56584f", "#3f7f9a", "#62b4d3"] : ["#a3480a", "#d99a5b", "#ece2cb", "#8fb7c6", "#2b6c8c"]);
  const scales: Record<Colouring, (t: number) => string> = { call, score };
  const fill = {} as Palette["fill"];
  const text = {} as Palette["text"];
  for (const [name, scale] of Object.entries(scales) as [Colouring, (t: number) => string][]) {
    fill[name] = Array.from({ length: STEPS }, (_, i) => scale(i / (STEPS - 1)));
    text[name] = fill[name].map((colour) => (luminance(colour) > 0.32 ? "#10181d" : "#f6f8f8"));
  }
  return {
    dark,
    paper: style.getPropertyValue("--card").trim(),
    ink: style.getPropertyValue("--ink").trim(),
    lost: style.getPropertyValue("--lost").trim(),
    fill,
    text,
  };
}

function luminance(colour: string): number {
  const channel = (colour.startsWith("#") ? colour.slice(1).match(/../g)!.map((c) => parseInt(c, 16)) : colour.match(/\d+/g)!.map(Number)).map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * channel[0] + 0.7152 * channel[1] + 0.0722 * channel[2];
}

export function shade(tree: Tree, i: number, colouring: Colouring): number {
  const [low, high] = range(tree, colouring);
  const share = ((colouring === "call" ? tree.depth[i] + 1 : 100 * tree.score[i]) - low) / (high - low);
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
}

export function label(data: Data, tree: Tree, i: number): string {
  if (tree.kind[i] === STOP) return "Not found";
  return tree.kind[i] === GUESS ? guessText(data.animals[tree.value[i]]) : sentence(data.questions[tree.value[i]]);
}

/** What tells one question from the next, without the words that most share. */
function short(data: Data, tree: Tree, i: number): string {
  if (tree.kind[i] === STOP) return "lost";
  if (tree.kind[i] === GUESS) return `${data.animals[tree.value[i]]}?`;
  return data.questions[tree.value[i]].replace(/^(is|does|can|has|was|are|do|would|will) (it|they|this animal|the animal) ((have|live|be|a|an|the) )*/, "");
}

const ranges = new WeakMap<Tree, Record<Colouring, [number, number]>>();

/** Calls or scores (x100) between which the colours run: of scores, those of all but the few worst rounds. */
export function range(tree: Tree, colouring: Colouring): [number, number] {
  let found = ranges.get(tree);
  if (!found) {
    const scores = Array.from({ length: tree.size }, (_, i) => i).filter((i) => tree.kind[i] !== STOP).sort((a, b) => tree.score[a] - tree.score[b]);
    const total = scores.reduce((sum, i) => sum + tree.width[i], 0);
    const quantile = (share: number): number => {
      let mass = 0;
      for (const i of scores) if ((mass += tree.width[i]) >= share * total) return 100 * tree.score[i];
      return 98;
    };
    const low = Math.floor(quantile(0.02));
    found = { call: [1, Math.max(2, tree.deepest + 1)], score: [low, Math.max(low + 1, Math.ceil(quantile(0.98)))] };
    ranges.set(tree, found);
  }
  return found[colouring];
}

const hatched = new WeakMap<Palette, CanvasPattern>();

function hatch(context: CanvasRenderingContext2D, colours: Palette): CanvasPattern {
  let pattern = hatched.get(colours);
  if (!pattern) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d")!;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = colours.lost;
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
    pattern = context.createPattern(tile, "repeat")!;
    hatched.set(colours, pattern);
  }
  return pattern;
}

/** Draw what of `tree` lies in the window. `lit` is the share of attention of each node, 0 to 1; null lights all. Returns the nodes drawn. */
export function draw(
  context: CanvasRenderingContext2D,
  data: Data,
  tree: Tree,
  view: Window,
  size: { width: number; height: number },
  colours: Palette,
  colouring: Colouring,
  lit: Float64Array | null,
  cursor: number,
): number {
  const { width, height } = size;
  const scale = width / (view.x1 - view.x0);
  const row = height / view.rows;
  const gap = row > 12 ? 1 : 0;
  let drawn = 0;
  let last = "";
  context.fillStyle = colours.paper;
  context.fillRect(0, 0, width + 1, height + 1);
  context.font = `${row > 24 ? 12.5 : 11}px ${getFont()}`;
  context.textBaseline = "middle";
  const least = lit ? 0.02 : LEAST;
  for (let i = 0; i < tree.size; ) {
    const full = tree.width[i] * scale;
    const left = (tree.x[i] - view.x0) * scale;
    if (full < least || left > width || left + full < 0 || (lit && full < LEAST && lit[i] === 0)) {
      i = tree.end[i];
      continue;
    }
    const y = (tree.depth[i] - view.top) * row;
    if (y > height) {
      i = tree.end[i];
      continue;
    }
    if (y + row > 0) {
      const x0 = Math.max(-1, left);
      const x1 = Math.min(width + 1, left + full);
      const light = lit ? lit[i] : 1;
      const wide = Math.max(x1 - x0 - (full > 4 ? gap : 0), light > 0.02 && lit ? 2 : 0.5);
      const at = shade(tree, i, colouring);
      const style = colours.fill[colouring][at];
      const stop = tree.kind[i] === STOP;
      if (lit) context.globalAlpha = 0.2 + 0.8 * light;
      if (stop) {
        context.fillStyle = full > 3 ? hatch(context, colours) : colours.lost;
        last = "";
      } else if (style !== last) context.fillStyle = last = style;
      const guess = tree.kind[i] === GUESS;
      // A guess is lower, so that it differs from a question by shape and not by colour alone.
      const tall = guess ? Math.max(1, row * 0.62) : row - gap;
      context.fillRect(x0, y, wide, tall);
      if (full > 34 && row > 13) {
        const room = x1 - Math.max(0, x0) - 10;
        const text = fit(context, label(data, tree, i), room) || fit(context, short(data, tree, i), room, true);
        if (text) {
          const faint = light < 0.5;
          if (faint) context.globalAlpha = 0.55;
          context.fillStyle = stop || faint ? colours.ink : colours.text[colouring][at];
          context.fillText(text, Math.max(0, x0) + 5, y + tall * 0.53);
          last = "";
        }
      }
      if (lit) context.globalAlpha = 1;
      drawn++;
    }
    i++;
  }
  if (cursor >= 0) {
    const left = (tree.x[cursor] - view.x0) * scale;
    context.lineWidth = 4;
    context.strokeStyle = colours.paper;
    const box = [left, (tree.depth[cursor] - view.top) * row, Math.max(3, tree.width[cursor] * scale - gap), row - gap] as const;
    context.strokeRect(...box);
    context.lineWidth = 2;
    context.strokeStyle = colours.ink;
    context.strokeRect(...box);
  }
  return drawn;
}

let font = "";
const getFont = (): string => (font ||= getComputedStyle(document.body).fontFamily);

const widths = new Map<string, number>();

/** The text if it fits `room` pixels; cut with an ellipsis where `cut` allows and four letters fit; else nothing. */
function fit(context: CanvasRenderingContext2D, text: string, room: number, cut = false): string {
  const key = context.font + text;
  let full = widths.get(key);
  if (full === undefined) widths.set(key, (full = context.measureText(text).width));
  if (full <= room) return text;
  const letters = cut ? Math.floor((room / full) * text.length) - 1 : 0;
  return letters < 4 ? "" : `${text.slice(0, letters).trimEnd()}\u2026`;
}

/** The node at a place of the window, -1 where there is none. */
export function pick(tree: Tree, x: number, depth: number): number {
  let i = 0;
  while (i >= 0 && tree.depth[i] < depth) {
    let next = -1;
    for (let c = i + 1; c < tree.end[i]; c = tree.end[c]) if (x >= tree.x[c] && x < tree.x[c] + tree.width[c]) next = c;
    i = next;
  }
  return i;
}

/** The window that shows the subtree of `i`, with its parent as a strip above it. */
export function windowOf(tree: Tree, i: number, size: { width: number; height: number }): Window {
  const top = Math.max(0, tree.depth[i] - 1);
  let deepest = 0;
  const least = (2 * LEAST * tree.width[i]) / Math.max(1, size.width);
  for (let j = i; j < tree.end[i]; j++) if (tree.width[j] >= least) deepest = Math.max(deepest, tree.depth[j]);
  return { x0: tree.x[i], x1: tree.x[i] + tree.width[i], top, rows: Math.max(deepest + 1 - top, size.height / 46) };
}
