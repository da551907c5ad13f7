// The whole policy: an icicle to zoom, search and read.
import { easeCubicInOut } from "d3-ease";
import { frame, seriesMark } from "../common/chart";
import { fill, h, level, name, percent, plural } from "../common/dom";
import { finder, named } from "../common/finder";
import { saver } from "../common/save";
import { sentence } from "../common/text";
import type { View } from "../common/view";
import { trainingCurves, trainingScores, trainingTable } from "./chart";
import type { Context } from "./context";
import { ASK, GUESS, STOP, type Policy } from "./data";
import { draw, label, palette, pick, range, windowOf, type Colouring, type Palette, type Window } from "./icicle";
import { ROOT, YES, type Step, type Tree } from "./model";
import { onCanvas, onSvg, type Surface } from "./surface";
import { animalOf, animalOptions, beliefList, howToRead } from "./words";

const ZOOM_MS = 380;

export function policyView(context: Context): View {
  const { data, model } = context;
  let tree: Tree = model.tree(context.policy);
  let colours: Palette = palette();
  // The row already says which call it is.
  let colouring: Colouring = "score";
  let focus = 0;
  let cursor = -1;
  let lit: Float64Array | null = null;
  let litName = "";
  let shown: Window | null = null;
  let moving = 0;

  const canvas = h("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "icicle chart",
    "aria-label": "The policy's tree. Arrow keys move, Enter zooms in, Escape zooms out, Home goes to the first call.",
  });
  const pen = canvas.getContext("2d", { alpha: false })!;
  let surface: Surface;
  const crumbs = h("ol", { class: "crumbs" });
  const detail = h("div", { class: "detail card" });
  const facts = h("p", { class: "dim facts-line" });
  const litLine = h("p", { class: "lit-line", role: "status" });
  const options = [
    ...animalOptions(data),
    ...data.questions.map((question, id) => ({ label: sentence(question), kind: "question", id })),
  ];
  const search = finder("Light up", "an animal or a question", options, (found) => go(focus, found.label));
  const clear = h("button", { type: "button", class: "quiet", onclick: () => { if (litName) go(focus, ""); } }, "Clear");
  const legend = h("div", { class: "legend" });
  const modes = (["score", "call"] as const).map((mode) =>
    h("button", { type: "button", "aria-pressed": String(mode === colouring), onclick: () => { recolour(mode); context.adjust({ colour: mode === "score" ? "" : mode }); } }, mode === "call" ? "Call" : "Expected score"),
  );
  const training = h("div", {});
  const element = h(
    "section",
    { class: "policy", "aria-label": "Policy" },
    h("p", { class: "lead" }, "The first call is on top, each row one call later. Width is probability: \u201cyes\u201d to the left, \u201cno\u201d to the right, and where a guess is right the round ends."),
    howToRead(
      context,
      [
        "Click a call to make it fill the picture, click it again to step out; the path above leads back. By keyboard: arrow keys move, Enter zooms in, Escape out, Home to the first call.",
        "A half-high box is a guess. Stripes are rounds that end without the animal. Light up an animal to see where its rounds go, or a question to see where it is asked.",
      ],
      ["call", "score", "noise", "belief", "limit"],
    ),
    h(
      "div",
      { class: "controls" },
      search.element,
      clear,
      h("div", { class: "segments", role: "group", "aria-label": "Colour shows" }, h("span", { class: "dim" }, "Colour"), ...modes),
    ),
    h("nav", { "aria-label": "Path to the shown part" }, crumbs),
    h("div", { class: "whole" }, h("div", {}, h("div", { class: "chart" }, canvas), h("div", { class: "under" }, legend, saver({ stem: "policy", what: "the tree", svg: picture, csv: table })), facts, litLine), detail),
    training,
  );

  const size = { width: 0, height: 0 };
  new ResizeObserver(() => {
    if (canvas.clientWidth === 0) return;
    const ratio = window.devicePixelRatio || 1;
    size.width = canvas.clientWidth;
    size.height = canvas.clientHeight;
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    surface = onCanvas(pen, colours);
    shown = windowOf(tree, focus, size);
    paint();
  }).observe(element);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", () => {
      colours = palette();
      if (size.width) surface = onCanvas(pen, colours);
      describeLegend();
      paint();
    });
  }

  function paint(): void {
    if (shown && size.width) draw(surface, data, tree, shown, size, colours, colouring, lit, cursor);
  }

  function picture(): SVGSVGElement | null {
    if (!shown || !size.width) return null;
    const svg = onSvg(size.width, size.height, `${context.policy.name}: ${label(data, tree, focus)}`, colours);
    draw(svg, data, tree, windowOf(tree, focus, size), size, colours, colouring, lit, -1);
    return svg.svg;
  }

  /** The shown part as rows, one for each place. */
  function table(): (string | number)[][] {
    const rows: (string | number)[][] = [["answers", "call", "kind", "question or animal", "share of rounds", "expected score"]];
    for (let i = focus; i < tree.end[focus]; i++) {
      const kind = tree.kind[i];
      rows.push([tree.answers(i), tree.depth[i] + (kind === STOP ? 0 : 1), kind === ASK ? "question" : kind === GUESS ? "guess" : "not found", kind === STOP ? "" : kind === ASK ? data.questions[tree.value[i]] : data.animals[tree.value[i]], tree.width[i], 100 * tree.score[i]]);
    }
    return rows;
  }

  function zoom(): void {
    cancelAnimationFrame(moving);
    const from = shown;
    const to = windowOf(tree, focus, size);
    if (!from || !size.width || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      shown = to;
      paint();
      return;
    }
    const began = performance.now();
    const step = (now: number): void => {
      const t = Math.min(1, Math.max(0, now - began) / ZOOM_MS);
      const e = easeCubicInOut(t);
      const mix = (a: number, b: number): number => a + (b - a) * e;
      // Widths change by a constant factor per frame, so that a deep zoom does not rush at its end.
      const wide = Math.exp(mix(Math.log(from.x1 - from.x0), Math.log(to.x1 - to.x0)));
      const spread = to.x1 - to.x0 - (from.x1 - from.x0);
      const share = Math.abs(spread) < 1e-12 ? e : (wide - (from.x1 - from.x0)) / spread;
      const x0 = from.x0 + (to.x0 - from.x0) * share;
      shown = t === 1 ? to : { x0, x1: x0 + wide, top: mix(from.top, to.top), rows: mix(from.rows, to.rows) };
      paint();
      if (t < 1) moving = requestAnimationFrame(step);
    };
    moving = requestAnimationFrame(step);
  }

  function go(node: number, light = litName): void {
    context.go(at(node, light));
  }

  /** Address of a node with what is lit and how it is coloured. */
  function at(node: number, light = litName): string {
    return context.link("policy", tree.answers(node), { ...(light && { lit: light }), ...(colouring !== "score" && { colour: colouring }) });
  }

  function recolour(mode: Colouring): void {
    colouring = mode;
    modes.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0 ? "score" : "call") === mode)));
    describeLegend();
    paint();
  }

  function describeLegend(): void {
    const between = range(tree, colouring);
    const ramp = `linear-gradient(90deg, ${colours.fill[colouring].at(-1)!.filter((_, i) => i % 9 === 0).join(", ")})`;
    fill(
      legend,
      ...(between ? [h("span", { class: "ramp", "--ramp": ramp, "aria-hidden": "true" }), h("span", {}, `${colouring === "call" ? "call" : "expected score"} ${between.join(" to ")}`), h("span", { class: "keyed" }, h("span", { class: "key guess", "aria-hidden": "true" }), "a guess")] : [h("span", {}, "No call is made.")]),
      h("span", { class: "keyed" }, h("span", { class: "key lost", "aria-hidden": "true" }), "not found"),
    );
  }

  function describeTraining(): void {
    const { policy } = context;
    const scores = trainingScores(policy);
    if (policy.training.length < 2 || scores.length === 0) {
      fill(training);
      return;
    }
    const chart = frame();
    chart.show((width) => trainingCurves(data, policy, width));
    fill(
      training,
      h(
        "div",
        { class: "card training" },
        h("div", { class: "title" }, h("h2", {}, "While its agent was trained"), saver({ stem: "training", what: "the training curves", svg: () => chart.element.querySelector("svg"), csv: () => trainingTable(policy) })),
        h("p", { class: "keys" }, ...scores.map((score, place) => h("span", { class: "policy-name" }, seriesMark(place), score.replaceAll("_", " ")))),
        chart.element,
        h("p", { class: "dim" }, `Scores of the agent alone at each evaluation. The policy was made from the best one${policy.assumed.doubt > 0 ? `, takes ${percent(policy.assumed.doubt)} of the answers to be noisier than ${level(policy.assumed.noise)}` : ""} and may look ahead.`),
      ),
    );
  }

  function light(wanted: string): void {
    litName = wanted;
    lit = null;
    litLine.textContent = "";
    clear.setAttribute("aria-disabled", String(!wanted));
    const found = named(options, wanted);
    if (!found || found.absent) {
      if (found) fill(litLine, name(sentence(found.label)), " is in the pool, but no round hides it.");
      else if (wanted) fill(litLine, "Nothing called \u201c", name(wanted), "\u201d.");
      return;
    }
    if (found.kind === "animal") {
      lit = model.passing(context.policy, found.id);
      let places = 0;
      for (let i = 0; i < tree.size; i++) if (tree.kind[i] === GUESS && tree.value[i] === data.candidates[found.id]) places++;
      fill(litLine, name(found.label), `: guessed at ${plural(places, "place")}, found in ${percent(context.policy.solved[found.id])} of its rounds.`);
    } else {
      lit = new Float64Array(tree.size);
      let places = 0;
      let reach = 0;
      for (let i = 0; i < tree.size; i++) {
        if (tree.kind[i] !== ASK || tree.value[i] !== found.id) continue;
        lit[i] = 1;
        places++;
        if (!tree.repeat[i]) reach += tree.width[i];
      }
      litLine.textContent = places ? `Asked at ${plural(places, "place")}, in ${percent(Math.min(1, reach))} of rounds.` : "This policy never asks it.";
    }
  }

  function stepsTo(node: number): Step[] {
    const steps: Step[] = [];
    for (let i = node; tree.parent[i] >= 0; i = tree.parent[i]) {
      const parent = tree.parent[i];
      steps.unshift({ node: tree.node[parent], kind: tree.kind[parent], value: tree.value[parent], yes: tree.edge[i] === YES });
    }
    return steps;
  }

  function describe(node: number): void {
    const belief = model.belief(context.policy, stepsTo(node));
    const kind = tree.kind[node];
    const answers = tree.answers(node);
    const yes = tree.child(node, YES);
    const mass = tree.width[node];
    const shares =
      kind === ASK
        ? `${percent(yes < 0 ? 0 : tree.width[yes] / mass)} answer yes`
        : kind === GUESS
          ? `right in ${percent(1 - below(node) / mass)}`
          : "the round ends unsolved";
    fill(
      detail,
      h(
        "div",
        {},
        h("p", { class: "eyebrow" }, kind === STOP ? `After ${plural(tree.depth[node], "call")}` : `Call ${tree.depth[node] + 1} \u00b7 ${kind === GUESS ? "guess" : "question"}`),
        h("h2", {}, label(data, tree, node)),
        h("p", {}, `Reached in ${percent(mass)} of rounds; ${shares}. Expected score from here ${(100 * tree.score[node]).toFixed(1)}.`),
        h("p", {}, h("a", { href: context.link("play", answers) }, "Play from here"), " \u00b7 ", h("a", { href: context.link("watch", animalOf(data, tree.likeliest[node])) }, "Watch ", name(animalOf(data, tree.likeliest[node])))),
      ),
      h("div", {}, h("p", { class: "eyebrow" }, "Likeliest here"), beliefList(data, belief, model.likeliest(belief, 5))),
    );
  }

  function below(node: number): number {
    let sum = 0;
    for (let c = node + 1; c < tree.end[node]; c = tree.end[c]) sum += tree.width[c];
    return sum;
  }

  function breadcrumbs(): void {
    const chain: number[] = [];
    for (let i = focus; i >= 0; i = tree.parent[i]) chain.unshift(i);
    fill(
      crumbs,
      ...chain.map((node, place) =>
        h(
          "li",
          {},
          tree.edge[node] === ROOT ? null : h("span", { class: `edge ${tree.edge[node] === YES ? "yes" : "no"}` }, tree.edge[node] === YES ? "yes" : "no"),
          place === chain.length - 1
            ? h("span", { class: "clip", "aria-current": "true" }, name(label(data, tree, node)))
            : h("a", { class: "clip", href: at(node) }, name(label(data, tree, node))),
        ),
      ),
    );
    crumbs.scrollLeft = crumbs.scrollWidth;
  }

  function under(event: MouseEvent): number {
    if (!shown) return -1;
    const box = canvas.getBoundingClientRect();
    const x = shown.x0 + ((event.clientX - box.left) / box.width) * (shown.x1 - shown.x0);
    const depth = Math.floor(shown.top + ((event.clientY - box.top) / box.height) * shown.rows);
    return pick(tree, x, depth);
  }

  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const node = under(event);
    canvas.style.cursor = node >= 0 ? "pointer" : "default";
    if (node !== cursor) {
      cursor = node;
      paint();
      describe(node >= 0 ? node : focus);
    }
  });
  canvas.addEventListener("pointerleave", () => {
    cursor = -1;
    paint();
    describe(focus);
  });
  canvas.addEventListener("click", (event) => {
    const node = under(event);
    // A second click on the shown part steps out, as in most icicles.
    if (node >= 0) go(node === focus && tree.parent[node] >= 0 ? tree.parent[node] : node);
  });
  canvas.addEventListener("keydown", (event) => {
    const from = cursor < 0 ? focus : cursor;
    let next = from;
    const { key } = event;
    if (key === "ArrowDown") {
      let best = -1;
      for (let c = next + 1; c < tree.end[next]; c = tree.end[c]) if (best < 0 || tree.width[c] > tree.width[best]) best = c;
      if (best >= 0) next = best;
    } else if (key === "ArrowUp") next = Math.max(0, tree.parent[next]);
    else if (key === "ArrowRight") {
      for (let j = next + 1; j < tree.end[focus]; j++) if (tree.depth[j] === tree.depth[next]) { next = j; break; }
    } else if (key === "ArrowLeft") {
      for (let j = next - 1; j >= focus; j--) if (tree.depth[j] === tree.depth[next]) { next = j; break; }
    } else if (key === "Home") next = 0;
    else if (key === "Escape") next = Math.max(0, tree.parent[focus]);
    else if (key !== "Enter" && key !== " ") return;
    event.preventDefault();
    const jumps = !key.startsWith("Arrow");
    if (jumps && event.repeat) return;
    // The cursor never leaves the picture: where a step would, the picture follows.
    if (jumps || !visible(next)) go(next);
    cursor = next;
    paint();
    describe(next);
    context.say(`${tree.kind[next] === STOP ? "" : `Call ${tree.depth[next] + 1}: `}${label(data, tree, next)}, ${percent(tree.width[next])} of rounds`);
  });

  function visible(node: number): boolean {
    const window = windowOf(tree, focus, size);
    return tree.depth[node] >= window.top && tree.depth[node] + 1 <= window.top + window.rows + 1e-9 && tree.x[node] < window.x1 && tree.x[node] + tree.width[node] > window.x0;
  }
  canvas.addEventListener("blur", () => {
    cursor = -1;
    paint();
  });

  describeLegend();
  let lighted = "";
  let described: Policy | null = null;
  return {
    element,
    show: (value, parameters) => {
      const fresh = model.tree(context.policy);
      const wanted = parameters.get("lit") ?? "";
      const mode: Colouring = parameters.get("colour") === "call" ? "call" : "score";
      const changed = fresh !== tree;
      tree = fresh;
      if (changed) shown = null;
      cursor = -1;
      if (changed || mode !== colouring) recolour(mode);
      if (wanted !== lighted || changed) {
        lighted = wanted;
        light(wanted);
        search.set(wanted);
      }
      if (described !== context.policy) {
        described = context.policy;
        describeTraining();
      }
      focus = tree.at(value.replace(/[^yn]/g, ""));
      facts.textContent = `${plural(context.policy.kind.length, "node")} in the graph, ${plural(tree.kind.subarray(0, tree.size).filter((kind) => kind !== STOP).length, "place")} that rounds reach, at most ${plural(tree.deepest, "call")} deep`;
      breadcrumbs();
      describe(focus);
      zoom();
    },
  };
}
