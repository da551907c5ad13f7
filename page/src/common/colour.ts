// Colours as numbers: mixing, and the ink that reads best on one.

export type Rgb = readonly [red: number, green: number, blue: number];

const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;

/** Any CSS colour as sRGB, 0 to 255. */
export function rgb(colour: string): Rgb {
  probe.fillStyle = "#000";
  probe.fillStyle = colour;
  probe.fillRect(0, 0, 1, 1);
  const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

/** The colour that a custom property of the style stands for here and now, system colours too. */
export function shown(property: string): Rgb {
  const swatch = document.createElement("i");
  swatch.style.cssText = `color: var(${property}); forced-color-adjust: none`;
  document.body.append(swatch);
  const found = rgb(getComputedStyle(swatch).color);
  swatch.remove();
  return found;
}

export const css = (colour: Rgb): string => `rgb(${colour.map(Math.round).join(", ")})`;

export const mix = (a: Rgb, b: Rgb, share: number): Rgb => [0, 1, 2].map((i) => a[i] + (b[i] - a[i]) * share) as unknown as Rgb;

/** Relative luminance, WCAG 2. */
export function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast ratio of two colours, 1 to 21, WCAG 2. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [255, 255, 255];

/** Black or white, whichever has the higher contrast: never less than 4.58. */
export const inkOn = (ground: Rgb): Rgb => (contrast(BLACK, ground) >= contrast(WHITE, ground) ? BLACK : WHITE);
