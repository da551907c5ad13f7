// The animal page: reads the data and opens the views on it.
import { h, name, plural } from "../common/dom";
import { begin, shell } from "../common/shell";
import { article } from "../common/text";
import { compareView } from "./compare";
import type { Context } from "./context";
import { decode } from "./data";
import { palette } from "./icicle";
import { lossesView } from "./losses";
import { Model } from "./model";
import { playView } from "./play";
import { policyView } from "./policy";
import { watchView } from "./watch";
import { noiseText } from "./words";

begin((app, text) => {
  const data = decode(text);
  const model = new Model(data);
  const page = shell();
  const context: Context = { ...page, data, model, policy: data.policies[0] };
  const chooser = h(
    "select",
    {
      id: "chooser",
      onchange: () => {
        const [view, value] = page.current();
        const kept = Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([key]) => key !== view && key !== "of" && key !== "against"));
        context.policy = data.policies[chooser.selectedIndex];
        // Answers belong to one policy's questions; an animal, a filter and a colouring to all of them.
        context.go(context.link(view, view === "play" || view === "policy" ? "" : value, kept), true);
      },
    },
    ...data.policies.map((policy) => h("option", {}, policy.name)),
  );
  page.open(app, {
    title: "Wilkins",
    about: [`${plural(data.candidates.length, "animal")}, ${plural(data.questions.length, "question")}`, " \u00b7 ", name(data.package), ` \u00b7 ${noiseText(data).replace(" ", "\u00a0")}, ${data.source}`],
    aside: data.policies.length > 1 ? [h("label", { for: "chooser" }, "Policy"), chooser] : [h("span", { class: "only clip" }, name(data.policies[0].name))],
    foot: [
      h("p", {}, "Answers: ", name(data.model || "a measured matrix"), `. Scores are mean round scores \u00d7 100; the limit for ${plural(data.candidates.length, "animal")} is ${data.limit.score.toFixed(2)}.`),
      h("p", {}, "Drawn with D3; its licences (ISC, BSD-3-Clause) stand at the end of this file."),
    ],
    tabs: [
      ["play", "Play", () => playView(context)],
      ["watch", "Watch", () => watchView(context)],
      ["policy", "Policy", () => policyView(context)],
      ["losses", "Losses", () => lossesView(context)],
      ["compare", "Compare", () => compareView(context)],
    ],
    carried: () => (context.policy === data.policies[0] ? {} : { of: context.policy.name }) as Record<string, string>,
    arrive: (parameters) => {
      context.policy = data.policies.find((policy) => policy.name === parameters.get("of")) ?? data.policies[0];
      chooser.selectedIndex = data.policies.indexOf(context.policy);
    },
  });
  // For the console: the page's data and its computations.
  Object.assign(window, { wilkins: { data, model, palette, article, opened: performance.now() } });
}, "wilkins view");
