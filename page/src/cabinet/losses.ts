// Where it loses: calls, score against noise, the animals lost most often and the reasons.
import { frame } from "../common/chart";
import { bar, figureList, fill, h, percent, plural, sentence } from "../common/dom";
import type { View } from "../common/view";
import { callsOf, curves, histogram } from "./chart";
import type { Context } from "./context";
import { ASK, type Policy } from "./data";
import type { Model } from "./model";
import { SHAKY } from "./words";

/** Calls above the limit's mean from which a guess counts as late. */
const LATE = 3;
/** Fewer differing answers than this make two animals hard to tell apart. */
const CLOSE = 4;
const PAGE = 40;

export interface Reason {
  tag: "equal rows" | "never guessed" | "shaky answer" | "close pair" | "late guess";
  text: string;
}

/** Why a policy may lose a candidate, the weightiest reason first. */
export function reasons(model: Model, policy: Policy, candidate: number): Reason[] {
  const { data } = model;
  const round = model.measured(policy)[candidate];
  const twin = data.twin[candidate] < 0 ? "" : data.animals[data.candidates[data.twin[candidate]]];
  const found: Reason[] = [];
  if (twin && data.differ[candidate] === 0) found.push({ tag: "equal rows", text: `answers every question like ${twin}` });
  if (round.ending !== "solved") found.push({ tag: "never guessed", text: round.ending === "spent" ? "not guessed within the calls" : "its path ends without a guess of it" });
  let shakiest = -1;
  let flip = 0;
  let shaky = 0;
  for (const step of round.steps) {
    if (step.kind !== ASK || model.flip(candidate, step.value) < SHAKY) continue;
    shaky++;
    if (model.flip(candidate, step.value) > flip) {
      flip = model.flip(candidate, step.value);
      shakiest = step.value;
    }
  }
  if (shakiest >= 0) found.push({ tag: "shaky answer", text: `\u201c${sentence(data.questions[shakiest])}\u201d turns over in ${percent(flip)}${shaky > 1 ? `, ${shaky - 1} more on its path ${shaky === 2 ? "is" : "are"} shaky` : ""}` });
  if (twin && data.differ[candidate] > 0 && data.differ[candidate] < CLOSE) found.push({ tag: "close pair", text: `only ${plural(data.differ[candidate], "answer")} tell it from ${twin}` });
  if (round.ending === "solved" && round.steps.length >= data.limit.calls + LATE) found.push({ tag: "late guess", text: `guessed only on call ${round.steps.length}` });
  return found;
}

interface Row {
  id: number;
  name: string;
  score: number;
  lost: number;
  calls: number;
  measured: number;
  shaky: number;
  reasons: Reason[];
}

const COLUMNS: { key: keyof Row; title: string; falling: boolean; hint: string }[] = [
  { key: "name", title: "Animal", falling: false, hint: "" },
  { key: "score", title: "Score", falling: false, hint: "expected round score \u00d7 100 under noise" },
  { key: "lost", title: "Lost", falling: true, hint: "share of rounds not found under noise" },
  { key: "calls", title: "Calls", falling: true, hint: "expected calls under noise" },
  { key: "measured", title: "Measured", falling: true, hint: "calls when every answer is as measured" },
  { key: "shaky", title: "Path turns", falling: true, hint: "chance that some answer on its path turns over" },
];

