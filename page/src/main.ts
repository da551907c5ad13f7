// The page's frame: reads the data, keeps the address and the shown view in step.
import { compareView } from "./compare";
import { decode, type Data, type Policy } from "./data";
import { fill, h, plural } from "./dom";
import { lossesView } from "./losses";
import { Model } from "./model";
import { playView } from "./play";
import { policyView } from "./policy";
import { watchView } from "./watch";

export interface Context {
  data: Data;
  model: Model;
  /** The policy that all views but the comparison show. */
  policy: Policy;
  /** Address of a view in a state. */
  link(view: string, value?: string, extra?: Record<string, string>): string;
  /** Go there; `quiet` adds no entry to the history. */
  go(address: string, quiet?: boolean): void;
  /** Say something to screen readers. */
  say(text: string): void;
}

export interface View {
  element: HTMLElement;
  /** Show the state of an address. `value` is what stands behind the view's own name. */
  show(value: string, parameters: URLSearchParams): void;
}

const VIEWS: [string, string, (context: Context) => View][] = [
  ["play", "Play", playView],
  ["watch", "Watch", watchView],
  ["policy", "Policy", policyView],
  ["losses", "Losses", lossesView],
  ["compare", "Compare", compareView],
];

const encode = (text: string): string => encodeURIComponent(text).replaceAll("%20", "+");

function start(app: HTMLElement): void {
  const data = decode(document.getElementById("data")!.textContent!);
  const model = new Model(data);
  const live = h("div", { class: "offscreen", role: "status", "aria-live": "polite" });
  const context: Context = {
    data,
    model,
    policy: data.policies[0],
    link: (view, value = "", extra = {}) => {
      const policy = context.policy === data.policies[0] ? {} : { of: context.policy.name };
      const entries = Object.entries({ [view]: value, ...policy, ...extra });
      return `#${entries.map(([key, text]) => (text === "" ? encode(key) : `${encode(key)}=${encode(text)}`)).join("&")}`;
    },
    go: (address, quiet = false) => {
      if (quiet) history.replaceState(null, "", address);
      else history.pushState(null, "", address);
      route();
    },
    say: (text) => {
      live.textContent = text;
    },
  };

  const made = new Map<string, View>();
  const tabs = new Map(VIEWS.map(([key, label]) => [key, h("a", { href: `#${key}` }, label)]));
  const chooser = h(
    "select",
    {
      id: "chooser",
      onchange: () => {
        const parameters = new URLSearchParams(location.hash.slice(1));
        const [view, value] = current(parameters);
        context.policy = data.policies[chooser.selectedIndex];
        // Answers belong to one policy's questions; an animal to all of them.
        context.go(context.link(view, view === "watch" || view === "losses" || view === "compare" ? value : ""), true);
      },
    },
    ...data.policies.map((policy) => h("option", {}, policy.name)),
  );
  const main = h("main", { id: "main", tabindex: "-1" });
  app.append(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
    h(
      "header",
      { class: "top" },
      h(
        "div",
        { class: "brand" },
        h("h1", {}, "Wilkins"),
        h("p", {}, `${plural(data.candidates.length, "animal")}, ${plural(data.questions.length, "question")}`, " \u00b7 ", `${data.package} \u00b7 noise\u00a0${data.noise}`),
      ),
      h("div", { class: "chooser" }, data.policies.length > 1 && h("label", { for: "chooser" }, "Policy"), data.policies.length > 1 ? chooser : h("span", { class: "only" }, data.policies[0].name)),
      h("nav", { "aria-label": "Views" }, ...tabs.values()),
    ),
    main,
    h(
      "footer",
      {},
      h("p", {}, `Answers: ${data.model || "a measured matrix"}. Scores are mean round scores \u00d7 100; the limit for ${plural(data.candidates.length, "animal")} is ${data.limit.score.toFixed(2)}.`),
      h("p", {}, "Drawn with D3; its licences (ISC, BSD-3-Clause) stand at the end of this file."),
    ),
    live,
  );

  function current(parameters: URLSearchParams): [string, string] {
    for (const [key] of VIEWS) if (parameters.has(key)) return [key, parameters.get(key)!];
    return ["play", ""];
  }

  function route(): void {
    const parameters = new URLSearchParams(location.hash.slice(1));
    const [key, value] = current(parameters);
    context.policy = data.policies.find((policy) => policy.name === parameters.get("of")) ?? data.policies[0];
    chooser.selectedIndex = data.policies.indexOf(context.policy);
    const [, label, make] = VIEWS.find(([name]) => name === key)!;
    let view = made.get(key);
    if (!view) made.set(key, (view = make(context)));
    if (main.firstChild !== view.element) {
      fill(main, view.element);
      window.scrollTo(0, 0);
    }
    for (const [name, tab] of tabs) {
      tab.setAttribute("href", context.link(name));
      if (name === key) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    view.show(value, parameters);
    document.title = `${value && key === "watch" ? `${value} \u00b7 ` : ""}${label} \u00b7 Wilkins`;
  }

  window.addEventListener("hashchange", route);
  window.addEventListener("popstate", route);
  route();
  // For the console: the page's data and its computations.
  Object.assign(window, { wilkins: { data, model, opened: performance.now() } });
}

const app = document.getElementById("app")!;
try {
  start(app);
} catch (error) {
  fill(app, h("p", { class: "fatal" }, `This page's data cannot be read (${error instanceof Error ? error.message : error}); make it again with wilkins view.`));
  throw error;
}
