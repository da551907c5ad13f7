// What export/keywords/view.py wrote into the page, decoded.
import { bytes } from "../common/bytes";

interface RawMatrix {
  shape: number[];
  data: string;
}

interface RawData {
  package: string;
  keywords: string[];
  questions: string[];
  answers: string;
  firstTier: number;
  tiers: number;
  prior: string;
  tilt: string;
  rate: string;
  weight: string;
  rounds: number;
  agent: string;
  network: Record<string, RawMatrix>;
  shortlist: { asks: number; guesses: number; focus: number };
  reckoning: Reckoning;
  game: { name: string; text: string } | null;
}

/** Reckoning of export/keywords/player.py, by the same names. */
export interface Reckoning {
  look_from: number;
  width: number;
  focus: number;
  ranks: number;
  negligible: number;
  grains: number;
  better: number;
  as_good: number;
  alike: number;
}

/** A layer's weights, [out, in], or its bias, [out]. */
export interface Matrix {
  shape: number[];
  values: Float32Array;
}

export interface Data extends Omit<RawData, "answers" | "prior" | "tilt" | "rate" | "weight" | "network"> {
  /** 1 yes, -1 no, 0 tie, [keywords, questions]. */
  answers: Int8Array;
  prior: Float32Array;
  /** 1 minus twice the rate of wrong answers, [noises, questions]. */
  tilt: Float32Array;
  /** Mean rate of each noise. */
  rate: Float32Array;
  weight: Float32Array;
  network: Record<string, Matrix>;
}

export function decode(text: string): Data {
  const raw = JSON.parse(text) as RawData;
  const floats = (packed: string): Float32Array => new Float32Array(bytes(packed));
  return {
    ...raw,
    answers: new Int8Array(bytes(raw.answers)),
    prior: floats(raw.prior),
    tilt: floats(raw.tilt),
    rate: floats(raw.rate),
    weight: floats(raw.weight),
    network: Object.fromEntries(Object.entries(raw.network).map(([name, { shape, data }]) => [name, { shape, values: floats(data) }])),
  };
}
