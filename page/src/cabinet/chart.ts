// The animal game's charts: calls as a histogram, score against noise and while training as lines.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleBand, scaleLinear } from "d3-scale";
import { create } from "d3-selection";
import { lines } from "../common/chart";
import { level, percent } from "../common/dom";
import type { Data, Policy } from "./data";
import type { Model } from "./model";

export interface Calls {
  /** Share of rounds solved on each call, index 1 to the budget. */
  solved: Float64Array;
  lost: number;
}

/** Calls of the rounds as measured, or under the page's noise. */
export function callsOf(model: Model, policy: Policy, noisy: boolean): Calls {
  if (noisy) {
    const tree = model.tree(policy);
    return { solved: tree.solvedOn, lost: tree.lost };
  }
  const solved = new Float64Array(model.data.budget + 1);
  let lost = 0;
  for (const round of model.measured(policy)) {
    if (round.ending === "solved") solved[round.steps.length] += 1 / model.n;
    else lost += 1 / model.n;
  }
  return { solved, lost };
}

/** Mean calls of the rounds that are solved, NaN where none is. */
export function callsWhenFound(calls: Calls): number {
  let sum = 0;
  let mass = 0;
  calls.solved.forEach((share, call) => {
    sum += share * call;
    mass += share;
  });
  return mass > 0 ? sum / mass : NaN;
}

/** The bars of a histogram of calls as rows. */
export const callsTable = (data: Data, calls: Calls): (string | number)[][] => [
  ["call", "share of rounds"],
  ...Array.from({ length: data.budget }, (_, i) => [i + 1, calls.solved[i + 1]]),
  ["lost", calls.lost],
];

/** Bars of calls to the solution, and of lost rounds; above them the limit's mean and that of the found ones. */
export function histogram(data: Data, calls: Calls, title: string, width: number, highest?: number): SVGSVGElement {
  const height = 260;
  const margin = { top: 40, right: 8, bottom: 38, left: 44 };
  const names = [...Array.from({ length: data.budget }, (_, i) => String(i + 1)), "lost"];
  const values = [...calls.solved.slice(1), calls.lost];
  const x = scaleBand(names, [margin.left, width - margin.right]).paddingInner(0.14).paddingOuter(0.05);
  const y = scaleLinear([0, highest ?? Math.max(...values, 0.01)], [height - margin.bottom, margin.top]).nice(4);
  const text = values.map((share, i) => (share > 0 ? `${names[i] === "lost" ? "lost" : `call ${names[i]}`} ${percent(share)}` : "")).filter(Boolean).join(", ");
  const svg = create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("class", "plot").attr("role", "img").attr("aria-label", `${title}: ${text}`);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`).call(axisLeft(y).ticks(4).tickSize(-(width - margin.left - margin.right)).tickFormat((v) => `${Math.round(1000 * Number(v)) / 10} %`));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - margin.bottom})`).call(axisBottom(x).tickValues(names.filter((_, i) => width > 420 || i === data.budget || i % 3 === 1)).tickSize(0).tickPadding(8));
  svg.append("text").attr("class", "axis-name").attr("x", (margin.left + width) / 2).attr("y", height - 4).attr("text-anchor", "middle").text("call that finds the animal");
  const bars = svg.append("g");
  values.forEach((share, i) => {
    const at = x(names[i])!;
    const tall = y(0) - y(share);
    bars.append("rect").attr("class", names[i] === "lost" ? "lost" : "found").attr("x", at).attr("y", Math.min(y(share), y(0) - (share > 0 ? 1 : 0))).attr("width", x.bandwidth()).attr("height", Math.max(share > 0 ? 1 : 0, tall)).append("title").text(`${names[i] === "lost" ? "Lost" : `Call ${names[i]}`}: ${percent(share)}`);
  });
  // Each label on a line of its own, on the side that has room.
  const mark = (mean: number, className: string, label: string, line: number): void => {
    const place = x("1")! + x.bandwidth() / 2 + (mean - 1) * x.step();
    const side = place < width * 0.6 ? 1 : -1;
    const group = svg.append("g").attr("class", className);
    group.append("line").attr("x1", place).attr("x2", place).attr("y1", line - 9).attr("y2", y(0));
    group.append("text").attr("x", place + 5 * side).attr("y", line).attr("text-anchor", side > 0 ? "start" : "end").text(label);
  };
  const mean = callsWhenFound(calls);
  mark(data.limit.calls, "limit", `limit ${data.limit.calls.toFixed(2)}`, 12);
  if (Number.isFinite(mean)) mark(mean, "mean", `when found ${mean.toFixed(2)}`, 28);
  return svg.node()!;
}

/** Mean score of each policy at every noise level, under the limit. */
export function curves(data: Data, policies: readonly Policy[], width: number): SVGSVGElement {
  const low = Math.min(...policies.flatMap((policy) => policy.curve));
  return lines(
    {
      title: "Score against noise",
      x: { name: "noise, in margin units", domain: [0, data.levels.at(-1)!], ticks: data.levels, format: level },
      y: { domain: [Math.max(0, low - 1), data.limit.score + 0.5] },
      series: policies.map((policy) => ({ name: policy.name, place: data.policies.indexOf(policy), points: policy.curve.map((score, i) => [data.levels[i], score] as const) })),
      limit: { at: data.limit.score, name: "limit" },
      here: data.noise,
    },
    width,
  );
}

/** The same as rows. */
export const curvesTable = (data: Data, policies: readonly Policy[]): (string | number)[][] => [
  ["noise", ...policies.map((policy) => policy.name)],
  ...data.levels.map((noise, i) => [noise, ...policies.map((policy) => policy.curve[i])]),
];

/** Scores of the evaluations while the policy's agent was trained. */
export function trainingCurves(data: Data, policy: Policy, width: number): SVGSVGElement {
  const names = trainingScores(policy);
  const values = policy.training.flatMap(({ scores }) => names.map((name) => scores[name]));
  const limit = names.some((name) => name.startsWith(data.choice)) ? data.limit.score : undefined;
  const steps = policy.training.map((evaluation) => evaluation.steps);
  return lines(
    {
      title: "Scores while training",
      x: { name: "calls trained on", domain: [0, Math.max(...steps)], format: (value) => (value >= 1000 ? `${level(value / 1000)}k` : String(value)) },
      y: { domain: [Math.max(0, Math.min(...values) - 1), Math.max(...values, limit ?? 0) + 0.5] },
      series: names.map((name, place) => ({ name: name.replaceAll("_", " "), place, points: policy.training.map(({ steps: at, scores }) => [at, scores[name]] as const) })),
      limit: limit === undefined ? undefined : { at: limit, name: `limit, ${data.choice}` },
    },
    width,
  );
}

/** Names of the scores that every evaluation has. */
export const trainingScores = (policy: Policy): string[] => Object.keys(policy.training[0]?.scores ?? {}).filter((name) => policy.training.every(({ scores }) => Number.isFinite(scores[name])));

export const trainingTable = (policy: Policy): (string | number)[][] => [
  ["calls trained on", ...trainingScores(policy)],
  ...policy.training.map(({ steps, scores }) => [steps, ...trainingScores(policy).map((name) => scores[name])]),
];
