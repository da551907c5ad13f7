// The agent file's player, step by step what export/keywords/player.py is: belief, features, network, looking ahead.
import type { Data } from "./data";

/** A question of the table and whether the answer was yes. */
export type Answered = readonly [question: number, yes: boolean];

/** A posterior as decisions see it: the keywords that matter, and what each question would tell. */
export interface View {
  mass: Float32Array;
  /** Keywords that matter, ascending. */
  ids: Int32Array;
  /** Their posterior, sums to 1. */
  belief: Float32Array;
  /** Their part in the lean of an answer. */
  signed: Float64Array;
  /** How much more, or less, than the mean question each one says. */
  lean: Float64Array;
  pYes: Float64Array;
  /** Information about the keyword, in bits. */
  gain: Float64Array;
}

function entropy(p: number): number {
  const part = (share: number): number => (share > 0 ? -share * Math.log2(share) : 0);
  return part(p) + part(1 - p);
}

const clip = (x: number): number => Math.min(1, Math.max(0, x));

/** Sum of the `count` largest of `values`; `heap` is scratch. */
function topSum(values: Float64Array, count: number, heap: Float64Array): number {
  let filled = 0;
  for (const value of values) {
    if (filled === count && value <= heap[count - 1]) continue;
    let place = filled < count ? filled++ : count - 1;
    for (; place > 0 && heap[place - 1] < value; place--) heap[place] = heap[place - 1];
    heap[place] = value;
  }
  let total = 0;
  for (let i = 0; i < filled; i++) total += heap[i];
  return total;
}

export class Player {
  readonly keywords: number;
  readonly questions: number;
  readonly noises: number;
  private readonly trained: boolean;

  constructor(private readonly data: Data) {
    [this.keywords, this.questions, this.noises] = [data.keywords.length, data.questions.length, data.weight.length];
    this.trained = Object.keys(data.network).length > 0;
  }

  /** Joint posterior, [noises, keywords]; rounded at each step as the agent does, so that keywords tie where they tie there. */
  weigh(table: readonly Answered[], guessed: readonly number[]): Float32Array {
    const { keywords, questions, noises } = this;
    const { answers, tilt, weight, prior } = this.data;
    const start = (): Float32Array => {
      const mass = new Float32Array(noises * keywords);
      for (let h = 0; h < noises; h++) for (let k = 0; k < keywords; k++) mass[h * keywords + k] = weight[h] * prior[k];
      return mass;
    };
    const without = (mass: Float32Array): number => {
      for (const k of guessed) for (let h = 0; h < noises; h++) mass[h * keywords + k] = 0;
      return mass.reduce((sum, part) => sum + part, 0);
    };
    let mass = start();
    for (const [q, yes] of table) {
      for (let h = 0; h < noises; h++) {
        const lean = yes ? tilt[h * questions + q] : -tilt[h * questions + q];
        const factor = [Math.fround(1 - lean), 1, Math.fround(1 + lean)];
        for (let k = 0; k < keywords; k++) mass[h * keywords + k] *= factor[answers[k * questions + q] + 1];
      }
    }
    let total = without(mass);
    if (!(total > 0)) total = without((mass = start()));
    if (!(total > 0)) total = (mass = new Float32Array(noises * keywords).fill(1)).length;
    const scale = Math.fround(1 / total);
    for (let i = 0; i < mass.length; i++) mass[i] *= scale;
    return mass;
  }

  /** Posterior of every keyword. */
  belief(mass: Float32Array): Float32Array {
    const belief = new Float32Array(this.keywords);
    for (let h = 0; h < this.noises; h++) for (let k = 0; k < this.keywords; k++) belief[k] += mass[h * this.keywords + k];
    return belief;
  }

  /** Expected rate of the partner's wrong answers. */
  expectedRate(mass: Float32Array): number {
    return this.parts(mass).reduce((sum, part, h) => sum + part * this.data.rate[h], 0);
  }

