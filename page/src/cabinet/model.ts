// The game, the belief and the tree of a policy: pure computation, no document.
import { ASK, GUESS, MISSING, STOP, type Assumed, type Data, type FlipCurve, type Policy } from "./data";

// Standard normal distribution function after Cephes' ndtr (S. L. Moshier), as SciPy evaluates it.
const P = [2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1,
  1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2];
const Q = [1, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
  1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2];
const R = [5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195,
  7.40974269950448939160, 2.97886665372100240670];
const S = [1, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1, 1.70814450747565897222e1,
  9.60896809063285878198, 3.36907645100081516050];
const T = [9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3, 7.00332514112805075473e3, 5.55923013010394962768e4];
const U = [1, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3, 2.26290000613890934246e4, 4.92673942608635921086e4];

const polynomial = (x: number, coefficients: number[]): number => coefficients.reduce((sum, c) => sum * x + c, 0);

export function phi(a: number): number {
  const x = a * Math.SQRT1_2;
  const z = Math.abs(x);
  if (z < 1) return 0.5 + (0.5 * x * polynomial(x * x, T)) / polynomial(x * x, U);
  const tail = z > 26.5 ? 0 : 0.5 * Math.exp(-z * z) * (z < 8 ? polynomial(z, P) / polynomial(z, Q) : polynomial(z, R) / polynomial(z, S));
  return x > 0 ? 1 - tail : tail;
}

const OFFSET = 32768;

/** P(yes) for every quantised margin, so that no answer costs a distribution function. */
export function probabilities(scale: number, { noise, curve }: { noise: number; curve: FlipCurve | null }, floor: number): Float64Array {
  const table = new Float64Array(2 * OFFSET);
  let at = 0;
  for (let size = 0; size <= OFFSET; size++) {
    const margin = size * scale;
    let flip: number;
    if (curve) {
      const { margin: places, flip: flips } = curve;
      while (at < places.length && places[at] <= margin) at++;
      const share = at === 0 || at === places.length ? 0 : (margin - places[at - 1]) / (places[at] - places[at - 1]);
      flip = at === 0 ? flips[0] : at === places.length ? flips[at - 1] : flips[at - 1] + (flips[at] - flips[at - 1]) * share;
    } else flip = noise === 0 ? 0 : phi(-margin / noise);
    const lowest = noise === 0 && !curve ? 0 : floor;
    const yes = Math.min(1 - lowest, Math.max(lowest, 1 - flip));
    if (size < OFFSET) table[OFFSET + size] = yes;
    table[OFFSET - size] = Math.min(1 - lowest, Math.max(lowest, flip));
  }
  return table;
}

/** P(yes), or what follows from it, of every answer: by its quantised margin, and by its question where it is missing. */
class Chances {
  private constructor(private readonly known: Float64Array, private readonly missing: Float64Array) {}

  static of(data: Data, assumed: { noise: number; curve: FlipCurve | null }, floor: number): Chances {
    const missing = Float64Array.from(data.missing, (rate) => Math.min(1 - floor, Math.max(floor, rate)));
    return new Chances(probabilities(data.scale, assumed, floor), missing);
  }

  at(margin: number, question: number): number {
    return margin === MISSING ? this.missing[question] : this.known[margin + OFFSET];
  }

  map(change: (p: number) => number): Chances {
    return new Chances(this.known.map(change), this.missing.map(change));
  }
}

function entropyOf(p: number): number {
  return p <= 0 || p >= 1 ? 0 : -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p));
}

export interface Step {
  /** Node of the graph. */
  node: number;
  kind: number;
  /** Question identifier of an ask, animal identifier of a guess. */
  value: number;
  /** The answer, and the edge that it takes. */
  yes: boolean;
  /** Nobody knew the answer: the edge is the one that the belief expects, and the belief stays as it was. */
  unknown?: boolean;
}

export type Ending = "open" | "solved" | "spent" | "stopped";

export interface Round {
  steps: Step[];
  ending: Ending;
  /** The node that waits for an answer, -1 when the round has ended. */
  node: number;
}

export interface Gain {
  question: number;
  bits: number;
}

/** A round's score: 0 for an unsolved one. */
export const roundScore = (solved: boolean, calls: number, cost: number): number => (solved ? Math.max(0, 1 - cost * calls) : 0);

export class Model {
  readonly n: number;
  readonly questions: number;
  /** What a player believes of an answer, with a floor, and what of it stays hidden; by what it assumes. */
  private readonly minds = new Map<string, { believed: Chances; hidden: Chances }>();
  /** What a platform answers: without one. */
  private readonly world: Chances;
  private readonly trees = new Map<Policy, Tree>();
  private readonly measuredRounds = new Map<Policy, Round[]>();

