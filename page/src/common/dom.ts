// Elements and figures. Text reaches the document as text nodes only, so nothing in the data can be markup.

export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (name.startsWith("--")) element.style.setProperty(name, String(value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, ...children);
  return element;
}

/** Replace the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(
    ...children
      .filter((child): child is Node | string | number => child !== null && child !== undefined && child !== false)
      .map((child) => (typeof child === "number" ? String(child) : child)),
  );
}

/** A name out of the data: its direction is its own, and where it is cut its whole stands in the tooltip. */
export const name = (text: string, className?: string): HTMLElement => h("bdi", { class: className, title: text.length > 24 ? text : null }, text);

export function percent(p: number): string {
  if (p <= 0) return "0\u00a0%";
  if (p < 0.001) return "<\u00a00.1\u00a0%";
  if (p > 1 - 1e-9) return "100\u00a0%";
  if (p > 0.9995) return ">\u00a099.9\u00a0%";
  return `${(100 * p).toFixed(p < 0.0995 ? 1 : p > 0.995 ? 1 : 0)}\u00a0%`;
}

export const signed = (x: number, digits = 2): string => `${x < 0 ? "\u2212" : "+"}${Math.abs(x).toFixed(digits)}`;

export const plural = (n: number, one: string, many = `${one}s`): string => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** A measured quantity to three digits, as short as it can be written. */
export const level = (x: number): string => String(Number(x.toPrecision(3)));

export const effective = (bits: number): number => 2 ** bits;

export function about(count: number): string {
  return count < 9.95 ? count.toFixed(1).replace(/\.0$/, "") : Math.round(count).toString();
}

/** A horizontal bar whose meaning the text beside it gives. */
export function bar(share: number, className = ""): HTMLElement {
  return h("span", { class: `bar ${className}`, "aria-hidden": "true", "--share": Math.max(0, Math.min(1, share)).toFixed(4) });
}

/** Figures that a reader should see first, each under its name. */
export function figureList(entries: [string, string][]): HTMLElement {
  return h("dl", { class: "figures" }, ...entries.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** An answer as a word with its own mark, told apart by more than colour; undefined is one that nobody knew. */
export function answerWord(yes: boolean | undefined): HTMLElement {
  return yes === undefined ? h("span", { class: "answer unknown" }, "don\u2019t know") : h("span", { class: `answer ${yes ? "yes" : "no"}` }, yes ? "yes" : "no");
}

/** What a view's words mean, folded away until someone asks. */
export function howTo(lines: readonly string[], terms: readonly (readonly [string, string])[]): HTMLElement {
  return h(
    "details",
    { class: "how" },
    h("summary", {}, "How to read this"),
    h("div", {}, ...lines.map((line) => h("p", {}, line)), h("dl", {}, ...terms.flatMap(([term, meaning]) => [h("dt", {}, term), h("dd", {}, meaning)]))),
  );
}

let serial = 0;
export const uniqueId = (stem: string): string => `${stem}-${++serial}`;
