// What the views of this game say in the same words.
import { bar, h, howTo, name, percent, plural } from "../common/dom";
import type { Found } from "../common/finder";
import { sentence } from "../common/text";
import type { Data } from "./data";
import type { Player } from "./model";

export interface Context {
  data: Data;
  player: Player;
}

export const questionText = (data: Data, question: number): string => sentence(data.questions[question]);

/** The likeliest keywords with their belief. */
export function beliefList(data: Data, belief: Float32Array, count: number, lit?: number): HTMLElement {
  const order = Array.from(belief.keys()).sort((a, b) => belief[b] - belief[a] || a - b).slice(0, count);
  return h(
    "ol",
    { class: "beliefs" },
    ...order.map((k) => h("li", { class: k === lit ? "lit" : "" }, h("span", { class: "clip name" }, name(data.keywords[k])), bar(belief[k]), h("span", { class: "figure" }, percent(belief[k])))),
  );
}

/** How many equally likely keywords would be as uncertain: 2 to the entropy. */
export function effectiveNumber(belief: Float32Array): number {
  let bits = 0;
  for (const share of belief) if (share > 0) bits -= share * Math.log2(share);
  return 2 ** bits;
}

export const keywordOptions = (data: Data): Found[] => data.keywords.map((label, id) => ({ label, kind: "keyword", id }));

export function howToRead(data: Data, lines: readonly string[]): HTMLElement {
  return howTo(lines, [
    ["belief", `How likely each of the ${plural(data.keywords.length, "keyword")} is after the answers so far. It starts with how likely each of the ${plural(data.tiers, "tier")} is.`],
    ["tie", "A question whose answer the table does not know, or that may be answered either way: its answer says nothing about that keyword."],
    ["errs", "Partners answer wrongly at times. The agent is told nothing of the rate and holds a belief over it, too; a question that was answered against the table costs a keyword less the more its partner errs."],
    ["round", `A question, its answer, and a guess. The first right guess in round r pays ${data.rounds + 1} \u2212 r; a lost game \u22121.`],
  ]);
}