  constructor(readonly data: Data) {
    this.n = data.candidates.length;
    this.questions = data.questions.length;
    this.world = Chances.of(data, data, 0);
  }

  private mind(policy: Policy): { believed: Chances; hidden: Chances } {
    const key = JSON.stringify(policy.assumed satisfies Assumed);
    let mind = this.minds.get(key);
    if (!mind) {
      const believed = Chances.of(this.data, policy.assumed, this.data.floor);
      this.minds.set(key, (mind = { believed, hidden: believed.map(entropyOf) }));
    }
    return mind;
  }

  isMissing(candidate: number, question: number): boolean {
    return this.data.margins[candidate * this.questions + question] === MISSING;
  }

  /** NaN where the answer is missing. */
  margin(candidate: number, question: number): number {
    return this.isMissing(candidate, question) ? NaN : this.data.margins[candidate * this.questions + question] * this.data.scale;
  }

  /** The measured answer; the likelier one where it is missing. */
  answer(candidate: number, question: number): boolean {
    return this.isMissing(candidate, question) ? this.data.missing[question] > 0.5 : this.data.margins[candidate * this.questions + question] > 0;
  }

  /** Chance that a platform gives the other answer. */
  flip(candidate: number, question: number): number {
    const p = this.world.at(this.data.margins[candidate * this.questions + question], question);
    return Math.min(p, 1 - p);
  }

  /** Follow the replies from the root: an answer, "unknown", or undefined, which leaves the round open. */
  follow(policy: Policy, reply: (kind: number, value: number, call: number) => boolean | "unknown" | undefined): Round {
    const steps: Step[] = [];
    let node = policy.root;
    for (;;) {
      if (steps.length === this.data.budget) return { steps, ending: "spent", node: -1 };
      if (node < 0 || policy.kind[node] === STOP) return { steps, ending: "stopped", node: -1 };
      const kind = policy.kind[node];
      const value = policy.value[node];
      const answer = reply(kind, value, steps.length);
      if (answer === undefined) return { steps, ending: "open", node };
      const unknown = answer === "unknown";
      const yes = unknown ? this.expects(policy, steps, node) : answer;
      steps.push(unknown ? { node, kind, value, yes, unknown } : { node, kind, value, yes });
      if (kind === GUESS && yes) return { steps, ending: "solved", node: -1 };
      node = yes ? policy.yes[node] : policy.no[node];
    }
  }

  /** The answer that the belief expects at a node; the other one where the graph ends behind it. */
  private expects(policy: Policy, steps: readonly Step[], node: number): boolean {
    const ends = (next: number): boolean => next < 0 || policy.kind[next] === STOP;
    const [yes, no] = [ends(policy.yes[node]), ends(policy.no[node])];
    if (yes !== no) return no;
    const { believed } = this.mind(policy);
    const belief = this.belief(policy, steps);
    return belief.reduce((sum, p, i) => sum + p * believed.at(this.data.margins[i * this.questions + policy.value[node]], policy.value[node]), 0) > 0.5;
  }

  /** The round of a string of y, n and d; a guess is never "don't know". */
  replay(policy: Policy, answers: string): Round {
    return this.follow(policy, (kind, _value, call) => (call >= answers.length ? undefined : answers[call] === "d" ? (kind === ASK ? "unknown" : false) : answers[call] === "y"));
  }

  /** The round of a candidate whose every answer is as measured. */
  watch(policy: Policy, candidate: number): Round {
    return this.follow(policy, (kind, value) => (kind === ASK ? this.answer(candidate, value) : value === this.data.candidates[candidate]));
  }

  /** The measured rounds of all candidates. */
  measured(policy: Policy): Round[] {
    let rounds = this.measuredRounds.get(policy);
    if (!rounds) {
      rounds = Array.from({ length: this.n }, (_, candidate) => this.watch(policy, candidate));
      this.measuredRounds.set(policy, rounds);
    }
    return rounds;
  }

  /** Posterior over the candidates after `steps`; an answer heard twice counts once. */
  belief(policy: Policy, steps: readonly Step[]): Float64Array {
    const { candidates, margins } = this.data;
    const { believed } = this.mind(policy);
    const weight = new Float64Array(this.n);
    const seen = new Set<number>();
    for (const { kind, value, yes, unknown } of steps) {
      if (unknown) continue;
      if (kind === GUESS) {
        for (let i = 0; i < this.n; i++) if ((candidates[i] === value) !== yes) weight[i] = -Infinity;
      } else if (!seen.has(value)) {
        seen.add(value);
        for (let i = 0; i < this.n; i++) {
          const p = believed.at(margins[i * this.questions + value], value);
          weight[i] += Math.log(yes ? p : 1 - p);
        }
      }
    }
    const top = weight.reduce((a, b) => Math.max(a, b), -Infinity);
    if (top === -Infinity) return this.leastContradicted(steps);
    let total = 0;
    for (let i = 0; i < this.n; i++) total += weight[i] = Math.exp(weight[i] - top);
    for (let i = 0; i < this.n; i++) weight[i] /= total;
    return weight;
  }

