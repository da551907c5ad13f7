// Watch: the path of one animal through the graph, and what the policy knew on the way.
import { about, answerWord, effective, figureList, fill, h, name, percent, signed } from "../common/dom";
import { finder, named } from "../common/finder";
import { saver } from "../common/save";
import { isolated, sentence } from "../common/text";
import type { View } from "../common/view";
import type { Context } from "./context";
import { ASK } from "./data";
import type { Gain } from "./model";
import { animalOptions, beliefList, endingText, howToRead, nothingOf, SHAKY, stepText } from "./words";

/** A margin as a bar to the left or right of zero, with its number; a missing one (NaN) in words. */
export function marginMark(margin: number, flip: number): HTMLElement {
  if (Number.isNaN(margin)) return h("span", { class: "margin shaky" }, h("span", { class: "note" }, `\u26a0 missing: the other answer in ${percent(flip)}`));
  const shaky = flip >= SHAKY;
  return h(
    "span",
    { class: `margin ${margin > 0 ? "yes" : "no"}${shaky ? " shaky" : ""}` },
    h("span", { class: "scale", "aria-hidden": "true", "--share": Math.min(1, Math.abs(margin) / 3).toFixed(3) }),
    h("span", { class: "figure" }, signed(margin)),
    h("span", { class: "note" }, shaky ? `\u26a0 shaky: turns over in ${percent(flip)}` : ""),
  );
}

export function watchView(context: Context): View {
  const { data, model } = context;
  const options = animalOptions(data);
  const search = finder("Animal", "otter, say", options, (found) => context.go(context.link("watch", found.label)));
  const body = h("div", {});
  const element = h(
    "section",
    { class: "watch", "aria-label": "Watch" },
    h("p", { class: "lead" }, "One animal\u2019s path through the policy, answered as measured."),
    howToRead(
      context,
      [
        "Each row is a call. Its bar shows the margin of this animal\u2019s answer: to the right yes, to the left no, full at 3; beside it stands the belief after the answer.",
        "\u201cGains\u201d is how many bits the question was expected to settle, and the runner-up is the question that would have been next best.",
      ],
      ["oracle", "margin", "noise", "shaky", "bits", "belief", "score"],
    ),
    search.element,
    body,
  );

  function show(value: string): void {
    search.set(value);
    const found = named(options, value);
    if (!value.trim()) fill(body, suggestions());
    else if (!found || found.absent) fill(body, h("div", { class: "card" }, nothingOf(data, options, value, found, (label) => context.link("watch", label))), suggestions());
    else {
      document.title = `${found.label} \u00b7 ${document.title}`;
      fill(body, ...path(found.id));
    }
  }

  function suggestions(): HTMLElement {
    const worst = Array.from(context.policy.score.keys()).sort((a, b) => context.policy.score[a] - context.policy.score[b] || a - b);
    const some = worst.slice(0, 6);
    const best = worst.slice(6).slice(-6).reverse();
    const links = (ids: number[]): HTMLElement =>
      h("ul", { class: "chips" }, ...ids.map((id) => h("li", {}, h("a", { href: context.link("watch", options[id].label) }, name(options[id].label)))));
    return h("div", { class: "card empty" }, h("h2", {}, "Choose an animal"), h("p", {}, "The hardest for this policy:"), links(some), best.length > 0 && h("p", {}, "The easiest:"), best.length > 0 && links(best));
  }

  function path(candidate: number): HTMLElement[] {
    const policy = context.policy;
    const round = model.measured(policy)[candidate];
    const steps = round.steps;
    let belief = model.belief(policy, []);
    let bits = model.entropy(belief);
    const items = steps.map((step, i) => {
      const gains = step.kind === ASK ? model.gains(policy, belief) : [];
      const before = bits;
      belief = model.belief(policy, steps.slice(0, i + 1));
      bits = model.entropy(belief);
      return h(
        "li",
        { class: `step ${step.kind !== ASK ? "guess" : "ask"}` },
        h("div", { class: "head" }, h("span", { class: "call" }, i + 1), h("h3", {}, stepText(data, step.kind, step.value)), answerWord(step.yes)),
        h(
          "div",
          { class: "facts" },
          step.kind === ASK ? marginMark(model.margin(candidate, step.value), model.flip(candidate, step.value)) : h("span", { class: "margin" }, h("span", { class: "note" }, step.yes ? "right" : "wrong: a call spent, one animal fewer")),
          h("p", { class: "dim" }, `${before.toFixed(2)} \u2192 ${bits.toFixed(2)} bits \u00b7 about ${about(effective(bits))} left`),
          gains.length > 0 && runnerUp(gains, step.value),
        ),
        beliefList(data, belief, model.likeliest(belief, 5), candidate),
      );
    });
    const shaky = steps.filter((step) => step.kind === ASK && model.flip(candidate, step.value) >= SHAKY).length;
    return [
      h(
        "div",
        { class: "result card" },
        h("h2", {}, name(sentence(options[candidate].label))),
        h("p", { class: "verdict" }, endingText(round, data.cost)),
        figureList([
          ["Expected score", (100 * policy.score[candidate]).toFixed(1)],
          ["Found", percent(policy.solved[candidate])],
          ["Mean calls", policy.calls[candidate].toFixed(2)],
          ["Shaky answers", String(shaky)],
        ]),
        h("p", {}, h("a", { href: context.link("policy", "", { lit: options[candidate].label }) }, "Show it in the whole policy")),
        saver({ stem: "path", what: "this path", csv: () => table(candidate) }),
      ),
      h("ol", { class: "path" }, ...items),
    ];
  }

  function table(candidate: number): (string | number)[][] {
    const { steps } = model.measured(context.policy)[candidate];
    return [
      ["call", "question or guess", "answer", "margin", "turns over", "bits left", "belief in it"],
      ...steps.map((step, i) => {
        const belief = model.belief(context.policy, steps.slice(0, i + 1));
        const asks = step.kind === ASK;
        return [i + 1, asks ? data.questions[step.value] : data.animals[step.value], step.yes ? "yes" : "no", asks && !model.isMissing(candidate, step.value) ? model.margin(candidate, step.value) : "", asks ? model.flip(candidate, step.value) : "", model.entropy(belief), belief[candidate]];
      }),
    ];
  }

  function runnerUp(gains: Gain[], asked: number): HTMLElement {
    const rank = gains.findIndex((gain) => gain.question === asked);
    const other = gains[rank === 0 ? 1 : 0];
    return h(
      "p",
      { class: "dim" },
      `Gains ${gains[rank].bits.toFixed(3)} bits${rank === 0 ? ", the most" : `, rank ${rank + 1}`}. `,
      other && `${rank === 0 ? "Runner-up" : "Most"}: ${isolated(sentence(data.questions[other.question]))} (${other.bits.toFixed(3)})`,
    );
  }

  return { element, show };
}
