// What the tree is drawn on: a canvas to look at and zoom, or an SVG to keep.
import { create } from "d3-selection";

export interface Inks {
  paper: string;
  ink: string;
  lost: string;
}

export interface Surface {
  rect(x: number, y: number, width: number, height: number, fill: string): void;
  /** Stripes, for what is not found: told apart by more than colour. */
  stripes(x: number, y: number, width: number, height: number): void;
  outline(x: number, y: number, width: number, height: number): void;
  /** One line, its middle at `y`. */
  text(words: string, x: number, y: number, size: number, fill: string): void;
  measure(words: string, size: number): number;
}

const TILE = 6;
let font = "";
const family = (): string => (font ||= getComputedStyle(document.body).fontFamily);
const widths = new Map<string, number>();
const ruler = document.createElement("canvas").getContext("2d")!;

function measure(words: string, size: number): number {
  const key = `${size} ${words}`;
  let wide = widths.get(key);
  if (wide === undefined) {
    if (widths.size > 50_000) widths.clear();
    ruler.font = `${size}px ${family()}`;
    widths.set(key, (wide = ruler.measureText(words).width));
  }
  return wide;
}

export function onCanvas(pen: CanvasRenderingContext2D, { paper, ink, lost }: Inks): Surface {
  const tile = document.createElement("canvas");
  tile.width = tile.height = TILE;
  const brush = tile.getContext("2d")!;
  brush.fillStyle = paper;
  brush.fillRect(0, 0, TILE, TILE);
  brush.strokeStyle = lost;
  brush.lineWidth = 1.6;
  brush.beginPath();
  for (const shift of [-TILE, 0, TILE]) {
    brush.moveTo(shift - 1, TILE + 1);
    brush.lineTo(shift + TILE + 1, -1);
  }
  brush.stroke();
  const pattern = pen.createPattern(tile, "repeat")!;
  let last = "";
  const use = (fill: string): void => {
    if (fill !== last) pen.fillStyle = last = fill;
  };
  pen.textBaseline = "middle";
  return {
    rect: (x, y, width, height, fill) => {
      use(fill);
      pen.fillRect(x, y, width, height);
    },
    stripes: (x, y, width, height) => {
      pen.fillStyle = pattern;
      last = "";
      pen.fillRect(x, y, width, height);
    },
    outline: (x, y, width, height) => {
      for (const [stroke, wide] of [[paper, 4], [ink, 2]] as const) {
        pen.strokeStyle = stroke;
        pen.lineWidth = wide;
        pen.strokeRect(x, y, width, height);
      }
    },
    text: (words, x, y, size, fill) => {
      use(fill);
      pen.font = `${size}px ${family()}`;
      pen.fillText(words, x, y);
    },
    measure,
  };
}

export function onSvg(width: number, height: number, title: string, { paper, lost }: Inks): Surface & { svg: SVGSVGElement } {
  const svg = create("svg").attr("viewBox", `0 0 ${Math.round(width)} ${Math.round(height)}`);
  svg.append("title").text(title);
  const pattern = svg.append("defs").append("pattern").attr("id", "stripes").attr("width", TILE).attr("height", TILE).attr("patternUnits", "userSpaceOnUse");
  pattern.append("rect").attr("width", TILE).attr("height", TILE).attr("fill", paper);
  for (const shift of [-TILE, 0, TILE]) pattern.append("path").attr("d", `M${shift - 1} ${TILE + 1}L${shift + TILE + 1} -1`).attr("stroke", lost).attr("stroke-width", 1.6);
  const box = (x: number, y: number, wide: number, tall: number, fill: string): void => {
    svg.append("rect").attr("x", x.toFixed(2)).attr("y", y.toFixed(2)).attr("width", wide.toFixed(2)).attr("height", tall.toFixed(2)).attr("fill", fill);
  };
  return {
    svg: svg.node()!,
    rect: box,
    stripes: (x, y, wide, tall) => box(x, y, wide, tall, "url(#stripes)"),
    outline: () => undefined, // a cursor is of the moment
    text: (words, x, y, size, fill) => {
      svg.append("text").attr("x", x.toFixed(2)).attr("y", y.toFixed(2)).attr("dominant-baseline", "central").attr("font-family", family()).attr("font-size", size).attr("fill", fill).text(words);
    },
    measure,
  };
}
