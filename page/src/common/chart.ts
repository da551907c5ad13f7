// Charts that games share: a place that draws one at its own width, and lines. SVG by D3.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { create } from "d3-selection";
import { line, symbol, symbolCircle, symbolDiamond2, symbolSquare2, symbolTriangle2 } from "d3-shape";
import { fill, h } from "./dom";

const SHAPES = [symbolCircle, symbolSquare2, symbolTriangle2, symbolDiamond2];
const HEIGHT = 260;
/** What a character of a label takes at most, in pixels. */
const LETTER = 7.2;

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

export interface Series {
  name: string;
  /** Place among all series of the page: gives colour, mark and dash, the same in every chart. */
  place: number;
  points: readonly (readonly [x: number, y: number])[];
}

export interface Lines {
  title: string;
  x: { name: string; domain: readonly [number, number]; ticks?: readonly number[]; format?(value: number): string };
  y: { domain: readonly [number, number]; format?(value: number): string };
  series: readonly Series[];
  /** A level that no series can pass. */
  limit?: { at: number; name: string };
  /** A place of x to mark. */
  here?: number;
}

/** Ticks whose labels leave each other room; the first ones of `wanted` come first. */
export function apart(wanted: readonly number[], place: (value: number) => number, label: (value: number) => string): number[] {
  const kept: number[] = [];
  for (const value of wanted) {
    const room = (other: number): number => ((label(value).length + label(other).length) / 2) * LETTER + 8;
    if (kept.every((other) => Math.abs(place(value) - place(other)) >= room(other))) kept.push(value);
  }
  return kept.sort((a, b) => a - b);
}

const look = (place: number): string => `series s${place % 4}${place > 3 ? " dashed" : ""}`;

/** Series of points as marked lines. */
export function lines(chart: Lines, width: number): SVGSVGElement {
  const margin = { top: 22, right: 14, bottom: 38, left: 44 };
  const x = scaleLinear(chart.x.domain, [margin.left + 6, width - margin.right - 6]);
  const y = scaleLinear(chart.y.domain, [HEIGHT - margin.bottom, margin.top]).nice(5);
  const showX = chart.x.format ?? String;
  const showY = chart.y.format ?? ((value) => value.toFixed(1));
  const text = chart.series.map(({ name, points }) => `${name} ${points.map(([at, value]) => `${showY(value)} at ${showX(at)}`).join(", ")}`).join("; ");
  const limitText = chart.limit === undefined ? "" : `; ${chart.limit.name} ${showY(chart.limit.at)}`;
  const svg = create("svg").attr("viewBox", `0 0 ${width} ${HEIGHT}`).attr("class", "plot").attr("role", "img").attr("aria-label", `${chart.title}: ${text}${limitText}`);
  svg.append("g").attr("class", "grid").attr("transform", `translate(${margin.left},0)`).call(axisLeft(y).ticks(5).tickSize(-(width - margin.left - margin.right)));
  const axis = axisBottom(x).tickSize(4).tickFormat((value) => showX(Number(value)));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${HEIGHT - margin.bottom})`).call(axis.tickValues(apart([...(chart.here === undefined ? [] : [chart.here]), ...(chart.x.ticks ?? x.ticks(Math.max(2, width / 110)))], x, showX)));
  svg.append("text").attr("class", "axis-name").attr("x", (margin.left + width) / 2).attr("y", HEIGHT - 4).attr("text-anchor", "middle").text(chart.x.name);
  if (chart.here !== undefined) svg.append("g").attr("class", "here").append("line").attr("x1", x(chart.here)).attr("x2", x(chart.here)).attr("y1", margin.top).attr("y2", HEIGHT - margin.bottom);
  const path = line<readonly [number, number]>((point) => x(point[0]), (point) => y(point[1]));
  for (const { name, place, points } of chart.series) {
    const group = svg.append("g").attr("class", look(place));
    group.append("path").attr("class", "stroke").attr("d", path(points as [number, number][]));
    for (const [at, value] of points) {
      group.append("path").attr("class", "point").attr("d", symbol(SHAPES[place % 4], 44)()).attr("transform", `translate(${x(at)},${y(value)})`).append("title").text(`${name} at ${showX(at)}: ${value.toFixed(2)}`);
    }
  }
  if (chart.limit !== undefined) {
    const limit = svg.append("g").attr("class", "limit");
    limit.append("line").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y(chart.limit.at)).attr("y2", y(chart.limit.at));
    // Where the lines rise, what is above their start is free.
    const rises = chart.series.some(({ points }) => points.length > 1 && points[0][1] < points[points.length - 1][1]);
    limit.append("text").attr("x", rises ? margin.left + 6 : width - margin.right).attr("y", y(chart.limit.at) - 5).attr("text-anchor", rises ? "start" : "end").text(`${chart.limit.name} ${chart.limit.at.toFixed(2)}`);
  }
  return svg.node()!;
}

/** The mark of the series at `place`, for a legend. */
export function seriesMark(place: number): SVGSVGElement {
  const svg = create("svg").attr("viewBox", "0 0 26 12").attr("class", `mark ${look(place)}`).attr("aria-hidden", "true");
  svg.append("path").attr("d", "M1 6H25");
  svg.append("path").attr("class", "point").attr("d", symbol(SHAPES[place % 4], 44)()).attr("transform", "translate(13,6)");
  return svg.node()!;
}
