// A page's frame: head, tabs and foot; keeps the address and the shown view in step.
import { fill, h, type Child } from "./dom";
import type { Navigation, Tab, View } from "./view";

export interface Frame {
  title: string;
  /** Under the title. */
  about: Child[];
  /** At the right of the head, such as a chooser. */
  aside: Child[];
  foot: Child[];
  tabs: readonly Tab[];
  /** Parameters that every address carries, beside the view's own. */
  carried(): Record<string, string>;
  /** Hears the address before its view shows it. */
  arrive(parameters: URLSearchParams): void;
}

export interface Shell extends Navigation {
  /** Fill `app` and show what the address says. */
  open(app: HTMLElement, frame: Frame): void;
  /** The view's key and value in an address; the first tab where it names none. */
  current(parameters?: URLSearchParams): [key: string, value: string];
}

const encode = (text: string): string => encodeURIComponent(text).replaceAll("%20", "+");
const write = (entries: [string, string][]): string => `#${entries.map(([key, text]) => (text === "" ? encode(key) : `${encode(key)}=${encode(text)}`)).join("&")}`;

export function shell(): Shell {
  const live = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });
  const main = h("main", { id: "main", tabindex: "-1" });
  const made = new Map<string, View>();
  const links = new Map<string, HTMLAnchorElement>();
  let frame: Frame;
  let routed = "";

  const address = (): URLSearchParams => new URLSearchParams(location.hash.slice(1));

  function current(parameters = address()): [string, string] {
    for (const [key] of frame.tabs) if (parameters.has(key)) return [key, parameters.get(key)!];
    return [frame.tabs[0][0], ""];
  }

  function link(view: string, value = "", extra: Record<string, string> = {}): string {
    return write(Object.entries({ [view]: value, ...frame.carried(), ...extra }));
  }

  function route(): void {
    const parameters = address();
    const [key, value] = current(parameters);
    const within = main.contains(document.activeElement);
    routed = location.hash;
    frame.arrive(parameters);
    const [, label, make] = frame.tabs.find(([name]) => name === key)!;
    let view = made.get(key);
    if (!view) made.set(key, (view = make()));
    if (main.firstChild !== view.element) {
      fill(main, view.element);
      window.scrollTo(0, 0);
    }
    for (const [name, tab] of links) {
      tab.setAttribute("href", link(name));
      if (name === key) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    document.title = `${label} \u00b7 ${frame.title}`;
    view.show(value, parameters);
    // What had the focus may be gone; the next Tab then goes on from here and not from the top of the page.
    if (within && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }

  /** Both events tell of one step through the history. */
  function arrived(): void {
    if (location.hash !== routed) route();
  }

  return {
    link,
    current,
    go: (to, quiet = false) => {
      if (quiet) history.replaceState(null, "", to);
      else history.pushState(null, "", to);
      route();
    },
    adjust: (extra) => {
      const parameters = address();
      for (const [key, text] of Object.entries(extra)) {
        if (text) parameters.set(key, text);
        else parameters.delete(key);
      }
      history.replaceState(null, "", write([...parameters]));
      routed = location.hash;
    },
    say: (text) => {
      live.textContent = text;
    },
    open: (app, given) => {
      frame = given;
      for (const [key, label] of frame.tabs) links.set(key, h("a", { href: `#${key}` }, label));
      app.append(
        h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
        h(
          "header",
          { class: "top" },
          h("div", { class: "brand" }, h("h1", {}, frame.title), h("p", {}, ...frame.about)),
          h("div", { class: "chooser" }, ...frame.aside),
          h("nav", { "aria-label": "Views" }, ...links.values()),
        ),
        main,
        h("footer", {}, ...frame.foot),
        live,
      );
      window.addEventListener("hashchange", arrived);
      window.addEventListener("popstate", arrived);
      route();
    },
  };
}

/** Run `start` on the page's element and data; a page that cannot be shown says so, and how to make it again. */
export function begin(start: (app: HTMLElement, data: string) => void, again: string): void {
  const app = document.getElementById("app")!;
  // A key that is held down presses a button once.
  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && (event.target as Element).closest("a, button, summary")) event.preventDefault();
  });
  try {
    start(app, document.getElementById("data")!.textContent!);
  } catch (error) {
    fill(app, h("p", { class: "fatal" }, `This page's data cannot be read (${error instanceof Error ? error.message : error}); make it again with ${again}.`));
    throw error;
  }
}
