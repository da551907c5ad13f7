// Play: the reader answers for an animal in mind, the policy asks and guesses.
import { about, answerWord, effective, fill, h, name, percent, plural, signed } from "../common/dom";
import { finder, type Found } from "../common/finder";
import { saver } from "../common/save";
import { isolated } from "../common/text";
import type { View } from "../common/view";
import type { Context } from "./context";
import { GUESS } from "./data";
import { roundScore, type Round } from "./model";
import { animalOf, animalOptions, beliefList, howToRead, nothingOf, SHAKY, stepText } from "./words";

export function playView(context: Context): View {
  const { data, model } = context;
  let answers = "";
  let round: Round;

  const call = h("p", { class: "eyebrow" });
  const question = h("p", { class: "question", tabindex: "-1", "aria-live": "polite" });
  const key = (letter: string): HTMLElement => h("kbd", { "aria-hidden": "true" }, letter);
  const yes = h("button", { type: "button", class: "big yes", "aria-keyshortcuts": "y", onclick: () => reply("y") }, "Yes", key("y"));
  const no = h("button", { type: "button", class: "big no", "aria-keyshortcuts": "n", onclick: () => reply("n") }, "No", key("n"));
  const unsure = h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "d", onclick: () => reply("d") }, "Don\u2019t know", key("d"));
  const undo = h("button", { type: "button", class: "quiet", "aria-keyshortcuts": "u", onclick: back }, "Undo", key("u"));
  const againText = h("span", {});
  const again = h("button", { type: "button", "aria-keyshortcuts": "a", onclick: restart }, againText, key("a"));
  const pips = h("div", { class: "pips", role: "img" });
  const leftText = h("span", { class: "figure" });
  const callsText = h("span", { class: "figure" });
  const leftBar = h("span", { class: "bar wide", "aria-hidden": "true" });
  const trail = h("ol", { class: "trail" });
  const mind = h("div", { class: "mind" });
  const peek = h("details", { class: "peek" }, h("summary", {}, "What it believes now"), mind);
  const end = h("div", { class: "ending" });
  const options = animalOptions(data);
  const thought = h("div", {});
  const search = finder("I was thinking of \u2026", "an animal", options, explain);
  const wide = matchMedia("(min-width: 761px)");
  const check = h("p", { role: "status" });
  const labels = Array.from(data.candidates, (animal) => data.animals[animal]).sort((a, b) => (a < b ? -1 : 1));
  const list = h(
    "details",
    { class: "names card", open: wide.matches },
    h("summary", {}, `The ${plural(model.n, "animal")} to choose from`),
    finder("Is yours among them?", "its name", options, (found) =>
      found.absent ? fill(check, nothingOf(data, options, found.label, found, (label) => context.link("watch", label))) : fill(check, "Yes: think of ", name(found.label), "."),
    ).element,
    check,
    h("p", { class: "all", tabindex: "0", role: "region", "aria-label": "All animals to choose from" }, ...labels.flatMap((label, i) => [i > 0 && ", ", name(label)])),
  );

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
    h("div", { class: "tools" }, unsure, undo, again),
  );
  const element = h(
    "section",
    { class: "play", "aria-label": "Play" },
    h("p", { class: "lead" }, h("strong", {}, `Think of one of these ${plural(model.n, "animal")}`), ` and answer for it. The policy asks, then guesses, in at most ${data.budget} calls.`),
    howToRead(
      context,
      [
        "Answer as the oracle would. Where your answer differs from its, the policy looks among other animals, and at the end you see where you parted.",
        "\u201cDon\u2019t know\u201d spends the call and leaves the belief as it is; the policy goes on as if it had heard what it expects.",
        "Keys: y, n, d for don\u2019t know, u to take an answer back, a to begin again.",
      ],
      ["oracle", "call", "score", "belief"],
    ),
    h("div", { class: "columns" }, list, h("div", { class: "main" }, stage, end), h("aside", {}, h("h2", {}, "So far"), trail, peek)),
  );

  document.addEventListener("keydown", (event) => {
    if (!element.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest("input, select, textarea")) return;
    const pressed = event.key.toLowerCase();
    if (!["y", "n", "d", "u", "a", "backspace"].includes(pressed)) return;
    event.preventDefault();
    if (event.repeat) return; // a key that is held down is one answer
    if (pressed === "a") restart();
    else if (pressed === "u" || pressed === "backspace") back();
    else reply(pressed);
  });

  function move(next: string): void {
    context.go(context.link("play", next), true);
  }
  function reply(letter: string): void {
    if (round.ending === "open" && (letter !== "d" || asks())) move(answers + letter);
  }
  function asks(): boolean {
    return round.ending === "open" && context.policy.kind[round.node] !== GUESS;
  }
  function restart(): void {
    if (answers) move("");
  }
  function back(): void {
    if (answers) move(answers.slice(0, -1));
  }

  function change(call: number): void {
    move(answers.slice(0, call));
    question.focus({ preventScroll: true }); // the button is gone, its question is here
  }

  function show(value: string): void {
    round = model.replay(context.policy, value.replace(/[^ynd]/g, ""));
    answers = round.steps.map((step) => (step.unknown ? "d" : step.yes ? "y" : "n")).join("");
    const belief = model.belief(context.policy, round.steps);
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
      question.textContent = solved && last ? `Got it: ${isolated(data.animals[last.value])}.` : round.ending === "spent" ? "Out of calls. You win this one." : "It gives up. You win this one.";
    }
    for (const button of [yes, no]) button.setAttribute("aria-disabled", String(!open));
    unsure.setAttribute("aria-disabled", String(!asks()));
    undo.setAttribute("aria-disabled", String(!answers));
    again.setAttribute("aria-disabled", String(!answers));
    again.className = open ? "quiet" : "primary";
    againText.textContent = open ? "Start over" : "Play again";
    fill(pips, ...Array.from({ length: data.budget }, (_, i) => h("i", { class: i < used ? (round.steps[i].kind === GUESS ? "used guess" : "used") : "" })));
    pips.setAttribute("aria-label", `${used} of ${data.budget} calls used`);
    callsText.textContent = `${used} of ${data.budget}`;
    leftBar.style.setProperty("--share", (bits / Math.log2(Math.max(2, model.n))).toFixed(4));
    leftText.textContent = used === 0 ? `${model.n}` : `about ${about(effective(bits))} of ${model.n}`;
    fill(
      trail,
      ...round.steps.map((step, i) => h("li", {}, h("span", {}, stepText(data, step.kind, step.value)), answerWord(step.unknown ? undefined : step.yes), h("button", { type: "button", class: "link", onclick: () => change(i) }, "change", h("span", { class: "offscreen" }, ` the answer to call ${i + 1}`)))),
      used === 0 && h("li", { class: "empty" }, "Your answers will stand here."),
    );
    fill(mind, beliefList(data, belief, model.likeliest(belief, 5)));
    peek.hidden = !open;
    fill(end, ...(open ? [] : summary()));
    if (!open && round.ending === "solved") {
      const at = data.position[round.steps.at(-1)!.value];
      if (at >= 0) {
        search.input.value = animalOf(data, at);
        explain(options[at]);
      }
    } else if (!open) {
      search.input.value = "";
      fill(thought, h("p", { class: "empty" }, "Name it, and see where your answers parted from the oracle\u2019s."));
    }
  }

  function summary(): HTMLElement[] {
    const rows = round.steps.map((step, i) => {
      const belief = model.belief(context.policy, round.steps.slice(0, i + 1));
      const order = model.likeliest(belief, 3);
      return h(
        "tr",
        {},
        h("td", { class: "number" }, i + 1),
        h("td", {}, stepText(data, step.kind, step.value)),
        h("td", {}, answerWord(step.unknown ? undefined : step.yes)),
        h("td", { class: "number" }, about(effective(model.entropy(belief)))),
        h("td", {}, ...order.flatMap((at, place) => [place > 0 && ", ", name(animalOf(data, at)), ` ${percent(belief[at])}`])),
      );
    });
    return [
      h("div", { class: "card" }, h("h2", {}, round.ending === "solved" ? "Were you thinking of another?" : "Which animal was it?"), search.element, thought),
      h(
        "div",
        { class: "card" },
        h("div", { class: "title" }, h("h2", {}, "What it believed"), saver({ stem: "round", what: "this round", csv: table })),
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

  function table(): (string | number)[][] {
    return [
      ["call", "question", "answer", "left", "likeliest then", "belief"],
      ...round.steps.map((step, i) => {
        const belief = model.belief(context.policy, round.steps.slice(0, i + 1));
        const [top] = model.likeliest(belief, 1);
        return [i + 1, step.kind === GUESS ? data.animals[step.value] : data.questions[step.value], step.unknown ? "don\u2019t know" : step.yes ? "yes" : "no", effective(model.entropy(belief)), animalOf(data, top), belief[top]];
      }),
    ];
  }

  function explain(found: Found): void {
    if (found.absent) {
      fill(thought, nothingOf(data, options, found.label, found, (label) => context.link("watch", label)));
      return;
    }
    const candidate = found.id;
    const answered = round.steps.filter((step) => step.kind !== GUESS && !step.unknown);
    const asked = answered.filter((step) => !model.isMissing(candidate, step.value));
    const unmeasured = answered.length - asked.length;
    const parted = asked.filter((step) => model.answer(candidate, step.value) !== step.yes);
    const belief = model.belief(context.policy, round.steps);
    const animal = (): HTMLElement => name(found.label);
    fill(
      thought,
      h(
        "p",
        { role: "status" },
        ...(asked.length === 0
          ? ["Nothing was asked and answered about ", animal(), "."]
          : parted.length === 0
            ? ["For ", animal(), ` you and the oracle agreed on ${asked.length === 1 ? "the one answer" : `all ${asked.length} answers`}.`]
            : ["For ", animal(), ` the oracle would have answered ${parted.length} of ${plural(asked.length, "question")} otherwise; the policy gave it ${percent(belief[candidate])} at the end.`]),
        unmeasured > 0 && ` The oracle\u2019s answer to ${unmeasured === 1 ? "one more question" : `${unmeasured} more questions`} is missing.`,
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
              h("span", { class: "dim" }, `margin ${signed(model.margin(candidate, step.value))}${model.flip(candidate, step.value) >= SHAKY ? `, itself unsure: turns over in ${percent(model.flip(candidate, step.value))} of measurements` : ""}`),
            ),
          ),
        ),
      h("p", {}, h("a", { href: context.link("watch", found.label) }, "Watch the policy find ", animal())),
    );
  }

  return { element, show };
}