  private parts(mass: Float32Array): number[] {
    return Array.from(this.data.weight, (_, h) => mass.subarray(h * this.keywords, (h + 1) * this.keywords).reduce((sum, part) => sum + part, 0));
  }

  view(mass: Float32Array): View {
    const { keywords, questions, noises } = this;
    const { answers, tilt, rate, reckoning } = this.data;
    const whole = this.belief(mass);
    const ids = Int32Array.from(whole.keys()).filter((k) => whole[k] > reckoning.negligible);
    const total = Math.fround(ids.reduce((sum, k) => sum + whole[k], 0));
    const belief = Float32Array.from(ids, (k) => whole[k] / total);
    const signed = new Float64Array(ids.length);
    const certain = new Float64Array(ids.length);
    ids.forEach((k, i) => {
      let wrong = 0;
      for (let h = 0; h < noises; h++) wrong += rate[h] * mass[h * keywords + k];
      wrong /= whole[k];
      signed[i] = belief[i] * (1 - 2 * wrong);
      certain[i] = belief[i] * (1 - entropy(wrong));
    });
    const parts = this.parts(mass);
    const all = parts.reduce((sum, part) => sum + part, 0);
    const mean = parts.reduce((sum, part, h) => sum + part * rate[h], 0) / all;
    const [lean, pYes, gain] = [0, 1, 2].map(() => new Float64Array(questions));
    ids.forEach((k, i) => {
      for (let q = 0; q < questions; q++) {
        const answer = answers[k * questions + q];
        pYes[q] += signed[i] * answer;
        gain[q] += certain[i] * answer * answer;
      }
    });
    for (let q = 0; q < questions; q++) {
      const wrong = parts.reduce((sum, part, h) => sum + (part * (1 - tilt[h * questions + q])) / 2, 0) / all;
      lean[q] = (1 - 2 * wrong) / Math.max(1 - 2 * mean, 1e-30);
      const sure = (1 - entropy(wrong)) / Math.max(1 - entropy(mean), 1e-30);
      pYes[q] = clip(0.5 + 0.5 * lean[q] * pYes[q]);
      gain[q] = entropy(pYes[q]) - (1 - sure * gain[q]);
    }
    return { mass, ids, belief, signed, lean, pYes, gain };
  }

  /** The `count` most informative questions but those of `closed`, falling, ties by identifier. */
  listed(view: View, closed: ReadonlySet<number>, count: number): number[] {
    const key = Array.from(view.gain, (bits) => Math.floor(bits * this.data.reckoning.grains + 0.5));
    const open = Array.from(key.keys()).filter((q) => !closed.has(q));
    return open.sort((a, b) => key[b] - key[a] || a - b).slice(0, count);
  }

  /** Places in `ids` of the likeliest keywords, falling, ties by identifier. */
  likeliest(view: View, count: number): number[] {
    return Array.from(view.belief.keys()).sort((a, b) => view.belief[b] - view.belief[a] || a - b).slice(0, count);
  }

  /** Question to ask, `begun` rounds being over; -1 where all were asked. */
  chooseQuestion(mass: Float32Array, closed: ReadonlySet<number>, begun: number): number {
    const { reckoning, shortlist, rounds } = this.data;
    const view = this.view(mass);
    const looks = begun + 1 >= reckoning.look_from;
    const listed = this.listed(view, closed, looks || !this.trained ? reckoning.width : shortlist.asks);
    if (!listed.length) return -1;
    if (looks) {
      const places = this.likeliest(view, reckoning.focus);
      const values = this.coverage(places.map((at) => view.belief[at]), this.answered(view, listed, places), rounds - begun);
      let chosen = 0;
      values.forEach((value, at) => {
        if (value > values[chosen] + reckoning.better) chosen = at;
      });
      return listed[chosen];
    }
    if (!this.trained) return listed[0];
    const { state, asks } = this.features(view, listed, begun, false);
    return listed[this.best("ask", asks, state)];
  }