export function lossesView(context: Context): View {
  const { data, model } = context;
  let noisy = true;
  let sort: keyof Row = "lost";
  let falling = true;
  let shown = PAGE;
  let rows: Row[] = [];
  let of: Policy | null = null;

  const figures = h("div", {});
  const chart = frame();
  const lines = frame();
  const worst = h("ol", { class: "worst" });
  const modes = [true, false].map((mode) => h("button", { type: "button", "aria-pressed": String(mode === noisy), onclick: () => { noisy = mode; modes.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0) === noisy))); drawCalls(); } }, mode ? `noise ${data.noise}` : "as measured"));
  const filter = h("input", { type: "search", id: "filter", placeholder: "part of a name", oninput: () => { shown = PAGE; table(); } });
  const why = h("select", { id: "why", onchange: () => { shown = PAGE; table(); } }, ...["any reason", "equal rows", "never guessed", "shaky answer", "close pair", "late guess"].map((tag) => h("option", {}, tag)));
  const count = h("p", { class: "dim", role: "status" });
  const body = h("tbody", {});
  const heads = COLUMNS.map((column) => h("th", { scope: "col", class: column.key === "name" ? "" : "number" }, h("button", { type: "button", title: column.hint, onclick: () => order(column.key) }, column.title)));
  const more = h("button", { type: "button", class: "quiet more", onclick: () => { shown += 200; table(); } }, "Show more");
  const element = h(
    "section",
    { class: "losses", "aria-label": "Losses" },
    figures,
    h(
      "div",
      { class: "pair" },
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Calls"), h("div", { class: "segments", role: "group", "aria-label": "Answers" }, ...modes)), chart.element),
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Score against noise")), lines.element),
    ),
    h("div", { class: "card" }, h("h2", {}, "Lost most often"), worst),
    h(
      "div",
      { class: "card" },
      h("h2", {}, "Every animal"),
      h("div", { class: "controls" }, h("label", {}, "Filter", filter), h("label", {}, "Reason", why), count),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Every animal" }, h("table", { class: "animals" }, h("thead", {}, h("tr", {}, ...heads, h("th", { scope: "col" }, "Why"))), body)),
      more,
    ),
  );

  function order(key: keyof Row): void {
    if (key === sort) falling = !falling;
    else {
      sort = key;
      falling = COLUMNS.find((column) => column.key === key)!.falling;
    }
    table();
  }

  function drawCalls(): void {
    const calls = callsOf(model, context.policy, noisy);
    chart.show((width) => histogram(data, calls, `Calls, ${noisy ? `noise ${data.noise}` : "as measured"}`, width));
  }

  function table(): void {
    const wanted = filter.value.trim().toLowerCase();
    const tag = why.selectedIndex === 0 ? "" : why.value;
    const kept = rows.filter((row) => row.name.includes(wanted) && (!tag || row.reasons.some((reason) => reason.tag === tag)));
    const way = falling ? -1 : 1;
    kept.sort((a, b) => {
      const [left, right] = [a[sort], b[sort]];
      return (left < right ? -way : left > right ? way : 0) || a.score - b.score || a.id - b.id;
    });
    heads.forEach((head, i) => {
      if (COLUMNS[i].key === sort) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    count.textContent = `${kept.length} of ${rows.length}`;
    fill(
      body,
      ...kept.slice(0, shown).map((row) =>
        h(
          "tr",
          { onclick: (event: MouseEvent) => { if (!(event.target as HTMLElement).closest("a")) context.go(context.link("watch", row.name)); } },
          h("th", { scope: "row" }, h("a", { href: context.link("watch", row.name) }, row.name)),
          h("td", { class: "number" }, row.score.toFixed(1)),
          h("td", { class: "number" }, percent(row.lost)),
          h("td", { class: "number" }, row.calls.toFixed(2)),
          h("td", { class: "number" }, Number.isFinite(row.measured) ? row.measured : "lost"),
          h("td", { class: "number" }, percent(row.shaky)),
          h("td", { class: "why" }, ...row.reasons.slice(0, 2).map((reason) => h("span", { class: "tag", title: reason.text }, reason.tag)), row.reasons[0] && h("span", { class: "dim" }, row.reasons[0].text)),
        ),
      ),
      kept.length === 0 && h("tr", { class: "none" }, h("td", { colspan: COLUMNS.length + 1 }, "No animal fits. Clear the filter to see all.")),
    );
    more.hidden = kept.length <= shown;
  }

  function show(): void {
    if (of === context.policy) return;
    of = context.policy;
    const policy = of;
    rows = Array.from({ length: model.n }, (_, id) => {
      const round = model.measured(policy)[id];
      let steady = 1;
      for (const step of round.steps) if (step.kind === ASK) steady *= 1 - model.flip(id, step.value);
      return {
        id,
        name: data.animals[data.candidates[id]],
        score: 100 * policy.score[id],
        lost: Math.max(0, 1 - policy.solved[id]),
        calls: policy.calls[id],
        measured: round.ending === "solved" ? round.steps.length : Infinity,
        shaky: 1 - steady,
        reasons: reasons(model, policy, id),
      };
    });
    const mean = (value: (row: Row) => number): number => rows.reduce((sum, row) => sum + value(row), 0) / rows.length;
    const score = mean((row) => row.score);
    const entries: [string, string][] = [
      [`Score at noise ${data.noise}`, score.toFixed(2)],
      ["Below the limit", (data.limit.score - score).toFixed(2)],
      ["As measured", policy.measured.toFixed(2)],
      ["Rounds lost", percent(mean((row) => row.lost))],
      ["Mean calls", mean((row) => row.calls).toFixed(2)],
    ];
    fill(figures, figureList(entries));
    drawCalls();
    lines.show((width) => curves(data, [policy], width));
    const lost = [...rows].sort((a, b) => b.lost - a.lost || a.score - b.score).filter((row) => row.lost > 0.0005).slice(0, 6);
    const most = Math.max(...lost.map((row) => row.lost), 0.01);
    fill(
      worst,
      ...lost.map((row) => h("li", {}, h("a", { href: context.link("watch", row.name) }, row.name), bar(row.lost / most, "lost"), h("span", { class: "figure" }, percent(row.lost)), h("span", { class: "dim" }, row.reasons.map((reason) => reason.text).join("; ") || "small risks that add up"))),
      lost.length === 0 && h("li", { class: "empty" }, `At noise ${data.noise} it loses none of the ${model.n} animals.`),
    );
    shown = PAGE;
    table();
  }

  return { element, show };
}
