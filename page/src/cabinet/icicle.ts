// Drawing a tree as an icicle: every call a row, every node as wide as it is probable.
import { interpolateRgbBasis } from "d3-interpolate";
import { css, inkOn, luminance, mix, rgb, shown, type Rgb } from "../common/colour";
import { cut, isolated, sentence } from "../common/text";
import { GUESS, STOP, type Data } from "./data";
import type { Tree } from "./model";
import type { Inks, Surface } from "./surface";
import { guessText } from "./words";

export type Colouring = "call" | "score";

export interface Window {
  x0: number;
  x1: number;
  /** Depth of the top row, and how many rows the height holds. */
  top: number;
  rows: number;
}

export interface Palette extends Inks {
  /** By colouring, light (0 to FAINT) and step of the scale: a ground, and the ink that reads best on it. */
  fill: Record<Colouring, string[][]>;
  text: Record<Colouring, string[][]>;
  /** What is not found, by light. */
  losses: string[];
}

const STEPS = 64;
/** Degrees of light between a node that is lit and one that is not. */
const FAINT = 16;
/** What is left of a node's colour that is not lit. */
const UNLIT = 0.2;
/** Rectangles below this many pixels are left out together with all below them. */
const LEAST = 0.3;
/** A label of fewer letters says nothing. */
const LETTERS = 4;

export function palette(): Palette {
  const paper = shown("--card");
  const dark = luminance(paper) < 0.18;
  const call = interpolateRgbBasis(dark ? ["#1d3a4d", "#2f6482", "#5a97ad", "#a5cbbf", "#ece6b4"] : ["#1f4a63", "#3a7793", "#74abbc", "#b5d4cb", "#efe9c6"]);
  // From orange to blue: told apart with every common kind of colour vision, and the losses stand out.
  const score = interpolateRgbBasis(dark ? ["#e8893a", "#a8733f", "#56584f", "#3f7f9a", "#62b4d3"] : ["#a3480a", "#d99a5b", "#ece2cb", "#8fb7c6", "#2b6c8c"]);
  const dimmed = (colour: Rgb, light: number): Rgb => mix(paper, colour, UNLIT + ((1 - UNLIT) * light) / FAINT).map(Math.round) as unknown as Rgb;
  const fill = {} as Palette["fill"];
  const text = {} as Palette["text"];
  for (const [name, scale] of Object.entries({ call, score }) as [Colouring, (t: number) => string][]) {
    const grounds: Rgb[][] = Array.from({ length: FAINT + 1 }, (_, light) =>
      Array.from({ length: STEPS }, (_, i) => dimmed(rgb(scale(i / (STEPS - 1))), light)),
    );
    fill[name] = grounds.map((row) => row.map(css));
    text[name] = grounds.map((row) => row.map((ground) => css(inkOn(ground))));
  }
  const lost = shown("--lost");
  return { paper: css(paper), ink: css(shown("--ink")), lost: css(lost), fill, text, losses: Array.from({ length: FAINT + 1 }, (_, light) => css(dimmed(lost, light))) };
}

export function shade(tree: Tree, i: number, colouring: Colouring): number {
  const [low, high] = range(tree, colouring) ?? [0, 1];
  const share = ((colouring === "call" ? tree.depth[i] + 1 : 100 * tree.score[i]) - low) / (high - low);
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
}

export function label(data: Data, tree: Tree, i: number): string {
  if (tree.kind[i] === STOP) return "Not found";
  return tree.kind[i] === GUESS ? guessText(data.animals[tree.value[i]]) : isolated(sentence(data.questions[tree.value[i]]));
}

/** What tells one question from the next, without the words that most share. */
function short(data: Data, tree: Tree, i: number): string {
  if (tree.kind[i] === STOP) return "lost";
  if (tree.kind[i] === GUESS) return `${isolated(data.animals[tree.value[i]])}?`;
  const question = data.questions[tree.value[i]];
  return question.replace(/^(is|does|can|has|was|are|do|would|will) (it|they|this animal|the animal) ((have|live|be|a|an|the) )*/, "") || question;
}

const ranges = new WeakMap<Tree, Record<Colouring, [number, number] | null>>();

/** Calls or scores (x100) between which the colours run: of scores, those of all but the few worst rounds. Null without a call. */
export function range(tree: Tree, colouring: Colouring): [number, number] | null {
  let found = ranges.get(tree);
  if (!found) {
    const scores = Array.from({ length: tree.size }, (_, i) => i).filter((i) => tree.kind[i] !== STOP).sort((a, b) => tree.score[a] - tree.score[b]);
    const total = scores.reduce((sum, i) => sum + tree.width[i], 0);
    const quantile = (share: number): number => {
      let mass = 0;
      for (const i of scores) if ((mass += tree.width[i]) >= share * total) return 100 * tree.score[i];
      return 100 * tree.score[scores[scores.length - 1]];
    };
    if (scores.length === 0) found = { call: null, score: null };
    else {
      const low = Math.floor(quantile(0.02));
      found = { call: [1, Math.max(2, tree.deepest)], score: [low, Math.max(low + 1, Math.ceil(quantile(0.98)))] };
    }
    ranges.set(tree, found);
  }
  return found[colouring];
}

/** Draw what of `tree` lies in the window. `lit` is the share of attention of each node, 0 to 1; null lights all. Returns the nodes drawn. */
export function draw(
  on: Surface,
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
  const letters = row > 24 ? 12.5 : 11;
  let drawn = 0;
  on.rect(0, 0, width + 1, height + 1, colours.paper);
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
      const faint = Math.round(light * FAINT);
      const stop = tree.kind[i] === STOP;
      // A guess is lower, so that it differs from a question by shape and not by colour alone.
      const tall = tree.kind[i] === GUESS ? Math.max(1, row * 0.62) : row - gap;
      if (!stop) on.rect(x0, y, wide, tall, colours.fill[colouring][faint][at]);
      else if (full > 3 && faint > FAINT / 2) on.stripes(x0, y, wide, tall);
      else on.rect(x0, y, wide, tall, colours.losses[faint]);
      if (full > 34 && row > 13) {
        const room = x1 - Math.max(0, x0) - 10;
        const fits = (text: string): boolean => on.measure(text, letters) <= room;
        const whole = label(data, tree, i);
        const text = fits(whole) ? whole : cut(short(data, tree, i), fits, LETTERS);
        const [start, middle] = [Math.max(0, x0) + 5, y + tall * 0.53];
        if (text && stop) on.rect(start - 3, middle - 9, on.measure(text, letters) + 6, 18, colours.paper);
        if (text) on.text(text, start, middle, letters, stop ? colours.ink : colours.text[colouring][faint][at]);
      }
      drawn++;
    }
    i++;
  }
  if (cursor >= 0) {
    const left = (tree.x[cursor] - view.x0) * scale;
    const x0 = Math.min(width - 4, Math.max(1, left));
    const x1 = Math.max(x0 + 3, Math.min(width - 1, left + tree.width[cursor] * scale - gap));
    on.outline(x0, (tree.depth[cursor] - view.top) * row + 1, x1 - x0, row - gap - 1);
  }
  return drawn;
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
