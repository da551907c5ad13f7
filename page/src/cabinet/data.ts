// What view.py wrote into the page, decoded. Axes are given as [candidates, questions].

import { bytes } from "../common/bytes";
import { distinct } from "../common/text";

/** Chance that an answer turns over, by the size of its margin; linear between the points. */
export interface FlipCurve {
  margin: number[];
  flip: number[];
}

/** What a player takes a platform's answers to be. */
export interface Assumed {
  noise: number;
  /** Share of the answers that it takes to be noisier than that. */
  doubt: number;
  /** Null where the answers follow Gaussian noise alone. */
  curve: FlipCurve | null;
}

/** An evaluation while the agent was trained: scores x100 by name. */
export interface Evaluation {
  steps: number;
  scores: Record<string, number>;
}

interface RawPolicy {
  name: string;
  assumed: Assumed;
  training: Evaluation[];
  root: number;
  kind: string;
  value: string;
  yes: string;
  no: string;
  solved: string;
  calls: string;
  score: string;
  curve: number[];
  measured: number;
}

interface RawData {
  package: string;
  model: string;
  choice: string;
  animals: string[];
  questions: string[];
  candidates: number[];
  margins: string;
  scale: number;
  missing: string;
  budget: number;
  cost: number;
  noise: number;
  /** How the noise is known: measured or assumed. */
  source: string;
  /** The platform's flips where they were measured, null where noise is Gaussian. */
  curve: FlipCurve | null;
  floor: number;
  limit: { calls: number; score: number };
  levels: number[];
  twin: string;
  differ: string;
  policies: RawPolicy[];
}

export const ASK = 0;
export const GUESS = 1;
export const STOP = 2;

/** Stands among the margins for an answer that nobody measured. */
export const MISSING = -32768;

export interface Policy {
  name: string;
  /** What the policy was made to believe of the answers. */
  assumed: Assumed;
  training: Evaluation[];
  root: number;
  kind: Uint8Array;
  value: Int32Array;
  yes: Int32Array;
  no: Int32Array;
  /** Per candidate, exact expectations at the page's noise, computed where the page was made. */
  solved: Float32Array;
  calls: Float32Array;
  score: Float32Array;
  /** Mean round score x100 at each of `levels`. */
  curve: number[];
  /** Mean round score x100 on the answers as measured. */
  measured: number;
}

export interface Data extends Omit<RawData, "margins" | "missing" | "twin" | "differ" | "policies" | "candidates"> {
  /** Animal identifiers of the candidates. */
  candidates: Int32Array;
  /** Candidate position of an animal identifier, -1 where it is none. */
  position: Int32Array;
  /** Quantised margins [candidates, questions]; margin = q * scale, the sign is the answer, MISSING where there is none. */
  margins: Int16Array;
  /** Per question P(yes) of an answer that is missing. */
  missing: Float64Array;
  /** Per candidate the other one that fewest answers tell apart from it, and how many do. */
  twin: Int32Array;
  differ: Uint16Array;
  policies: Policy[];
}

export function decode(text: string): Data {
  const raw = JSON.parse(text) as RawData;
  const candidates = Int32Array.from(raw.candidates);
  const position = new Int32Array(raw.animals.length).fill(-1);
  candidates.forEach((animal, at) => (position[animal] = at));
  return {
    ...raw,
    animals: distinct(raw.animals),
    questions: distinct(raw.questions),
    candidates,
    position,
    margins: new Int16Array(bytes(raw.margins)),
    missing: new Float64Array(bytes(raw.missing)),
    twin: new Int32Array(bytes(raw.twin)),
    differ: new Uint16Array(bytes(raw.differ)),
    policies: raw.policies.map((policy) => ({
      ...policy,
      kind: new Uint8Array(bytes(policy.kind)),
      value: new Int32Array(bytes(policy.value)),
      yes: Int32Array.from(new Int16Array(bytes(policy.yes))),
      no: Int32Array.from(new Int16Array(bytes(policy.no))),
      solved: new Float32Array(bytes(policy.solved)),
      calls: new Float32Array(bytes(policy.calls)),
      score: new Float32Array(bytes(policy.score)),
    })),
  };
}
