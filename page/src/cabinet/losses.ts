// Where it loses: calls, score against noise, the animals lost most often and the reasons.
import { frame } from "../common/chart";
import { bar, figureList, fill, h, level, name, percent, plural } from "../common/dom";
import { saver } from "../common/save";
import { isolated, NEAR, rank, sentence } from "../common/text";
import type { View } from "../common/view";
import { callsOf, callsTable, callsWhenFound, curves, curvesTable, histogram } from "./chart";
import type { Context } from "./context";
import { ASK, type Policy } from "./data";
import type { Model } from "./model";
import { animalOf, howToRead, noiseText, SHAKY } from "./words";

/** Calls above the limit's mean from which a guess counts as late. */
const LATE = 3;
/** Fewer differing answers than this make two animals hard to tell apart. */
const CLOSE = 4;
const PAGE = 40;
/** Below this a chance is what is left of rounding. */
const NOTHING = 1e-6;
/** Milliseconds of rest after which a typed filter comes into the address; browsers bound how often it may change. */
const REST = 300;

const TAGS = ["equal rows", "never guessed", "missing answer", "shaky answer", "close pair", "late guess"] as const;

export interface Reason {
  tag: (typeof TAGS)[number];
  text: string;
}

/** Why a policy may lose a candidate, the weightiest reason first. */
export function reasons(model: Model, policy: Policy, candidate: number): Reason[] {
  const { data } = model;
  const round = model.measured(policy)[candidate];
  const twin = data.twin[candidate] < 0 ? "" : isolated(animalOf(data, data.twin[candidate]));
  const found: Reason[] = [];
  if (twin && data.differ[candidate] === 0) found.push({ tag: "equal rows", text: `answers every question like ${twin}` });
  if (round.ending !== "solved") found.push({ tag: "never guessed", text: round.ending === "spent" ? "not guessed within the calls" : "its path ends without a guess of it" });
  let shakiest = -1;
  let flip = 0;
  let shaky = 0;
  let missing = 0;
  for (const step of round.steps) {
    if (step.kind === ASK && model.isMissing(candidate, step.value)) {
      missing++;
      continue;
    }
    if (step.kind !== ASK || model.flip(candidate, step.value) < SHAKY) continue;
    shaky++;
    if (model.flip(candidate, step.value) > flip) {
      flip = model.flip(candidate, step.value);
      shakiest = step.value;
    }
  }
  if (missing > 0) found.push({ tag: "missing answer", text: `${plural(missing, "question")} on its path ${missing === 1 ? "has" : "have"} no answer for it and may go either way` });
  if (shakiest >= 0) found.push({ tag: "shaky answer", text: `\u201c${isolated(sentence(data.questions[shakiest]))}\u201d turns over in ${percent(flip)}${shaky > 1 ? `, ${shaky - 1} more on its path ${shaky === 2 ? "is" : "are"} shaky` : ""}` });
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
  { key: "calls", title: "Calls", falling: true, hint: "mean calls under noise, found or not" },
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
  let resting = 0;

  const figures = h("div", {});
  const chart = frame();
  const lines = frame();
  const worst = h("ol", { class: "worst" });
  const modes = [true, false].map((mode) => h("button", { type: "button", "aria-pressed": String(mode === noisy), onclick: () => { answered(mode); keep(); } }, mode ? noiseText(data) : "as measured"));
  const filter = h("input", { type: "search", id: "filter", placeholder: "part of a name", oninput: () => { shown = PAGE; table(); clearTimeout(resting); resting = setTimeout(keep, REST); } });
  const why = h("select", { id: "why", onchange: () => { shown = PAGE; table(); keep(); } }, ...["any reason", ...TAGS].map((tag) => h("option", {}, tag)));
  const count = h("p", { class: "dim", role: "status" });
  const body = h("tbody", {});
  const heads = COLUMNS.map((column) => h("th", { scope: "col", class: column.key === "name" ? "" : "number" }, h("button", { type: "button", title: column.hint, onclick: () => order(column.key) }, column.title)));
  const more = h("button", { type: "button", class: "quiet more", onclick: () => { shown += 200; table(); } }, "Show more");
  const element = h(
    "section",
    { class: "losses", "aria-label": "Losses" },
    howToRead(
      context,
      [
        `Score, Lost and Calls are exact expectations at ${noiseText(data)}; Measured is the call that finds the animal when every answer is as the oracle gave it.`,
        "\u201cPath turns\u201d is the chance that some answer on the animal\u2019s measured path turns over. The reasons name what makes an animal hard: a shaky answer, an animal that is hard to tell from it, or a path that guesses late or never.",
      ],
      ["score", "limit", "when found", "noise", "shaky", "oracle"],
    ),
    figures,
    h(
      "div",
      { class: "pair" },
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Calls"), h("div", { class: "segments", role: "group", "aria-label": "Answers" }, ...modes)), chart.element, saver({ stem: "calls", what: "the calls", svg: () => chart.element.querySelector("svg"), csv: () => callsTable(data, callsOf(model, context.policy, noisy)) })),
      h("div", { class: "card" }, h("div", { class: "title" }, h("h2", {}, "Score against noise")), lines.element, saver({ stem: "noise", what: "the score against noise", svg: () => lines.element.querySelector("svg"), csv: () => curvesTable(data, [context.policy]) })),
    ),
    h("div", { class: "card" }, h("h2", {}, "Lost most often"), worst),
    h(
      "div",
      { class: "card" },
      h("div", { class: "title" }, h("h2", {}, "Every animal"), saver({ stem: "animals", what: "the table", csv: () => [[...COLUMNS.map(({ title }) => title), "Why"], ...kept().map((row) => [...COLUMNS.map(({ key }) => (Number.isFinite(row[key]) || key === "name" ? (row[key] as string | number) : "lost")), row.reasons.map(({ text }) => text).join("; ")])] })),
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
    keep();
  }

  /** Which answers the histogram counts. */
  function answered(mode: boolean): void {
    noisy = mode;
    modes.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0) === noisy)));
    drawCalls();
  }

  /** The address keeps what is set; what is as it was at first leaves it. */
  function keep(): void {
    clearTimeout(resting);
    if (!element.isConnected) return;
    const sorted = `${falling ? "-" : ""}${sort}`;
    context.adjust({ filter: filter.value.trim(), why: why.selectedIndex === 0 ? "" : why.value, sort: sorted === "-lost" ? "" : sorted, answers: noisy ? "" : "measured" });
  }

  /** The rows that the filter leaves, in order. */
  function kept(): Row[] {
    const wanted = filter.value.trim();
    const tag = why.selectedIndex === 0 ? "" : why.value;
    const way = falling ? -1 : 1;
    return rows
      .filter((row) => rank(row.name, wanted) < NEAR && (!tag || row.reasons.some((reason) => reason.tag === tag)))
      .sort((a, b) => {
        const [left, right] = [a[sort], b[sort]];
        return (left < right ? -way : left > right ? way : 0) || a.score - b.score || a.id - b.id;
      });
  }

  function drawCalls(): void {
    const calls = callsOf(model, context.policy, noisy);
    chart.show((width) => histogram(data, calls, `Calls, ${noisy ? noiseText(data) : "as measured"}`, width));
  }

  function table(): void {
    const found = kept();
    heads.forEach((head, i) => {
      if (COLUMNS[i].key === sort) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    count.textContent = `${found.length} of ${rows.length}`;
    fill(
      body,
      ...found.slice(0, shown).map((row) =>
        h(
          "tr",
          { onclick: (event: MouseEvent) => { if (!(event.target as HTMLElement).closest("a")) context.go(context.link("watch", row.name)); } },
          h("th", { scope: "row" }, h("a", { href: context.link("watch", row.name) }, name(row.name))),
          h("td", { class: "number" }, row.score.toFixed(1)),
          h("td", { class: "number" }, percent(row.lost)),
          h("td", { class: "number" }, row.calls.toFixed(2)),
          h("td", { class: "number" }, Number.isFinite(row.measured) ? row.measured : "lost"),
          h("td", { class: "number" }, percent(row.shaky)),
          h("td", { class: "why" }, ...row.reasons.slice(0, 2).map((reason) => h("span", { class: "tag", title: reason.text }, reason.tag)), row.reasons[0] && h("span", { class: "dim" }, row.reasons[0].text)),
        ),
      ),
      found.length === 0 && h("tr", { class: "none" }, h("td", { colspan: COLUMNS.length + 1 }, "No animal fits. Clear the filter to see all.")),
    );
    more.hidden = found.length <= shown;
  }

  function show(_value: string, parameters: URLSearchParams): void {
    const wanted = parameters.get("sort") ?? "-lost";
    const column = COLUMNS.find(({ key }) => key === wanted.replace(/^-/, ""));
    [sort, falling] = column ? [column.key, wanted.startsWith("-")] : ["lost", true];
    if (document.activeElement !== filter) filter.value = parameters.get("filter") ?? "";
    why.selectedIndex = 1 + TAGS.findIndex((tag) => tag === parameters.get("why"));
    noisy = parameters.get("answers") !== "measured";
    if (of !== context.policy) gather();
    answered(noisy);
    shown = PAGE;
    table();
  }

  function gather(): void {
    of = context.policy;
    const policy = of;
    rows = Array.from({ length: model.n }, (_, id) => {
      const round = model.measured(policy)[id];
      let steady = 1;
      for (const step of round.steps) if (step.kind === ASK) steady *= 1 - model.flip(id, step.value);
      return {
        id,
        name: animalOf(data, id),
        score: 100 * policy.score[id],
        lost: 1 - policy.solved[id] > NOTHING ? 1 - policy.solved[id] : 0,
        calls: policy.calls[id],
        measured: round.ending === "solved" ? round.steps.length : Infinity,
        shaky: 1 - steady,
        reasons: reasons(model, policy, id),
      };
    });
    const mean = (value: (row: Row) => number): number => rows.reduce((sum, row) => sum + value(row), 0) / rows.length;
    const score = mean((row) => row.score);
    const found = callsWhenFound(callsOf(model, policy, true));
    const entries: [string, string][] = [
      [`Score at ${noiseText(data)}`, score.toFixed(2)],
      ["Below the limit", (data.limit.score - score).toFixed(2)],
      ["As measured", policy.measured.toFixed(2)],
      ["Rounds lost", percent(mean((row) => row.lost))],
      ["Mean calls", mean((row) => row.calls).toFixed(2)],
      ["Calls when found", Number.isFinite(found) ? found.toFixed(2) : "none found"],
    ];
    fill(figures, figureList(entries));
    lines.show((width) => curves(data, [policy], width));
    const lost = [...rows].sort((a, b) => b.lost - a.lost || a.score - b.score).filter((row) => row.lost > 0).slice(0, 6);
    const most = Math.max(...lost.map((row) => row.lost), NOTHING);
    fill(
      worst,
      ...lost.map((row) => h("li", {}, h("a", { href: context.link("watch", row.name) }, name(row.name)), bar(row.lost / most, "lost"), h("span", { class: "figure" }, percent(row.lost)), h("span", { class: "dim" }, row.reasons.map((reason) => reason.text).join("; ") || "small risks that add up"))),
      lost.length === 0 && h("li", { class: "empty" }, `At noise ${level(data.noise)} it loses none of the ${plural(model.n, "animal")}.`),
    );
  }

  return { element, show };
}
