// Play: the reader thinks of a keyword and answers; the agent asks and guesses.
import { about, answerWord, fill, h, name, percent, plural } from "../common/dom";
import { finder, type Found } from "../common/finder";
import { saver } from "../common/save";
import { isolated } from "../common/text";
import type { Navigation, View } from "../common/view";
import type { Answered } from "./model";
import { beliefList, effectiveNumber, howToRead, keywordOptions, questionText, type Context } from "./words";

/** A round as it went: what was asked and said, what was guessed and whether it was right. */
interface Round {
  question: number;
  /** Undefined where the reader did not know. */
  yes: boolean | undefined;
  guess: number;
  right: boolean | undefined;
  belief: Float32Array;
}

/** A game after some replies: its rounds, and what is asked now. */
interface State {
  rounds: Round[];
  /** Question that waits for an answer, guess that waits for a verdict; both -1 at the end. */
  question: number;
  guess: number;
  belief: Float32Array;
  rate: number;
}

export function playView({ data, player, ...page }: Context & Navigation): View {
  let replies = "";
  let state: State;
  const turn = h("p", { class: "eyebrow" });
  const question = h("p", { class: "question", tabindex: "-1", "aria-live": "polite" });
  const key = (letter: string): HTMLElement => h("kbd", { "aria-hidden": "true" }, letter);
  const [yesText, noText, againText] = [h("span", {}), h("span", {}), h("span", {})];
  const button = (letter: string, look: string, label: HTMLElement | string, act: () => void): HTMLElement => h("button", { type: "button", class: look, "aria-keyshortcuts": letter, onclick: act }, label, key(letter));
  const yes = button("y", "big yes", yesText, () => reply("y"));
  const no = button("n", "big no", noText, () => reply("n"));
  const unsure = button("d", "quiet", "Don\u2019t know", () => reply("d"));
  const undo = button("u", "quiet", "Undo", back);
  const again = button("a", "quiet", againText, restart);
  const pips = h("div", { class: "pips", role: "img", "--turns": data.rounds });
  const [roundsText, leftText, rateText] = [0, 1, 2].map(() => h("span", { class: "figure" }));
  const leftBar = h("span", { class: "bar wide", "aria-hidden": "true" });
  const rateBar = h("span", { class: "bar wide lost", "aria-hidden": "true" });
  const trail = h("ol", { class: "trail" });
  const mind = h("div", { class: "mind" });
  const end = h("div", { class: "ending" });
  const thought = h("div", {});
  const check = h("p", { role: "status" });
  const options = keywordOptions(data);
  const search = finder("I was thinking of \u2026", "a keyword", options, explain);
  const wide = matchMedia("(min-width: 761px)");
  const list = h(
    "details",
    { class: "names card", open: wide.matches },
    h("summary", {}, `The ${plural(data.keywords.length, "keyword")} to choose from`),
    finder("Is yours among them?", "its name", options, (found) => fill(check, "Yes: think of ", name(found.label), ".")).element,
    check,
    h("p", { class: "all", tabindex: "0", role: "region", "aria-label": "All keywords to choose from" }, ...data.keywords.flatMap((label, i) => [i > 0 && ", ", name(label)])),
  );
  const gauge = (label: string, figure: HTMLElement, shown: HTMLElement): HTMLElement => h("div", {}, h("p", {}, h("span", {}, label), figure), shown);
  const element = h(
    "section",
    { class: "play", "aria-label": "Play" },
    h("p", { class: "lead" }, h("strong", {}, "Think of one of these keywords"), ` and answer for it. In each of ${data.rounds} rounds the agent asks, hears your answer, and guesses.`),
    howToRead(data, [
      "Answer as well as you can; you may err as other partners do. \u201cDon\u2019t know\u201d spends the question and leaves the belief as it is.",
      "Keys: y, n, d for don\u2019t know, u to take a reply back, a to begin again.",
    ]),
    h(
      "div",
      { class: "columns" },
      list,
      h(
        "div",
        { class: "main" },
        h(
          "div",
          { class: "stage card" },
          turn,
          question,
          h("div", { class: "replies" }, yes, no),
          h("div", { class: "gauges" }, gauge("Rounds", roundsText, pips), gauge("Keywords left", leftText, leftBar), gauge("It thinks that you err in", rateText, rateBar)),
          h("div", { class: "tools" }, unsure, undo, again),
        ),
        end,
      ),
      h("aside", {}, h("h2", {}, "What it believes now"), mind, h("h2", {}, "So far"), trail),
    ),
  );

  document.addEventListener("keydown", (event) => {
    if (!element.isConnected || event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).closest("input, select, textarea")) return;
    const pressed = event.key.toLowerCase();
    if (!["y", "n", "d", "u", "a", "backspace"].includes(pressed)) return;
    event.preventDefault();
    if (event.repeat) return; // a key that is held down is one reply
    if (pressed === "a") restart();
    else if (pressed === "u" || pressed === "backspace") back();
    else reply(pressed);
  });

  function move(next: string): void {
    page.go(page.link("play", next), true);
  }
  function reply(letter: string): void {
    if (state.question >= 0 || (state.guess >= 0 && letter !== "d")) move(replies + letter);
  }
  function restart(): void {
    if (replies) move("");
  }
  function back(): void {
    if (replies) move(replies.slice(0, -1));
  }

  /** The game after replies: answers and verdicts in turn. What does not fit is left out. */
  function replay(letters: string): [string, State] {
    const rounds: Round[] = [];
    const table: Answered[] = [];
    const closed = new Set<number>();
    const wrong: number[] = [];
    let heard = "";
    let mass = player.weigh(table, wrong);
    const now = (question: number, guess: number): [string, State] => [heard, { rounds, question, guess, belief: player.belief(mass), rate: player.expectedRate(mass) }];
    while (rounds.length < data.rounds) {
      const question = player.chooseQuestion(mass, closed, rounds.length);
      if (question < 0) break;
      const answer = letters[heard.length];
      if (answer === undefined) return now(question, -1);
      heard += answer;
      closed.add(question);
      if (answer !== "d") table.push([question, answer === "y"]);
      mass = player.weigh(table, wrong);
      const guess = player.chooseGuess(mass, rounds.length);
      rounds.push({ question, yes: answer === "d" ? undefined : answer === "y", guess, right: undefined, belief: player.belief(mass) });
      const verdict = letters.slice(heard.length).match(/^[yn]/)?.[0];
      if (verdict === undefined) return now(-1, guess);
      heard += verdict;
      rounds.at(-1)!.right = verdict === "y";
      if (verdict === "y") break;
      wrong.push(guess);
      mass = player.weigh(table, wrong);
    }
    return now(-1, -1);
  }

  function show(value: string): void {
    [replies, state] = replay(value.replace(/[^ynd]/g, ""));
    const { rounds } = state;
    const last = rounds.at(-1);
    const solved = last?.right === true;
    const open = state.question >= 0 || state.guess >= 0;
    if (state.question >= 0) {
      turn.textContent = `Round ${rounds.length + 1} of ${data.rounds} \u00b7 a question`;
      question.textContent = isolated(questionText(data, state.question));
    } else if (state.guess >= 0) {
      turn.textContent = `Round ${rounds.length} of ${data.rounds} \u00b7 its guess`;
      question.textContent = `Is it \u201c${isolated(data.keywords[state.guess])}\u201d?`;
    } else {
      turn.textContent = `${plural(rounds.length, "round")} \u00b7 pays ${solved ? data.rounds + 1 - rounds.length : "\u22121"}`;
      question.textContent = solved ? `Got it: ${isolated(data.keywords[last.guess])}.` : "Out of rounds. You win this one.";
    }
    [yesText.textContent, noText.textContent] = state.guess >= 0 ? ["Yes, right", "No"] : ["Yes", "No"];
    for (const each of [yes, no]) each.setAttribute("aria-disabled", String(!open));
    unsure.setAttribute("aria-disabled", String(state.question < 0));
    for (const each of [undo, again]) each.setAttribute("aria-disabled", String(!replies));
    again.className = open ? "quiet" : "primary";
    againText.textContent = open ? "Start over" : "Play again";
    fill(pips, ...Array.from({ length: data.rounds }, (_, i) => h("i", { class: i < rounds.length ? "used" : "" })));
    pips.setAttribute("aria-label", `${rounds.length} of ${data.rounds} rounds`);
    roundsText.textContent = `${rounds.length} of ${data.rounds}`;
    const left = effectiveNumber(state.belief);
    leftText.textContent = `about ${about(left)} of ${data.keywords.length}`;
    leftBar.style.setProperty("--share", (Math.log2(left) / Math.log2(Math.max(2, data.keywords.length))).toFixed(4));
    rateText.textContent = `${percent(state.rate)} of answers`;
    rateBar.style.setProperty("--share", Math.min(1, 2 * state.rate).toFixed(4));
    fill(mind, beliefList(data, state.belief, 6));
    fill(
      trail,
      ...rounds.map((round) =>
        h("li", {}, h("span", {}, questionText(data, round.question)), answerWord(round.yes), h("span", { class: "guessed" }, "guess: ", name(data.keywords[round.guess]), round.right === undefined ? "" : round.right ? " \u2014 right" : " \u2014 wrong")),
      ),
      rounds.length === 0 && h("li", { class: "empty" }, "Your answers will stand here."),
    );
    fill(end, ...(open ? [] : summary()));
    if (open) return;
    search.input.value = solved ? data.keywords[last.guess] : "";
    if (solved) explain(options[last.guess]);
    else fill(thought, h("p", { class: "empty" }, "Name it, and see where your answers parted from the table\u2019s."));
  }

  function summary(): HTMLElement[] {
    const heads = ["Round", "Question", "Answer", "Left", "Guess"];
    return [
      h("div", { class: "card" }, h("h2", {}, state.rounds.at(-1)?.right ? "Were you thinking of another?" : "Which keyword was it?"), search.element, thought),
      h(
        "div",
        { class: "card" },
        h("div", { class: "title" }, h("h2", {}, "What it believed"), saver({ stem: "game", what: "this game", csv: table })),
        h(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "What it believed in each round" },
          h(
            "table",
            { class: "steps" },
            h("thead", {}, h("tr", {}, ...heads.map((title, i) => h("th", { scope: "col", class: i === 0 || i === 3 ? "number" : "" }, title)))),
            h(
              "tbody",
              {},
              ...state.rounds.map((round, i) =>
                h(
                  "tr",
                  {},
                  h("td", { class: "number" }, i + 1),
                  h("td", {}, questionText(data, round.question)),
                  h("td", {}, answerWord(round.yes)),
                  h("td", { class: "number" }, about(effectiveNumber(round.belief))),
                  h("td", {}, name(data.keywords[round.guess]), ` ${percent(round.belief[round.guess])}`),
                ),
              ),
            ),
          ),
        ),
      ),
    ];
  }

  function table(): (string | number)[][] {
    return [
      ["round", "question", "answer", "left", "guess", "belief"],
      ...state.rounds.map((round, i) => [i + 1, data.questions[round.question], round.yes === undefined ? "don\u2019t know" : round.yes ? "yes" : "no", effectiveNumber(round.belief), data.keywords[round.guess], round.belief[round.guess]]),
    ];
  }

  function explain(found: Found): void {
    const answered = state.rounds.filter((round) => round.yes !== undefined && tableAnswer(found.id, round.question) !== 0);
    const parted = answered.filter((round) => (tableAnswer(found.id, round.question) > 0) !== round.yes);
    fill(
      thought,
      h(
        "p",
        { role: "status" },
        ...(parted.length === 0
          ? ["For ", name(found.label), ` you and the table agreed on ${plural(answered.length, "answer")}.`]
          : ["For ", name(found.label), ` the table answers ${parted.length} of ${plural(answered.length, "question")} otherwise; the agent gave it ${percent(state.belief[found.id])} at the end.`]),
      ),
      parted.length > 0 && h("ul", { class: "parted" }, ...parted.map((round) => h("li", {}, h("span", {}, questionText(data, round.question)), h("span", {}, "you ", answerWord(round.yes), " table ", answerWord(!round.yes))))),
    );
  }

  function tableAnswer(keyword: number, question: number): number {
    return data.answers[keyword * data.questions.length + question];
  }

  return { element, show };
}
