// What the animal game's views say in the same words: guesses, answers, endings, animals, and what the words mean.
import { bar, h, howTo, level, name, percent, plural } from "../common/dom";
import { search, type Found } from "../common/finder";
import { article, isolated, sentence } from "../common/text";
import type { Context } from "./context";
import { GUESS, type Data } from "./data";
import { roundScore, type Round } from "./model";

/** An answer that turns over in at least this share of measurements is marked. */
export const SHAKY = 0.02;

/** "Is it an otter?" */
export const guessText = (animal: string): string => `Is it ${article(animal)} ${isolated(animal)}?`;

export function stepText(data: Data, kind: number, value: number): string {
  return kind === GUESS ? guessText(data.animals[value]) : isolated(sentence(data.questions[value]));
}

export const animalOf = (data: Data, candidate: number): string => data.animals[data.candidates[candidate]];

/** The page's noise as its readers see it. */
export const noiseText = (data: Data): string => `noise ${level(data.noise)}`;

/** A list of animals with their belief. */
export function beliefList(data: Data, belief: Float64Array, order: readonly number[], lit?: number): HTMLElement {
  return h(
    "ol",
    { class: "beliefs" },
    ...order.map((at) =>
      h("li", { class: at === lit ? "lit" : "" }, h("span", { class: "clip name" }, name(animalOf(data, at))), bar(belief[at]), h("span", { class: "figure" }, percent(belief[at]))),
    ),
  );
}

/** The animals that a reader may look for: the candidates, and those of the pool that rounds never hide. */
export function animalOptions(data: Data): Found[] {
  const others = data.animals.map((label, animal) => ({ label, animal })).filter(({ animal }) => data.position[animal] < 0);
  return [
    ...Array.from(data.candidates, (animal, id) => ({ label: data.animals[animal], kind: "animal", id })),
    ...others.map(({ label }) => ({ label, kind: "animal", id: -1, absent: "not hidden here" })),
  ];
}

/** Why there is nothing to show of a name, and names like it. `link` leads to one. */
export function nothingOf(data: Data, options: readonly Found[], wanted: string, found: Found | undefined, link: (label: string) => string): HTMLElement {
  const rounds = `the ${plural(data.candidates.length, "animal")} that rounds hide here (${data.choice})`;
  if (found?.absent) return h("p", { class: "empty" }, name(sentence(found.label)), ` is in the pool, but not among ${rounds}.`);
  const like = search(options.filter((option) => !option.absent), wanted, 6).matches;
  return h(
    "div",
    { class: "empty" },
    h("p", {}, "No animal called \u201c", name(wanted), `\u201d among ${rounds}.`),
    like.length > 0 && h("p", {}, "Perhaps you mean:"),
    like.length > 0 && h("ul", { class: "chips" }, ...like.map(({ label }) => h("li", {}, h("a", { href: link(label) }, name(label))))),
  );
}

export function endingText(round: Round, cost: number): string {
  const calls = round.steps.length;
  if (round.ending === "solved") return `Found on call ${calls}: round score ${roundScore(true, calls, cost).toFixed(2)}`;
  return round.ending === "spent" ? `Not found in ${plural(calls, "call")}: round score 0` : `Gives up after ${plural(calls, "call")}: round score 0`;
}

type Term = "oracle" | "margin" | "noise" | "shaky" | "bits" | "belief" | "call" | "score" | "limit" | "when found";

/** "How to read this": the view's own lines, then its words. */
export function howToRead(context: Context, lines: readonly string[], terms: readonly Term[]): HTMLElement {
  const { data } = context;
  const meanings: Record<Term, string> = {
    oracle: `The one who answers: ${data.model || "a measured matrix"}. Every question was put to it about every animal.`,
    margin: "How far the oracle leans: the logit of yes minus that of no. Above 0 it says yes, below 0 no, and near 0 another machine may say the opposite.",
    noise: `How much the platform\u2019s margins differ from the measured ones, as a standard deviation. ${level(data.noise)} is ${data.source}.`,
    shaky: `An answer that turns over in ${percent(SHAKY)} of measurements or more at this noise.`,
    bits: "What is not yet known: n equally likely animals are log2 n bits. A question that halves them gains one bit.",
    belief: "How likely each animal is after the answers so far; a surprising answer to a shaky question costs it little.",
    call: `A question or a guess. A round has at most ${data.budget}.`,
    score: `A round solved on call n scores 1 \u2212 ${data.cost} n, an unsolved one 0. Scores here are means \u00d7 100.`,
    limit: `What no policy can pass: with ${plural(data.candidates.length, "equally likely animal")} it takes ${data.limit.calls.toFixed(2)} calls on average even if every question splits evenly.`,
    "when found": "Mean of the calls of those rounds that are solved. Mean calls counts all rounds, and what lost ones spend.",
  };
  return howTo(lines, terms.map((term) => [term, meanings[term]] as const));
}