  /** Without noise answers can contradict everyone: then equal belief in those they contradict by the least margin. */
  private leastContradicted(steps: readonly Step[]): Float64Array {
    const violation = new Float64Array(this.n);
    const seen = new Set<number>();
    for (const { kind, value, yes, unknown } of steps) {
      if (unknown || (kind === ASK && seen.has(value))) continue;
      if (kind === ASK) seen.add(value);
      for (let i = 0; i < this.n; i++) {
        if (kind === GUESS) {
          if ((this.data.candidates[i] === value) !== yes) violation[i] = Infinity;
        } else if (!this.isMissing(i, value)) violation[i] += Math.min(0, (yes ? 1 : -1) * this.margin(i, value)) ** 2;
      }
    }
    const least = violation.reduce((a, b) => Math.min(a, b), Infinity);
    const best = violation.map((v) => (v === least ? 1 : 0));
    const total = best.reduce((a, b) => a + b, 0);
    return best.map((v) => v / total);
  }

  entropy(belief: Float64Array): number {
    let bits = 0;
    for (const p of belief) if (p > 0) bits -= p * Math.log2(p);
    return Math.max(0, bits);
  }

  /** Candidate positions by falling belief, ties by position; at most `count`, none below 0.0005. */
  likeliest(belief: Float64Array, count: number): number[] {
    return Array.from(belief.keys())
      .filter((i) => belief[i] >= 0.0005)
      .sort((a, b) => belief[b] - belief[a] || a - b)
      .slice(0, count);
  }

  /** Information gain of every question in bits, falling (Lindley 1956): H(answer) - E[H(answer | animal)]. */
  gains(policy: Policy, belief: Float64Array): Gain[] {
    const mind = this.mind(policy);
    const predicted = new Float64Array(this.questions);
    const hidden = new Float64Array(this.questions);
    for (let i = 0; i < this.n; i++) {
      const b = belief[i];
      if (b < 1e-12) continue;
      const row = i * this.questions;
      for (let q = 0; q < this.questions; q++) {
        const margin = this.data.margins[row + q];
        predicted[q] += b * mind.believed.at(margin, q);
        hidden[q] += b * mind.hidden.at(margin, q);
      }
    }
    return Array.from({ length: this.questions }, (_, question) => ({
      question,
      bits: Math.max(0, entropyOf(Math.min(1, predicted[question])) - hidden[question]),
    })).sort((a, b) => b.bits - a.bits || a.question - b.question);
  }

  tree(policy: Policy): Tree {
    let tree = this.trees.get(policy);
    if (!tree) this.trees.set(policy, (tree = grow(policy, this.data, this.world)));
    return tree;
  }

  /** Probability that a round with this candidate passes each node of the tree. */
  passing(policy: Policy, candidate: number): Float64Array {
    const tree = this.tree(policy);
    const through = new Float64Array(tree.size);
    for (let i = 0; i < tree.size; i++) {
      const parent = tree.parent[i];
      if (parent < 0) through[i] = 1;
      else if (through[parent] > 0) {
        const value = tree.value[parent];
        let factor = 1;
        if (tree.kind[parent] === GUESS) factor = this.data.candidates[candidate] === value ? 0 : 1;
        else if (!tree.repeat[parent]) {
          const p = this.world.at(this.data.margins[candidate * this.questions + value], value);
          factor = tree.edge[i] === YES ? p : 1 - p;
        }
        through[i] = through[parent] * factor;
      }
    }
    return through;
  }
}

export const ROOT = 0;
export const YES = 1;
export const NO = 2;

/** A policy unrolled along its calls, in preorder: every node once for each way to reach it. */
export class Tree {
  size = 0;
  kind = new Uint8Array(1024);
  value = new Int32Array(1024);
  node = new Int32Array(1024);
  parent = new Int32Array(1024);
  /** Calls spent before this node. */
  depth = new Uint8Array(1024);
  edge = new Uint8Array(1024);
  /** An ask whose answer the path has heard before. */
  repeat = new Uint8Array(1024);
  /** One past the last node below. */
  end = new Int32Array(1024);
  /** Place and probability of reaching the node: the root spans 0 to 1. */
  x = new Float64Array(1024);
  width = new Float64Array(1024);
  /** Mean round score of the rounds that pass, and the candidate they most often hide. */
  score = new Float64Array(1024);
  likeliest = new Int32Array(1024);
  /** Most calls of a round. */
  deepest = 0;
  /** Probability that a round is solved on each call (index 1 to the budget); `lost` that it is not. */
  solvedOn: Float64Array;
  lost = 0;

