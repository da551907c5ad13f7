// The two charts: calls as a histogram, score against noise as lines. SVG by D3.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleBand, scaleLinear } from "d3-scale";
import { create } from "d3-selection";
import { line, symbol, symbolCircle, symbolDiamond2, symbolSquare2, symbolTriangle2 } from "d3-shape";
import type { Data, Policy } from "./data";
import { fill, h, percent } from "./dom";
import type { Model } from "./model";

const SHAPES = [symbolCircle, symbolSquare2, symbolTriangle2, symbolDiamond2];
/** A place that draws a chart as wide as it is, and again when that changes. */
export function frame(): { element: HTMLElement; show(draw: (width: number) => SVGSVGElement): void } {
  const element = h("div", { class: "frame" });
  let drawing: ((width: number) => SVGSVGElement) | undefined;
  let width = 0;
  const paint = (): void => {
    if (drawing && width > 0) fill(element, drawing(width));
  };
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    paint();
  }).observe(element);
  return {
    element,
    show: (draw) => {
      drawing = draw;
      paint();
    },
  };
}

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

export function meanCalls(calls: Calls): number {
  let sum = 0;
  let mass = 0;
  calls.solved.forEach((share, call) => {
    sum += share * call;
    mass += share;
  });
  return mass > 0 ? sum / mass : NaN;
}

/** Bars of calls to the solution, and of lost rounds, with the limit's mean as a line. */
export function histogram(data: Data, calls: Calls, title: string, width: number, highest?: number): SVGSVGElement {
  const height = 260;
  const margin = { top: 26, right: 8, bottom: 38, left: 44 };
  const names = [...Array.from({ length: data.budget }, (_, i) => String(i + 1)), "lost"];
  const values = [...calls.solved.slice(1), calls.lost];
  const x = scaleBand(names, [margin.left, width - margin.right]).paddingInner(0.14).paddingOuter(0.05);
  const y = scaleLinear([0, highest ?? Math.max(...values, 0.01)], [height - margin.bottom, margin.top]).nice(4);
  const text = values.map((share, i) => (share > 0 ? `${names[i] === "lost" ? "lost" : `call ${names[i]}`} ${percent(share)}` : "")).filter(Boolean).join(", ");
  const svg = create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("class", "plot").attr("role", "img").attr("aria-label", `${title}: ${text}`);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`).call(axisLeft(y).ticks(4).tickSize(-(width - margin.left - margin.right)).tickFormat((v) => `${Math.round(100 * Number(v))} %`));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - margin.bottom})`).call(axisBottom(x).tickValues(names.filter((_, i) => width > 420 || i === data.budget || i % 3 === 1)).tickSize(0).tickPadding(8));
  svg.append("text").attr("class", "axis-name").attr("x", (margin.left + width) / 2).attr("y", height - 4).attr("text-anchor", "middle").text("call that finds the animal");
  const bars = svg.append("g");
  values.forEach((share, i) => {
    const at = x(names[i])!;
    const tall = y(0) - y(share);
    bars.append("rect").attr("class", names[i] === "lost" ? "lost" : "found").attr("x", at).attr("y", y(share)).attr("width", x.bandwidth()).attr("height", Math.max(share > 0 ? 1 : 0, tall)).append("title").text(`${names[i] === "lost" ? "Lost" : `Call ${names[i]}`}: ${percent(share)}`);
  });
  const mark = (mean: number, className: string, label: string, side: number): void => {
    const place = x("1")! + x.bandwidth() / 2 + (mean - 1) * x.step();
    const group = svg.append("g").attr("class", className);
    group.append("line").attr("x1", place).attr("x2", place).attr("y1", margin.top - 6).attr("y2", y(0));
    group.append("text").attr("x", place + 5 * side).attr("y", margin.top - 12).attr("text-anchor", side > 0 ? "start" : "end").text(label);
  };
  const mean = meanCalls(calls);
  const limitFirst = !(mean < data.limit.calls);
  mark(data.limit.calls, "limit", `limit ${data.limit.calls.toFixed(2)}`, limitFirst ? -1 : 1);
  if (Number.isFinite(mean)) mark(mean, "mean", `mean ${mean.toFixed(2)}`, limitFirst ? 1 : -1);
  return svg.node()!;
}

/** Mean score of each policy at every noise level, under the limit. */
export function curves(data: Data, policies: readonly Policy[], width: number): SVGSVGElement {
  const height = 260;
  const margin = { top: 22, right: 14, bottom: 38, left: 44 };
  const low = Math.min(...policies.flatMap((policy) => policy.curve));
  const x = scaleLinear([0, data.levels.at(-1)!], [margin.left + 6, width - margin.right - 6]);
  const y = scaleLinear([Math.max(0, low - 1), data.limit.score + 0.5], [height - margin.bottom, margin.top]).nice(5);
  const text = policies.map((policy) => `${policy.name} ${policy.curve.map((score, i) => `${score.toFixed(1)} at ${data.levels[i]}`).join(", ")}`).join("; ");
  const svg = create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("class", "plot").attr("role", "img").attr("aria-label", `Score against noise: ${text}; limit ${data.limit.score.toFixed(1)}`);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`).call(axisLeft(y).ticks(5).tickSize(-(width - margin.left - margin.right)));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - margin.bottom})`).call(axisBottom(x).tickValues(data.levels).tickSize(4).tickFormat((v) => String(v)));
  svg.append("text").attr("class", "axis-name").attr("x", (margin.left + width) / 2).attr("y", height - 4).attr("text-anchor", "middle").text("noise, in margin units");
  const here = svg.append("g").attr("class", "here");
  here.append("line").attr("x1", x(data.noise)).attr("x2", x(data.noise)).attr("y1", margin.top).attr("y2", height - margin.bottom);
  const limit = svg.append("g").attr("class", "limit");
  limit.append("line").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y(data.limit.score)).attr("y2", y(data.limit.score));
  limit.append("text").attr("x", width - margin.right).attr("y", y(data.limit.score) - 5).attr("text-anchor", "end").text(`limit ${data.limit.score.toFixed(2)}`);
  const path = line<number>((_, i) => x(data.levels[i]), (score) => y(score));
  policies.forEach((policy) => {
    const order = data.policies.indexOf(policy);
    const group = svg.append("g").attr("class", `series s${order % 4}${order > 3 ? " dashed" : ""}`);
    group.append("path").attr("d", path(policy.curve));
    policy.curve.forEach((score, i) => {
      group.append("path").attr("class", "point").attr("d", symbol(SHAPES[order % 4], 44)()).attr("transform", `translate(${x(data.levels[i])},${y(score)})`).append("title").text(`${policy.name} at noise ${data.levels[i]}: ${score.toFixed(2)}`);
    });
  });
  return svg.node()!;
}

/** A policy's mark in the curves, for a legend. */
export function seriesMark(data: Data, policy: Policy): SVGSVGElement {
  const order = data.policies.indexOf(policy);
  const svg = create("svg").attr("viewBox", "0 0 26 12").attr("class", `mark series s${order % 4}${order > 3 ? " dashed" : ""}`).attr("aria-hidden", "true");
  svg.append("path").attr("d", "M1 6H25");
  svg.append("path").attr("class", "point").attr("d", symbol(SHAPES[order % 4], 44)()).attr("transform", "translate(13,6)");
  return svg.node()!;
}
