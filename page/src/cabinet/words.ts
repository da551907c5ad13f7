// What the animal game's views say in the same words: guesses, answers, endings, animals with their belief.
import { bar, h, percent, plural, sentence } from "../common/dom";
import type { Found } from "../common/finder";
import { GUESS, type Data } from "./data";
import { roundScore, type Round } from "./model";

/** An answer that turns over in at least this share of measurements is marked. */
export const SHAKY = 0.02;

/** An article for a guess: "Is it an otter?" */
export const guessText = (animal: string): string => `Is it ${/^[aeiou]/.test(animal) ? "an" : "a"} ${animal}?`;

export function stepText(data: Data, kind: number, value: number): string {
  return kind === GUESS ? guessText(data.animals[value]) : sentence(data.questions[value]);
}

/** A list of animals with their belief. */
export function beliefList(data: Data, belief: Float64Array, order: readonly number[], lit?: number): HTMLElement {
  return h(
    "ol",
    { class: "beliefs" },
    ...order.map((at) =>
      h(
        "li",
        { class: at === lit ? "lit" : "" },
        h("span", { class: "name" }, data.animals[data.candidates[at]]),
        bar(belief[at]),
        h("span", { class: "figure" }, percent(belief[at])),
      ),
    ),
  );
}

/** The animals that a reader may look for, by name. */
export function animalOptions(data: Data): Found[] {
  return Array.from(data.candidates, (animal, id) => ({ label: data.animals[animal], kind: "animal", id }));
}

export function endingText(round: Round, cost: number): string {
  const calls = round.steps.length;
  if (round.ending === "solved") return `Found on call ${calls}: round score ${roundScore(true, calls, cost).toFixed(2)}`;
  return round.ending === "spent" ? `Not found in ${plural(calls, "call")}: round score 0` : `Gives up after ${plural(calls, "call")}: round score 0`;
}