  constructor(budget: number) {
    this.solvedOn = new Float64Array(budget + 1);
  }

  add(): number {
    if (this.size === this.kind.length) {
      for (const name of ["kind", "value", "node", "parent", "depth", "edge", "repeat", "end", "x", "width", "score", "likeliest"] as const) {
        const old = this[name];
        const grown = new (old.constructor as new (n: number) => typeof old)(2 * old.length);
        grown.set(old as never);
        this[name] = grown as never;
      }
    }
    return this.size++;
  }

  /** Child of `i` behind the answer, -1 where no round passes. */
  child(i: number, edge: number): number {
    for (let c = i + 1; c < this.end[i]; c = this.end[c]) if (this.edge[c] === edge) return c;
    return -1;
  }

  /** Answers that lead to `i`, as y and n. */
  answers(i: number): string {
    let text = "";
    for (; this.parent[i] >= 0; i = this.parent[i]) text = (this.edge[i] === YES ? "y" : "n") + text;
    return text;
  }

  /** The node that `answers` lead to, or the last one on the way. */
  at(answers: string): number {
    let i = 0;
    for (const letter of answers) {
      const next = this.child(i, letter === "y" ? YES : NO);
      if (next < 0) break;
      i = next;
    }
    return i;
  }
}

const NEGLIGIBLE = 1e-12;

/** Push the probability of all rounds through the graph. At most 2^15 - 1 calls can be told apart, so this is bounded. */
function grow(policy: Policy, data: Data, world: Chances): Tree {
  const { budget, cost, candidates, margins } = data;
  const n = candidates.length;
  const questions = data.questions.length;
  const tree = new Tree(budget);
  const who = Array.from({ length: budget + 1 }, () => new Int32Array(n));
  const mass = Array.from({ length: budget + 1 }, () => new Float64Array(n));
  const count = new Int32Array(budget + 1);
  const heard: { question: number; edge: number }[] = [];

  function visit(node: number, depth: number, parent: number, edge: number, x: number): number {
    const here = who[depth];
    const weight = mass[depth];
    let reach = 0;
    let top = 0;
    for (let j = 0; j < count[depth]; j++) {
      reach += weight[j];
      if (weight[j] > weight[top]) top = j;
    }
    if (reach <= NEGLIGIBLE) return 0;
    const over = node < 0 || depth === budget || policy.kind[node] === STOP;
    const i = tree.add();
    const kind = over ? STOP : policy.kind[node];
    const value = over ? 0 : policy.value[node];
    tree.kind[i] = kind;
    tree.value[i] = value;
    tree.node[i] = node;
    tree.parent[i] = parent;
    tree.depth[i] = depth;
    tree.edge[i] = edge;
    tree.x[i] = x;
    tree.width[i] = reach;
    tree.likeliest[i] = here[top];
    tree.deepest = Math.max(tree.deepest, over ? depth : depth + 1);
    let points = 0;
    if (over) tree.lost += reach;
    else {
      const next = who[depth + 1];
      const passed = mass[depth + 1];
      if (kind === GUESS) {
        let kept = 0;
        for (let j = 0; j < count[depth]; j++) {
          if (candidates[here[j]] === value) {
            tree.solvedOn[depth + 1] += weight[j];
            points += weight[j] * Math.max(0, 1 - cost * (depth + 1));
          } else {
            next[kept] = here[j];
            passed[kept++] = weight[j];
          }
        }
        count[depth + 1] = kept;
        // What is solved ends here and leaves its place below empty.
        points += visit(policy.no[node], depth + 1, i, NO, x);
      } else {
        const before = heard.find((entry) => entry.question === value);
        tree.repeat[i] = before ? 1 : 0;
        let place = x;
        for (const way of [YES, NO]) {
          if (before && before.edge !== way) continue;
          let kept = 0;
          let total = 0;
          for (let j = 0; j < count[depth]; j++) {
            const p = world.at(margins[here[j] * questions + value], value);
            const w = before ? weight[j] : weight[j] * (way === YES ? p : 1 - p);
            if (w > NEGLIGIBLE / n) {
              next[kept] = here[j];
              passed[kept++] = w;
              total += w;
            }
          }
          count[depth + 1] = kept;
          heard.push({ question: value, edge: way });
          points += visit(way === YES ? policy.yes[node] : policy.no[node], depth + 1, i, way, place);
          heard.pop();
          place += total;
        }
      }
    }
    tree.score[i] = points / reach;
    tree.end[i] = tree.size;
    return points;
  }

  for (let i = 0; i < n; i++) {
    who[0][i] = i;
    mass[0][i] = 1 / n;
  }
  count[0] = n;
  visit(policy.root, 0, -1, ROOT, 0);
  return tree;
}