  /** Keyword to guess in the round after `begun` ones. */
  chooseGuess(mass: Float32Array, begun: number): number {
    if (!this.trained) {
      const belief = this.belief(mass);
      return belief.reduce((best, share, k) => (share > belief[best] ? k : best), 0);
    }
    const view = this.view(mass);
    const { state, guesses, places } = this.features(view, [], begun, true);
    return view.ids[places[this.best("guess", guesses, state)]];
  }

  /** P(yes) of each listed question for keywords at `places`. */
  private answered(view: View, listed: readonly number[], places: readonly number[]): Float64Array[] {
    return listed.map((q) => Float64Array.from(places, (at) => clip(0.5 + ((0.5 * view.lean[q] * view.signed[at]) / view.belief[at]) * this.data.answers[view.ids[at] * this.questions + q])));
  }

  /** Chance of winning after each question, if the `left` guesses take the likeliest keywords and the best second question comes between. */
  private coverage(belief: readonly number[], pYes: readonly Float64Array[], left: number): number[] {
    const size = belief.length;
    const [yes, no] = [new Float64Array(size), new Float64Array(size)];
    const heap = new Float64Array(left);
    if (left === 1) return pYes.map((p) => this.covered(belief, p, 1));
    return pYes.map((first, at) => {
      let value = 0;
      for (const answer of [true, false]) {
        const rest = Float64Array.from(belief, (share, i) => share * (answer ? first[i] : 1 - first[i]));
        const most = rest.reduce((a, b) => Math.max(a, b), 0);
        const guess = rest.findIndex((share) => share >= most * this.data.reckoning.alike);
        value += rest[guess];
        rest[guess] = 0;
        let best = 0;
        pYes.forEach((second, other) => {
          if (other === at) return;
          for (let i = 0; i < size; i++) {
            yes[i] = rest[i] * second[i];
            no[i] = rest[i] - yes[i];
          }
          best = Math.max(best, topSum(yes, left - 1, heap) + topSum(no, left - 1, heap));
        });
        value += best;
      }
      return value;
    });
  }

  /** Mass of the `guesses` likeliest keywords after a question's answer, in expectation. */
  private covered(belief: readonly number[], p: Float64Array, guesses: number): number {
    const yes = Float64Array.from(belief, (share, i) => share * p[i]);
    const no = Float64Array.from(belief, (share, i) => share - yes[i]);
    const heap = new Float64Array(guesses);
    return topSum(yes, guesses, heap) + topSum(no, guesses, heap);
  }

  /** What the network sees; the columns are those of env/keywords/observation.py, in the same order. */
  private features(view: View, listed: readonly number[], begun: number, guessing: boolean): { state: number[]; asks: number[][]; guesses: number[][]; places: number[] } {
    const { shortlist, reckoning, rounds, rate, firstTier } = this.data;
    const left = rounds - begun;
    const places = this.likeliest(view, Math.max(shortlist.focus, shortlist.guesses, reckoning.ranks));
    const top = places.map((at) => view.belief[at]);
    const asks = this.askFeatures(view, listed, top, this.answered(view, listed, places), left);
    let rest = 1;
    const guesses = top.slice(0, shortlist.guesses).map((share, rank) => [share, Math.log(Math.max(share, 1e-6)) / 5, share / top[0], (rest -= share), Number(rank === 0)]);
    let [bits, squares] = [0, 0];
    for (const share of view.belief) {
      bits -= share * Math.log2(Math.max(share, 1e-30));
      squares += share * share;
    }
    const best = asks.reduce((most, [gain]) => Math.max(most, gain), 0);
    const parts = this.parts(view.mass);
    const mean = parts.reduce((sum, part, h) => sum + part * rate[h], 0);
    const square = parts.reduce((sum, part, h) => sum + part * rate[h] ** 2, 0);
    let first = 0;
    for (let h = 0; h < this.noises; h++) for (let k = 0; k < firstTier; k++) first += view.mass[h * this.keywords + k];
    const state = [
      left / rounds, bits / 10, (bits - left) / 10, best, Math.min(bits / Math.max(best, 0.05) / rounds, 2), mean,
      top.reduce((sum, share) => sum + share, 0), -Math.log2(squares) / 10,
      ...Array.from({ length: reckoning.ranks }, (_, rank) => top[rank] ?? 0),
      Math.sqrt(Math.max(square - mean * mean, 0)), first, topSum(Float64Array.from(view.belief), left, new Float64Array(left)), Number(guessing),
    ];
    return { state, asks, guesses, places };
  }

