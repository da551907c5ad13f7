// What is shown, to keep: charts as SVG and PNG, tables as CSV. Nothing leaves the browser but as a download.
import { h } from "./dom";

export interface Keepable {
  /** Name of the file, without its ending. */
  stem: string;
  /** What the buttons name to a screen reader. */
  what: string;
  svg?: () => SVGSVGElement | null;
  /** Rows, the heads first. */
  csv?: () => (string | number)[][];
}

const SHARP = 2;
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "display", "opacity"];

function download(content: Blob, file: string): void {
  const address = URL.createObjectURL(content);
  h("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The picture as a file of its own: what the page's style says of it is written into it. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [, , width, height] = svg.getAttribute("viewBox")!.split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  if (svg.isConnected) {
    const originals = svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      for (const name of LOOKS) element.setAttribute(name, style.getPropertyValue(name));
    });
  }
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: getComputedStyle(document.body).getPropertyValue("--card").trim() })) ground.setAttribute(name, value);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** RFC 4180, with the byte-order mark that spreadsheets need to see UTF-8. */
export function csvText(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number): string => (/[",\r\n]|^\s|\s$/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  return `\ufeff${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

async function png(svg: SVGSVGElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
  await image.decode();
  const canvas = h("canvas", { width: SHARP * image.width, height: SHARP * image.height });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the picture is too large"))), "image/png"));
}

/** Buttons that save what is shown at the moment they are pressed. */
export function saver({ stem, what, svg, csv }: Keepable): HTMLElement {
  const file = (ending: string): string => `${stem}.${ending}`;
  const drawn = (use: (picture: SVGSVGElement) => void): void => {
    const picture = svg?.();
    if (picture) use(picture);
  };
  const button = (label: string, save: () => void): HTMLElement => h("button", { type: "button", class: "link", onclick: save }, label, h("span", { class: "offscreen" }, ` of ${what}`));
  return h(
    "p",
    { class: "save" },
    h("span", {}, "Save"),
    svg ? button("PNG", () => drawn((picture) => void png(picture).then((blob) => download(blob, file("png"))))) : null,
    svg ? button("SVG", () => drawn((picture) => download(new Blob([standalone(picture)], { type: "image/svg+xml" }), file("svg")))) : null,
    csv ? button("CSV", () => download(new Blob([csvText(csv())], { type: "text/csv;charset=utf-8" }), file("csv"))) : null,
  );
}
