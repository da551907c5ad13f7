// Play: the reader answers for an animal in mind, the policy asks and guesses.
import { about, answerWord, effective, fill, h, percent, plural, signed } from "../common/dom";
import { finder } from "../common/finder";
import type { View } from "../common/view";
import type { Context } from "./context";
import { GUESS } from "./data";
import { roundScore, type Round } from "./model";
import { animalOptions, beliefList, stepText } from "./words";

export function playView(context: Context): View {
  const { data, model } = context;
  let answers = "";
  let round: Round;

  const call = h("p", { class: "eyebrow" });
  const question = h("p", { class: "question", "aria-live": "polite" });
  const yes = h("button", { type: "button", class: "big yes", onclick: () => reply("y") }, "Yes", h("kbd", { "aria-hidden": "true" }, "y"));
  const no = h("button", { type: "button", class: "big no", onclick: () => reply("n") }, "No", h("kbd", { "aria-hidden": "true" }, "n"));
  const undo = h("button", { type: "button", class: "quiet", onclick: back }, "Undo", h("kbd", { "aria-hidden": "true" }, "u"));
  const again = h("button", { type: "button", class: "quiet", onclick: () => move("") }, "Start over");
  const pips = h("div", { class: "pips", role: "img" });
  const leftText = h("span", { class: "figure" });
  const callsText = h("span", { class: "figure" });
  const leftBar = h("span", { class: "bar wide", "aria-hidden": "true" });
  const trail = h("ol", { class: "trail" });
  const mind = h("div", { class: "mind" });
  const peek = h("details", { class: "peek" }, h("summary", {}, "What it believes now"), mind);
  const end = h("div", { class: "ending" });
  const names = animalOptions(data);
  const thought = h("div", {});
  const search = finder("I was thinking of \u2026", "an animal", names, (found) => explain(found.id));
  const list = h("details", { class: "names" }, h("summary", {}, `All ${data.candidates.length} animals it knows`), h("p", {}, [...names].map((n) => n.label).sort().join(", ")));

  const stage = h(
    "div",
    { class: "stage card" },
    call,
    question,
    h("div", { class: "replies" }, yes, no),
    h(
      "div",
      { class: "gauges" },
      h("div", {}, h("p", {}, h("span", {}, "Calls used"), callsText), pips),
      h("div", {}, h("p", {}, h("span", {}, "Animals left"), leftText), leftBar),
    ),
    h("div", { class: "tools" }, undo, again),
  );
  const element = h(
    "section",
    { class: "play", "aria-label": "Play" },
    h("p", { class: "lead" }, `Think of an animal and answer for it. The policy asks, then guesses, in at most ${data.budget} calls.`),
    h("div", { class: "columns" }, h("div", {}, stage, end), h("aside", {}, h("h2", {}, "So far"), trail, peek, list)),
  );

  document.addEventListener("keydown", (event) => {
    if (!element.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea")) return;
    const key = event.key.toLowerCase();
    if (key === "y" || key === "n") reply(key);
    else if (key === "u" || key === "backspace") back();
    else return;
    event.preventDefault();
  });

  function move(next: string): void {
    context.go(context.link("play", next), true);
  }
  function reply(letter: string): void {
    if (round.ending === "open") move(answers + letter);
  }
  function back(): void {
    if (answers) move(answers.slice(0, -1));
  }

  function show(value: string): void {
    round = model.replay(context.policy, value.replace(/[^yn]/g, ""));
    answers = round.steps.map((step) => (step.yes ? "y" : "n")).join("");
    const belief = model.belief(round.steps);
    const bits = model.entropy(belief);
    const open = round.ending === "open";
    const used = round.steps.length;
    if (open) {
      const kind = context.policy.kind[round.node];
      call.textContent = `Call ${used + 1} of ${data.budget} \u00b7 ${kind === GUESS ? "a guess" : "a question"}`;
      question.textContent = stepText(data, kind, context.policy.value[round.node]);
    } else {
      const solved = round.ending === "solved";
      const last = round.steps.at(-1);
      call.textContent = `${plural(used, "call")} \u00b7 round score ${roundScore(solved, used, data.cost).toFixed(2)}`;
      question.textContent = solved && last ? `Got it: ${data.animals[last.value]}.` : round.ending === "spent" ? "Out of calls. You win this one." : "It gives up. You win this one.";
    }
    for (const button of [yes, no]) button.setAttribute("aria-disabled", String(!open));
    undo.setAttribute("aria-disabled", String(!answers));
    again.setAttribute("aria-disabled", String(!answers));
    fill(pips, ...Array.from({ length: data.budget }, (_, i) => h("i", { class: i < used ? (round.steps[i].kind === GUESS ? "used guess" : "used") : "" })));
    pips.setAttribute("aria-label", `${used} of ${data.budget} calls used`);
    callsText.textContent = `${used} of ${data.budget}`;
    leftBar.style.setProperty("--share", (bits / Math.log2(Math.max(2, model.n))).toFixed(4));
    leftText.textContent = used === 0 ? `${model.n}` : `about ${about(effective(bits))} of ${model.n}`;
    fill(
      trail,
      ...round.steps.map((step, i) => h("li", {}, h("span", {}, stepText(data, step.kind, step.value)), answerWord(step.yes), h("button", { type: "button", class: "link", "aria-label": `Go back to call ${i + 1}`, onclick: () => move(answers.slice(0, i)) }, "change"))),
      used === 0 && h("li", { class: "empty" }, "Your answers will stand here."),
    );
    fill(mind, beliefList(data, belief, model.likeliest(belief, 5)));
    peek.hidden = !open;
    fill(end, ...(open ? [] : summary()));
    if (!open && round.ending === "solved") {
      const at = data.position[round.steps.at(-1)!.value];
      if (at >= 0) {
        search.input.value = data.animals[data.candidates[at]];
        explain(at);
      }
    } else if (!open) {
      search.input.value = "";
      fill(thought, h("p", { class: "empty" }, "Name it, and see where your answers parted from the oracle\u2019s."));
    }
  }

  function summary(): HTMLElement[] {
    const rows = round.steps.map((step, i) => {
      const belief = model.belief(round.steps.slice(0, i + 1));
      const order = model.likeliest(belief, 3);
      return h(
        "tr",
        {},
        h("td", { class: "number" }, i + 1),
        h("td", {}, stepText(data, step.kind, step.value)),
        h("td", {}, answerWord(step.yes)),
        h("td", { class: "number" }, about(effective(model.entropy(belief)))),
        h("td", {}, order.map((at) => `${data.animals[data.candidates[at]]} ${percent(belief[at])}`).join(", ")),
      );
    });
    return [
      h("div", { class: "card" }, h("h2", {}, round.ending === "solved" ? "Were you thinking of another?" : "Which animal was it?"), search.element, thought),
      h(
        "div",
        { class: "card" },
        h("h2", {}, "What it believed"),
        h(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "What it believed at each step" },
          h(
            "table",
            { class: "steps" },
            h("thead", {}, h("tr", {}, ...["Call", "Question", "Answer", "Left", "Likeliest then"].map((title, i) => h("th", { scope: "col", class: i === 0 || i === 3 ? "number" : "" }, title)))),
            h("tbody", {}, ...rows),
          ),
        ),
      ),
    ];
  }

  function explain(candidate: number): void {
    const animal = data.animals[data.candidates[candidate]];
    const asks = round.steps.filter((step) => step.kind !== GUESS);
    const parted = asks.filter((step) => model.answer(candidate, step.value) !== step.yes);
    const belief = model.belief(round.steps);
    fill(
      thought,
      h(
        "p",
        { role: "status" },
        parted.length === 0
          ? `For ${animal} you and the oracle agreed on all ${plural(asks.length, "answer")}.`
          : `For ${animal} the oracle would have answered ${parted.length} of ${plural(asks.length, "question")} otherwise; the policy gave it ${percent(belief[candidate])} at the end.`,
      ),
      parted.length > 0 &&
        h(
          "ul",
          { class: "parted" },
          ...parted.map((step) =>
            h(
              "li",
              {},
              h("span", { class: "what" }, `${round.steps.indexOf(step) + 1}. ${stepText(data, step.kind, step.value)}`),
              h("span", {}, "you ", answerWord(step.yes), " oracle ", answerWord(!step.yes)),
              h("span", { class: "dim" }, `margin ${signed(model.margin(candidate, step.value))}${model.flip(candidate, step.value) >= 0.02 ? `, itself unsure: turns over in ${percent(model.flip(candidate, step.value))} of measurements` : ""}`),
            ),
          ),
        ),
      h("p", {}, h("a", { href: context.link("watch", animal) }, `Watch the policy find ${animal}`)),
    );
  }

  return { element, show };
}