  private askFeatures(view: View, listed: readonly number[], top: readonly number[], answered: readonly Float64Array[], left: number): number[][] {
    if (!listed.length) return [];
    const { next, hits } = this.lookAhead(top, answered);
    const gain = listed.map((q) => view.gain[q]);
    const twoStep = gain.map((bits, at) => bits + next[at]);
    const cover = answered.map((p) => this.covered(top, p, left));
    const [most, mostTwo, mostCover] = [Math.max(0, ...gain), Math.max(0, ...twoStep), Math.max(...cover)];
    const second = Math.min(1, top.length - 1);
    return listed.map((q, at) => [
      gain[at], most - gain[at], Math.abs(2 * view.pYes[q] - 1), 1 - (entropy(view.pYes[q]) - gain[at]), twoStep[at], mostTwo - twoStep[at], hits[at][0], hits[at][1],
      Math.abs(2 * answered[at][0] - 1), Math.abs(answered[at][0] - answered[at][second]), cover[at], mostCover - cover[at], view.lean[q],
    ]);
  }

  /** Information of the best second listed question, and chances that one guess, or one of two, is then right. */
  private lookAhead(top: readonly number[], answered: readonly Float64Array[]): { next: number[]; hits: [number, number][] } {
    const unsure = answered.map((p) => p.map(entropy));
    const sum = (weight: ArrayLike<number>, values: Float64Array): number => values.reduce((total, value, i) => total + weight[i] * value, 0);
    const next: number[] = [];
    const hits: [number, number][] = [];
    answered.forEach((p, at) => {
      const branches = [Float64Array.from(top, (share, i) => share * p[i]), Float64Array.from(top, (share, i) => share * (1 - p[i]))];
      let information = 0;
      for (const branch of branches) {
        const mass = branch.reduce((total, share) => total + share, 0);
        const per = 1 / Math.max(mass, 1e-6);
        let best = 0;
        answered.forEach((other, place) => {
          if (place !== at) best = Math.max(best, entropy(clip(sum(branch, other) * per)) - sum(branch, unsure[place]) * per);
        });
        information += mass * best;
      }
      next.push(information);
      const heap = new Float64Array(2);
      hits.push([1, 2].map((count) => branches.reduce((total, branch) => total + topSum(branch, count, heap), 0)) as [number, number]);
    });
    return { next, hits };
  }

  /** Place of the listed action that the network scores highest. */
  private best(kind: string, listed: readonly number[][], state: readonly number[]): number {
    const { network, reckoning } = this.data;
    const layer = (name: string, input: readonly number[]): number[] => {
      const { shape, values } = network[`${kind}_${name}.weight`];
      const bias = network[`${kind}_${name}.bias`]?.values;
      return Array.from({ length: shape[0] }, (_, out) => input.reduce((total, x, i) => total + x * values[out * shape[1] + i], bias ? bias[out] : 0));
    };
    const positive = (values: number[]): number[] => values.map((x) => Math.max(0, x));
    const about = layer("state", state);
    const scores = listed.map((features) => layer("last", positive(layer("hidden", positive(layer("in", features).map((x, i) => x + about[i])))))[0]);
    const most = Math.max(...scores);
    return scores.findIndex((score) => score >= most - reckoning.as_good);
  }
}
