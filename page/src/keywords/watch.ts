// Watch: a whole game of the real environment from its JSON file, with the belief after each answer.
import { about, answerWord, fill, figureList, h, name, plural } from "../common/dom";
import { sentence } from "../common/text";
import type { Navigation, View } from "../common/view";
import { parseGame, readAnswer, same, type Game, type Pair } from "./game";
import type { Answered } from "./model";
import { beliefList, effectiveNumber, howToRead, type Context } from "./words";

export function watchView({ data, player, ...page }: Context & Navigation): View {
  const places = new Map(data.questions.map((question, place) => [question.toLowerCase(), place]));
  let game: Game | undefined;
  let from = "";
  let shown = 0;
  const body = h("div", { class: "game" });
  const message = h("p", { class: "message", role: "status" });
  const input = h("input", {
    type: "file",
    accept: ".json,application/json",
    id: "game-file",
    onchange: () => {
      const file = input.files?.[0];
      if (!file) return;
      void file.text().then((text) => {
        input.value = ""; // the same file can be chosen again
        take(text, file.name);
      });
    },
  });
  const element = h(
    "section",
    { class: "watch", "aria-label": "Watch" },
    h("p", { class: "lead" }, "A whole game of the real environment, both pairs: choose the JSON of ", h("code", {}, "env.toJSON()"), "."),
    howToRead(data, ["Each row is a round: what was asked, answered and guessed; beside it what this page\u2019s agent would then believe. Questions that its table does not hold leave the belief as it is."]),
    h("p", { class: "choose" }, h("label", { for: "game-file" }, "Game"), input),
    message,
    body,
  );

  function take(text: string, file: string): void {
    try {
      game = parseGame(text, file);
      from = file;
      fill(message, "");
    } catch (error) {
      fill(message, (error as Error).message);
      return;
    }
    draw();
  }

  function show(value: string): void {
    shown = value === "2" ? 1 : 0;
    if (!game && data.game) take(data.game.text, data.game.name);
    else draw();
  }

  function draw(): void {
    if (!game) {
      fill(body, h("div", { class: "card empty" }, h("p", {}, "No game yet.")));
      return;
    }
    const choice = h(
      "div",
      { class: "segments", role: "group", "aria-label": "Pair" },
      h("span", { class: "dim", "aria-hidden": "true" }, "Pair"),
      ...game.pairs.map((_, at) => h("button", { type: "button", "aria-pressed": String(at === shown), onclick: () => page.go(page.link("watch", String(at + 1)), true) }, String(at + 1))),
    );
    fill(body, choice, ...path(game, game.pairs[shown]));
  }

  function path(played: Game, pair: Pair): HTMLElement[] {
    const hidden = data.keywords.findIndex((keyword) => same(keyword, played.keyword));
    const table: Answered[] = [];
    const wrong: number[] = [];
    const items = pair.questions.map((question, i) => {
      const answer = pair.answers[i];
      const yes = answer === undefined ? undefined : readAnswer(answer);
      const place = places.get(question.trim().toLowerCase());
      if (place !== undefined && yes !== undefined) table.push([place, yes]);
      const belief = player.belief(player.weigh(table, wrong));
      const guess = pair.guesses[i];
      const right = pair.wonIn === i + 1;
      const guessed = guess === undefined ? -1 : data.keywords.findIndex((keyword) => same(keyword, guess));
      if (guessed >= 0 && !right) wrong.push(guessed);
      return h(
        "li",
        { class: "step ask" },
        h("div", { class: "head" }, h("span", { class: "call" }, i + 1), h("h3", {}, name(sentence(question || "(nothing asked)"))), answer === undefined ? null : yes === undefined ? h("span", { class: "answer unknown" }, "no answer") : answerWord(yes)),
        h(
          "div",
          { class: "facts" },
          h("p", {}, guess === undefined ? "no guess" : h("span", {}, "guess: ", name(guess || "(nothing)"), right ? " \u2014 right" : " \u2014 wrong")),
          h("p", { class: "dim" }, `about ${about(effectiveNumber(belief))} keywords left${place === undefined ? " \u00b7 not in the table" : ""}`),
        ),
        beliefList(data, belief, 4, hidden),
      );
    });
    return [
      h(
        "div",
        { class: "result card" },
        h("h2", {}, name(played.keyword ? sentence(played.keyword) : "Keyword not shown")),
        h("p", { class: "verdict" }, pair.wonIn === null ? `Not found in ${plural(pair.guesses.length, "guess", "guesses")}` : `Found in round ${pair.wonIn}`, hidden < 0 ? "; it is not among this page\u2019s keywords" : ""),
        figureList([
          ["Paid", pair.reward === null ? "nothing: an error" : String(pair.reward).replace("-", "\u2212")],
          ["Category", played.category || "\u2014"],
          ["Questions in the table", `${pair.questions.filter((question) => places.has(question.trim().toLowerCase())).length} of ${pair.questions.length}`],
        ]),
        h("p", { class: "dim" }, name(from)),
      ),
      h("ol", { class: "path" }, ...items),
    ];
  }

  return { element, show };
}
