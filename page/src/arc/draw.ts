// Grids on canvases: cells, numbers, the selection, a ghost of what would be pasted.
import type { Cell, Grid, Selection } from "./editor";

/** Names, and colours of two palettes; the second is distinct for the colour-blind too (after Tol's muted scheme). */
export const PALETTES: Record<string, readonly string[]> = {
  vivid: ["#0b0d0f", "#2f6fd0", "#d8433b", "#3a9c4e", "#f2cf3b", "#9aa0a6", "#c33fa8", "#ee8a2c", "#7cc7ee", "#7d2337"],
  "colour-blind": ["#000000", "#332288", "#cc6677", "#117733", "#ddcc77", "#969696", "#aa4499", "#ee7733", "#88ccee", "#882255"],
};

export interface Look {
  palette: readonly string[];
  numbers: boolean;
}

export interface Marks {
  selection?: Selection | null;
  cursor?: Cell | null;
  ghost?: { grid: Grid; at: Cell } | null;
  stroke?: { cells: readonly Cell[]; colour: number } | null;
}

const light = (colour: string): boolean => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140;
};

export function draw(canvas: HTMLCanvasElement, grid: Grid, side: number, look: Look, marks: Marks = {}): void {
  const height = grid.length, width = grid[0].length, sharp = Math.max(1, Math.ceil(devicePixelRatio || 1));
  canvas.width = (width * side + 1) * sharp;
  canvas.height = (height * side + 1) * sharp;
  canvas.style.width = `${width * side + 1}px`;
  canvas.style.height = `${height * side + 1}px`;
  const pen = canvas.getContext("2d")!;
  pen.scale(sharp, sharp);
  pen.fillStyle = side > 5 ? "#6b7379" : "#40474c";
  pen.fillRect(0, 0, width * side + 1, height * side + 1);
  const gap = side > 5 ? 1 : 0;
  pen.font = `${Math.floor(side * 0.55)}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const cell = (r: number, c: number, colour: number): void => {
    pen.fillStyle = look.palette[colour];
    pen.fillRect(c * side + gap, r * side + gap, side - gap, side - gap);
    if (!look.numbers || side < 9) return;
    pen.fillStyle = light(look.palette[colour]) ? "#000" : "#fff";
    pen.fillText(String(colour), c * side + side / 2 + 0.5, r * side + side / 2 + 1);
  };
  grid.forEach((row, r) => row.forEach((colour, c) => cell(r, c, colour)));
  for (const [r, c] of marks.stroke?.cells ?? []) cell(r, c, marks.stroke!.colour);
  if (marks.ghost) {
    pen.globalAlpha = 0.75;
    marks.ghost.grid.forEach((row, r) => row.forEach((colour, c) => {
      const [y, x] = [marks.ghost!.at[0] + r, marks.ghost!.at[1] + c];
      if (y < height && x < width) cell(y, x, colour);
    }));
    pen.globalAlpha = 1;
  }
  const frame = (top: number, left: number, rows: number, columns: number, dash: number[]): void => {
    for (const [colour, wide] of [["#000", 4], ["#fff", 2]] as const) {
      pen.setLineDash(colour === "#fff" ? dash : []);
      pen.strokeStyle = colour;
      pen.lineWidth = wide;
      pen.strokeRect(left * side + 1.5, top * side + 1.5, columns * side - 2, rows * side - 2);
    }
  };
  const chosen = marks.selection;
  if (chosen) frame(chosen.top, chosen.left, chosen.bottom - chosen.top + 1, chosen.right - chosen.left + 1, [5, 4]);
  if (marks.cursor) frame(marks.cursor[0], marks.cursor[1], 1, 1, []);
}
