// A search box with suggestions, after the ARIA combobox pattern: type, arrows, Enter, Escape.
import { fill, h, name, uniqueId } from "./dom";
import { NEAR, rank } from "./text";

export interface Found {
  label: string;
  kind: string;
  id: number;
  /** Can be named, but is none of those that are looked for; why. */
  absent?: string;
}

export interface Finder {
  element: HTMLElement;
  input: HTMLInputElement;
  set(text: string): void;
}

const SHOWN = 8;

/** Options that fit what was typed, the best first; names that are only near it where nothing else fits. */
export function search(options: readonly Found[], typed: string, count = SHOWN): { matches: Found[]; near: boolean } {
  const ranked = options.map((found) => ({ found, rank: rank(found.label, typed) })).filter((entry) => entry.rank < Infinity);
  const near = !ranked.some((entry) => entry.rank < NEAR);
  const matches = ranked
    .filter((entry) => near || entry.rank < NEAR)
    .sort((a, b) => a.rank - b.rank || Number(!!a.found.absent) - Number(!!b.found.absent) || a.found.label.length - b.found.label.length || (a.found.label < b.found.label ? -1 : 1))
    .slice(0, count)
    .map((entry) => entry.found);
  return { matches, near };
}

/** The option that a text names, in whatever spelling; undefined where none is called that. */
export function named(options: readonly Found[], text: string): Found | undefined {
  if (!text.trim()) return undefined;
  const exact = options.find((found) => found.label === text);
  if (exact) return exact;
  const [best] = search(options, text, 1).matches;
  return best && rank(best.label, text) <= 2 ? best : undefined;
}

export function finder(label: string, placeholder: string, options: readonly Found[], choose: (found: Found) => void): Finder {
  const list = uniqueId("options");
  const id = uniqueId("find");
  const several = new Set(options.map((option) => option.absent ?? option.kind)).size > 1;
  let matches: Found[] = [];
  let near = false;
  let active = -1;

  const input = h("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder,
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": list,
  });
  const menu = h("ul", { id: list, role: "listbox", "aria-label": "Suggestions", class: "menu", hidden: true });
  const element = h("div", { class: "finder" }, h("label", { for: id }, label), h("div", { class: "field" }, input, menu));

  function close(): void {
    menu.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function pick(found: Found): void {
    input.value = found.label;
    close();
    choose(found);
  }

  function suggest(): void {
    ({ matches, near } = search(options, input.value));
    draw();
  }

  function draw(): void {
    const none = matches.length === 0 ? "Nothing of that name" : near ? "Nothing of that name; near it:" : "";
    fill(
      menu,
      none && h("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, none),
      ...matches.map((found, at) =>
        h(
          "li",
          {
            id: `${list}-${at}`,
            role: "option",
            "aria-selected": String(at === active),
            onmousedown: (event: MouseEvent) => {
              event.preventDefault(); // the field keeps the focus
              pick(found);
            },
          },
          name(found.label),
          several && h("span", { class: "kind" }, found.absent ?? found.kind),
        ),
      ),
    );
    menu.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (active >= 0) input.setAttribute("aria-activedescendant", `${list}-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }

  input.addEventListener("input", () => {
    active = -1;
    suggest();
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (menu.hidden) suggest();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (matches.length) active = (active + (active < 0 && step < 0 ? 0 : step) + matches.length) % matches.length;
      draw();
    } else if (event.key === "Enter") {
      if (event.repeat || !(input.value.trim() || active >= 0)) return;
      if (menu.hidden) suggest();
      // What is only near the typed name is never taken for it.
      const found = matches[active >= 0 ? active : near ? -1 : 0];
      if (found) pick(found);
    } else if (event.key === "Escape") close();
  });
  return {
    element,
    input,
    set: (text) => {
      if (document.activeElement !== input) input.value = text;
    },
  };
}
