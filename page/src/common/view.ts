// What a view is, and how it moves the page: types only.

export interface Navigation {
  /** Address of a view in a state: `value` stands behind the view's name, `extra` after it. */
  link(view: string, value?: string, extra?: Record<string, string>): string;
  /** Go there; `quiet` adds no entry to the history. */
  go(address: string, quiet?: boolean): void;
  /** Change parameters of the address in place, an empty one leaves it; the view that is shown stays. */
  adjust(extra: Record<string, string>): void;
  /** Say something to screen readers. */
  say(text: string): void;
}

export interface View {
  element: HTMLElement;
  /** Show the state of an address. `value` is what stands behind the view's own name. */
  show(value: string, parameters: URLSearchParams): void;
}

/** A tab of the page: key in the address, label, and the view once it is first opened. */
export type Tab = readonly [key: string, label: string, make: () => View];
