// Compare: the same figures, curves, trees and paths of all policies side by side, the chosen one first.
import { frame, seriesMark } from "../common/chart";
import { answerWord, fill, h, name, percent, plural, signed } from "../common/dom";
import { finder, named } from "../common/finder";
import { saver } from "../common/save";
import type { View } from "../common/view";
import { callsOf, callsTable, callsWhenFound, curves, curvesTable, histogram } from "./chart";
import type { Context } from "./context";
import { ASK, GUESS, type Policy } from "./data";
import { draw, palette, windowOf } from "./icicle";
import { onCanvas } from "./surface";
import { animalOf, animalOptions, endingText, howToRead, nothingOf, noiseText, SHAKY, stepText } from "./words";

export function compareView(context: Context): View {
  const { data, model } = context;
  if (data.policies.length < 2) {
    return {
      element: h(
        "section",
        { class: "compare", "aria-label": "Compare" },
        h("div", { class: "card empty" }, h("h2", {}, "One policy is here"), h("p", {}, "Name two or more to see them side by side:"), h("pre", { tabindex: "0" }, "wilkins view runs/first runs/second")),
      ),
      show: () => undefined,
    };
  }

  const options = animalOptions(data);
  const labelled = (policy: Policy): HTMLElement => h("span", { class: "policy-name" }, seriesMark(data.policies.indexOf(policy)), name(policy.name));
  const mean = (array: Float32Array): number => array.reduce((sum, value) => sum + value, 0) / array.length;
  const rounded = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : "none");
  const figures: { title: string; of(policy: Policy): number; show(value: number): string; best: 1 | -1 | 0 }[] = [
    { title: `Score at ${noiseText(data)}`, of: (policy) => 100 * mean(policy.score), show: rounded, best: 1 },
    { title: "Below the limit", of: (policy) => data.limit.score - 100 * mean(policy.score), show: rounded, best: -1 },
    { title: "Score as measured", of: (policy) => policy.measured, show: rounded, best: 1 },
    { title: "Rounds lost", of: (policy) => 1 - mean(policy.solved), show: percent, best: -1 },
    { title: "Mean calls", of: (policy) => mean(policy.calls), show: rounded, best: -1 },
    { title: "Calls when found", of: (policy) => callsWhenFound(callsOf(model, policy, true)), show: rounded, best: 0 },
    { title: "Nodes", of: (policy) => policy.kind.length, show: (v) => v.toLocaleString("en"), best: 0 },
    { title: "Deepest call", of: (policy) => model.tree(policy).deepest, show: String, best: 0 },
  ];

  let policies: Policy[] = [];
  let canvases: HTMLCanvasElement[] = [];
  const table = h("table", { class: "versus" });
  const keys = h("p", { class: "keys" });
  const lines = frame();
  const calls = h("div", { class: "side" });
  const trees = h("div", { class: "side" });
  const against = h("select", { id: "against", onchange: () => { context.adjust({ against: against.selectedIndex === 0 ? "" : policies[1 + against.selectedIndex].name }); differences(); } });
  const versus = h("p", { class: "dim versus-line" });
  const diverging = h("div", { class: "pair" });
  const paths = h("div", { class: "side" });
  const search = finder("Animal", "an animal to follow in all", options, (found) => context.go(context.link("compare", found.label)));

  const element = h(
    "section",
    { class: "compare", "aria-label": "Compare" },
    howToRead(
      context,
      ["The policy that is chosen above comes first, and is the one that the others are set against. A mark stands before the best of a row; equal figures have none."],
      ["score", "limit", "noise", "when found", "shaky"],
    ),
    h(
      "div",
      { class: "beside" },
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Figures"), saver({ stem: "figures", what: "the figures", csv: () => [["", ...policies.map((policy) => policy.name)], ...figures.map((figure) => [figure.title, ...policies.map(figure.of)])] })), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" }, table)),
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Score against noise"), saver({ stem: "noise", what: "the score against noise", svg: () => lines.element.querySelector("svg"), csv: () => curvesTable(data, policies) })), keys, lines.element),
    ),
    h("div", { class: "card" }, h("h2", {}, `Calls at ${noiseText(data)}`), calls),
    h("div", { class: "card" }, h("h2", {}, "Whole policies"), trees),
    h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Where they differ"), versus), diverging),
    h("div", { class: "card" }, h("h2", {}, "One animal in all"), search.element, paths),
  );

  /** Everything that follows from which policy comes first. */
  function arrange(): void {
    policies = [context.policy, ...data.policies.filter((policy) => policy !== context.policy)];
    fill(
      table,
      h("thead", {}, h("tr", {}, h("td", {}), ...policies.map((policy) => h("th", { scope: "col" }, labelled(policy))))),
      h(
        "tbody",
        {},
        ...figures.map((figure) => {
          const values = policies.map(figure.of);
          const texts = values.map(figure.show);
          const winner = figure.show(figure.best === 1 ? Math.max(...values) : Math.min(...values));
          const tie = texts.every((text) => text === winner);
          return h("tr", {}, h("th", { scope: "row" }, figure.title), ...texts.map((text) => h("td", { class: `number${figure.best && !tie && text === winner ? " best" : ""}` }, text)));
        }),
      ),
    );
    fill(keys, ...policies.map(labelled));
    lines.show((width) => curves(data, policies, width));
    const all = policies.map((policy) => callsOf(model, policy, true));
    const highest = Math.max(...all.flatMap(({ solved, lost }) => [...solved, lost]));
    fill(
      calls,
      ...policies.map((policy, i) => {
        const chart = frame();
        chart.show((width) => histogram(data, all[i], `Calls of ${policy.name}`, width, highest));
        return h("div", {}, labelled(policy), chart.element, saver({ stem: "calls", what: `the calls of ${policy.name}`, svg: () => chart.element.querySelector("svg"), csv: () => callsTable(data, all[i]) }));
      }),
    );
    canvases = policies.map((policy) => h("canvas", { role: "img", "aria-label": `The tree of ${policy.name}` }));
    fill(
      trees,
      ...policies.map((policy, i) => {
        const address = policy === data.policies[0] ? "#policy" : `#policy&of=${encodeURIComponent(policy.name)}`;
        return h("figure", {}, h("figcaption", {}, h("a", { href: address }, labelled(policy))), h("div", { class: "thumb" }, canvases[i]));
      }),
    );
    fill(against, ...policies.slice(1).map((policy) => h("option", {}, policy.name)));
    fill(versus, name(policies[0].name), " against ", policies.length > 2 ? h("label", { class: "inline" }, h("span", { class: "offscreen" }, "Other policy"), against) : name(policies[1].name));
    thumbnails();
  }

  function differences(): void {
    const [a, b] = [policies[0], policies[1 + Math.max(0, against.selectedIndex)]];
    const gap = Array.from({ length: model.n }, (_, id) => ({ id, by: 100 * (a.score[id] - b.score[id]) })).sort((x, y) => y.by - x.by);
    const list = (entries: typeof gap, policy: Policy): HTMLElement =>
      h(
        "div",
        {},
        h("h3", {}, "Better in ", name(policy.name)),
        h(
          "ol",
          { class: "gaps" },
          ...entries.map(({ id, by }) => h("li", {}, h("a", { href: context.link("compare", animalOf(data, id)) }, name(animalOf(data, id))), h("span", { class: "figure" }, signed(by, 1)), h("span", { class: "dim" }, `${(100 * a.score[id]).toFixed(1)} against ${(100 * b.score[id]).toFixed(1)}`))),
          entries.length === 0 && h("li", { class: "empty" }, "None."),
        ),
      );
    fill(diverging, list(gap.filter((g) => g.by > 0.05).slice(0, 6), a), list(gap.filter((g) => g.by < -0.05).slice(-6).reverse(), b));
  }

  function follow(value: string): void {
    const found = named(options, value);
    if (!value.trim()) fill(paths, h("p", { class: "empty" }, "Choose an animal to see each policy\u2019s path to it."));
    else if (!found || found.absent) fill(paths, nothingOf(data, options, value, found, (label) => context.link("compare", label)));
    else {
      fill(
        paths,
        ...policies.map((policy) => {
          const round = model.measured(policy)[found.id];
          return h(
            "div",
            {},
            labelled(policy),
            h("p", {}, endingText(round, data.cost)),
            h(
              "ol",
              { class: "short", "aria-label": plural(round.steps.length, "call") },
              ...round.steps.map((step) => h("li", { class: step.kind === GUESS ? "guess" : "" }, h("span", {}, stepText(data, step.kind, step.value)), " ", answerWord(step.yes), step.kind === ASK && model.flip(found.id, step.value) >= SHAKY && h("span", { class: "note" }, " \u26a0 shaky"))),
            ),
          );
        }),
      );
    }
  }

  function thumbnails(): void {
    const colours = palette();
    canvases.forEach((canvas, i) => {
      const box = { width: canvas.clientWidth, height: canvas.clientHeight };
      if (!box.width) return;
      const tree = model.tree(policies[i]);
      const rows = Math.max(...policies.map((policy) => windowOf(model.tree(policy), 0, { width: box.width, height: 0 }).rows));
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
      const pen = canvas.getContext("2d", { alpha: false })!;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(onCanvas(pen, colours), data, tree, { ...windowOf(tree, 0, box), rows }, box, colours, "call", null, -1);
    });
  }

  new ResizeObserver(thumbnails).observe(element);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(query).addEventListener("change", thumbnails);
  return {
    element,
    show: (value, parameters) => {
      if (policies[0] !== context.policy) arrange();
      against.selectedIndex = Math.max(0, policies.slice(1).findIndex((policy) => policy.name === parameters.get("against")));
      differences();
      search.set(value);
      follow(value);
    },
  };
}
