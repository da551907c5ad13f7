// Compare: the same figures, curves, trees and paths of all policies side by side.
import { frame, seriesMark } from "../common/chart";
import { answerWord, fill, h, percent, signed } from "../common/dom";
import { finder } from "../common/finder";
import type { View } from "../common/view";
import { callsOf, curves, histogram } from "./chart";
import type { Context } from "./context";
import { ASK, GUESS, type Policy } from "./data";
import { draw, palette, windowOf } from "./icicle";
import { animalOptions, endingText, SHAKY, stepText } from "./words";

export function compareView(context: Context): View {
  const { data, model } = context;
  const { policies } = data;
  if (policies.length < 2) {
    return {
      element: h(
        "section",
        { class: "compare", "aria-label": "Compare" },
        h("div", { class: "card empty" }, h("h2", {}, "One policy is here"), h("p", {}, "Name two or more to see them side by side:"), h("pre", {}, "wilkins view runs/first runs/second")),
      ),
      show: () => undefined,
    };
  }

  const mean = (array: Float32Array): number => array.reduce((sum, value) => sum + value, 0) / array.length;
  const name = (policy: Policy): HTMLElement => h("span", { class: "policy-name" }, seriesMark(data.policies.indexOf(policy)), policy.name);
  const figures: { title: string; of(policy: Policy): number; show(value: number): string; best: 1 | -1 | 0 }[] = [
    { title: `Score at noise ${data.noise}`, of: (policy) => 100 * mean(policy.score), show: (v) => v.toFixed(2), best: 1 },
    { title: "Below the limit", of: (policy) => data.limit.score - 100 * mean(policy.score), show: (v) => v.toFixed(2), best: -1 },
    { title: "Score as measured", of: (policy) => policy.measured, show: (v) => v.toFixed(2), best: 1 },
    { title: "Rounds lost", of: (policy) => 1 - mean(policy.solved), show: percent, best: -1 },
    { title: "Mean calls", of: (policy) => mean(policy.calls), show: (v) => v.toFixed(2), best: -1 },
    { title: "Nodes", of: (policy) => policy.kind.length, show: (v) => v.toLocaleString("en"), best: 0 },
    { title: "Deepest call", of: (policy) => Math.min(data.budget, model.tree(policy).deepest + 1), show: String, best: 0 },
  ];
  const table = h(
    "table",
    { class: "versus" },
    h("thead", {}, h("tr", {}, h("td", {}), ...policies.map((policy) => h("th", { scope: "col" }, name(policy))))),
    h(
      "tbody",
      {},
      ...figures.map((figure) => {
        const values = policies.map(figure.of);
        const shownValues = values.map(figure.show);
        const top = figure.best === 1 ? Math.max(...values) : Math.min(...values);
        const winner = figure.show(top);
        const tie = shownValues.every((text) => text === winner);
        return h("tr", {}, h("th", { scope: "row" }, figure.title), ...shownValues.map((text) => h("td", { class: `number${figure.best && !tie && text === winner ? " best" : ""}` }, text)));
      }),
    ),
  );
  const calls = policies.map((policy) => callsOf(model, policy, true));
  const highest = Math.max(...calls.flatMap(({ solved, lost }) => [...solved, lost]));
  const lines = frame();
  lines.show((width) => curves(data, policies, width));
  const charts = policies.map((policy, i) => {
    const chart = frame();
    chart.show((width) => histogram(data, calls[i], `Calls of ${policy.name}`, width, highest));
    return chart;
  });
  const canvases = policies.map((policy) => h("canvas", { role: "img", "aria-label": `The tree of ${policy.name}` }));

  const against = h("select", { id: "against", onchange: () => differences() }, ...policies.slice(1).map((policy) => h("option", {}, policy.name)));
  const diverging = h("div", { class: "pair" });
  const paths = h("div", { class: "side" });
  const search = finder("Animal", "an animal to follow in all", animalOptions(data), (found) => context.go(context.link("compare", found.label)));

  const element = h(
    "section",
    { class: "compare", "aria-label": "Compare" },
    h("div", { class: "beside" }, h("div", { class: "card" }, h("h2", {}, "Figures"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" }, table)),
    h("div", { class: "card" }, h("h2", {}, "Score against noise"), h("p", { class: "keys" }, ...policies.map(name)), lines.element)),
    h("div", { class: "card" }, h("h2", {}, `Calls at noise ${data.noise}`), h("div", { class: "side" }, ...policies.map((policy, i) => h("div", {}, name(policy), charts[i].element)))),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Whole policies"),
      h("div", { class: "side" }, ...policies.map((policy, i) => h("figure", {}, h("figcaption", {}, h("a", { href: `#policy&of=${encodeURIComponent(policy.name)}` }, name(policy))), h("div", { class: "thumb" }, canvases[i])))),
    ),
    h(
      "div",
      { class: "card" },
      h("div", { class: "title" }, h("h2", {}, "Where they differ"), h("p", { class: "dim" }, `${policies[0].name} against `, policies.length > 2 ? h("label", { class: "inline" }, h("span", { class: "offscreen" }, "Other policy"), against) : policies[1].name)),
      diverging,
    ),
    h("div", { class: "card" }, h("h2", {}, "One animal in all"), search.element, paths),
  );

  function differences(): void {
    const [a, b] = [policies[0], policies[1 + Math.max(0, against.selectedIndex)]];
    const gap = Array.from({ length: model.n }, (_, id) => ({ id, by: 100 * (a.score[id] - b.score[id]) })).sort((x, y) => y.by - x.by);
    const list = (entries: typeof gap, title: string): HTMLElement =>
      h(
        "div",
        {},
        h("h3", {}, title),
        h(
          "ol",
          { class: "gaps" },
          ...entries.map(({ id, by }) => h("li", {}, h("a", { href: context.link("compare", data.animals[data.candidates[id]]) }, data.animals[data.candidates[id]]), h("span", { class: "figure" }, signed(by, 1)), h("span", { class: "dim" }, `${(100 * a.score[id]).toFixed(1)} against ${(100 * b.score[id]).toFixed(1)}`))),
          entries.length === 0 && h("li", { class: "empty" }, "None."),
        ),
      );
    fill(diverging, list(gap.filter((g) => g.by > 0.05).slice(0, 6), `Better in ${a.name}`), list(gap.filter((g) => g.by < -0.05).slice(-6).reverse(), `Better in ${b.name}`));
  }

  function follow(value: string): void {
    const at = animalOptions(data).find((option) => option.label === value.toLowerCase());
    if (!at) {
      fill(paths, h("p", { class: "empty" }, value ? `No animal called \u201c${value}\u201d here.` : "Choose an animal to see each policy\u2019s path to it."));
      return;
    }
    fill(
      paths,
      ...policies.map((policy) => {
        const round = model.measured(policy)[at.id];
        return h(
          "div",
          {},
          name(policy),
          h("p", {}, endingText(round, data.cost)),
          h(
            "ol",
            { class: "short" },
            ...round.steps.map((step) => h("li", { class: step.kind === GUESS ? "guess" : "" }, h("span", {}, stepText(data, step.kind, step.value)), " ", answerWord(step.yes), step.kind === ASK && model.flip(at.id, step.value) >= SHAKY && h("span", { class: "note" }, " \u26a0 shaky"))),
          ),
        );
      }),
    );
  }

  function thumbnails(): void {
    const colours = palette();
    canvases.forEach((canvas, i) => {
      const box = canvas.parentElement!.getBoundingClientRect();
      if (!box.width) return;
      const tree = model.tree(policies[i]);
      const rows = Math.max(...policies.map((policy) => windowOf(model.tree(policy), 0, { width: box.width, height: 0 }).rows));
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      const pen = canvas.getContext("2d", { alpha: false })!;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(pen, data, tree, { ...windowOf(tree, 0, box), rows }, box, colours, "call", null, -1);
    });
  }

  new ResizeObserver(thumbnails).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", thumbnails);
  differences();
  return {
    element,
    show: (value) => {
      search.set(value);
      follow(value);
    },
  };
}
