// A search box with suggestions, after the ARIA combobox pattern: type, arrows, Enter, Escape.
import { fill, h, uniqueId } from "./dom";

export interface Found {
  label: string;
  kind: string;
  id: number;
}

export interface Finder {
  element: HTMLElement;
  input: HTMLInputElement;
  set(text: string): void;
}

const SHOWN = 8;

export function finder(label: string, placeholder: string, options: readonly Found[], choose: (found: Found) => void): Finder {
  const list = uniqueId("options");
  const name = uniqueId("find");
  let matches: Found[] = [];
  let active = -1;

  const input = h("input", {
    id: name,
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
  const element = h("div", { class: "finder" }, h("label", { for: name }, label), h("div", { class: "field" }, input, menu));

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

  function search(): void {
    const wanted = input.value.trim().toLowerCase();
    const ranked: { found: Found; rank: number }[] = [];
    for (const found of options) {
      const place = found.label.toLowerCase().indexOf(wanted);
      if (place < 0) continue;
      const wordStart = place === 0 || /[\s-]/.test(found.label[place - 1]);
      ranked.push({ found, rank: (found.label.length === wanted.length ? 0 : place === 0 ? 1 : wordStart ? 2 : 3) });
    }
    matches = ranked
      .sort((a, b) => a.rank - b.rank || a.found.label.length - b.found.label.length || (a.found.label < b.found.label ? -1 : 1))
      .slice(0, SHOWN)
      .map((entry) => entry.found);
    draw();
  }

  function draw(): void {
    const several = new Set(options.map((option) => option.kind)).size > 1;
    fill(
      menu,
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
          h("span", {}, found.label),
          several && h("span", { class: "kind" }, found.kind),
        ),
      ),
      matches.length === 0 && h("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "Nothing of that name"),
    );
    menu.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (active >= 0) input.setAttribute("aria-activedescendant", `${list}-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }

  input.addEventListener("input", () => {
    active = -1;
    search();
  });
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (menu.hidden) search();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (matches.length) active = (active + step + matches.length) % matches.length;
      draw();
    } else if (event.key === "Enter") {
      if (menu.hidden) search();
      const found = matches[Math.max(0, active)];
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
