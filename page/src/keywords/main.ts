// The page of LLM 20 Questions: reads the data and opens the views on it.
import { h, name, plural } from "../common/dom";
import { begin, shell } from "../common/shell";
import { decode } from "./data";
import { parseGame } from "./game";
import { Player } from "./model";
import { playView } from "./play";
import { watchView } from "./watch";

begin((app, text) => {
  const data = decode(text);
  const player = new Player(data);
  const page = shell();
  const context = { ...page, data, player };
  page.open(app, {
    title: "Wilkins",
    about: [`LLM 20 Questions \u00b7 ${plural(data.keywords.length, "keyword")}, ${plural(data.questions.length, "question")}`, " \u00b7 ", name(data.package)],
    aside: [h("span", { class: "only clip" }, name(data.agent))],
    foot: [h("p", {}, `The agent asks and guesses as its file does, told nothing of how often its partner errs: ${data.agent}.`)],
    tabs: [
      ["play", "Play", () => playView(context)],
      ["watch", "Watch", () => watchView(context)],
    ],
    carried: () => ({}),
    arrive: () => {},
  });
  // For the console: the page's data and its computations.
  Object.assign(window, { wilkins: { data, player, parseGame } });
}, "wilkins keywords view");
