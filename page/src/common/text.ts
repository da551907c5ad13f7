// Text as people write it: articles, direction, cutting between letters, and names found however they are spelled.

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const cutUp = new Map<string, string[]>();

/** What a reader takes for letters: an emoji or an accented letter is one. */
export function graphemes(text: string): string[] {
  let letters = cutUp.get(text);
  if (!letters) cutUp.set(text, (letters = /^[\x20-\x7e]*$/.test(text) ? text.split("") : Array.from(segmenter.segment(text), ({ segment }) => segment)));
  return letters;
}

/** The text if it `fits`; else as many letters of it as fit with an ellipsis, nothing if that is fewer than `least`. */
export function cut(text: string, fits: (text: string) => boolean, least = 3): string {
  if (fits(text)) return text;
  const letters = graphemes(text);
  const start = (count: number): string => `${letters.slice(0, count).join("").trimEnd()}\u2026`;
  let low = 0;
  let high = letters.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(start(middle))) low = middle;
    else high = middle - 1;
  }
  return low < least ? "" : start(low);
}

export function sentence(text: string): string {
  const [first = ""] = graphemes(text);
  return first.toUpperCase() + text.slice(first.length);
}

const TURNS = /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A name for the middle of a sentence that is plain text: one from right to left must not turn what stands around it. */
export const isolated = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name);

const accentless = (text: string): string => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

// The sound decides: a unicorn, a ewe, a one-humped camel; an hour, an x-ray tetra, an 8-spotted moth.
const VOWEL = /^([aeiou]|hours?\b|honest|honou?r|heir|[fhlmnrsx](?![a-z])|8|11(?!\d)|18(?!\d))/;
const CONSONANT = /^(uni([^nm]|$)|unau|u[st][aeiou]|ur[aeio]|ua|u(?![a-z])|eu|ewe?s?\b|one\b|once\b|oui)/;

/** "a" or "an", as English says it. */
export function article(name: string): string {
  const heard = accentless(name).replace(/^[\s\p{P}\p{Cf}]+/u, "");
  return VOWEL.test(heard) && !CONSONANT.test(heard) ? "an" : "a";
}

const SPELT: Record<string, string> = { "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00fe": "th", "\u00f0": "d", "\u0131": "i" };
const IRREGULAR: Record<string, string> = { mice: "mouse", lice: "louse", geese: "goose", oxen: "ox" };

const words = (text: string): string[] =>
  accentless(text).replace(/[\u00df\u00e6\u0153\u00f8\u0142\u0111\u00fe\u00f0\u0131]/g, (letter) => SPELT[letter]).split(/[\p{P}\p{Cf}\s]+/u).filter(Boolean);

/** What a word and its plural have in common; no word of its own. */
function stem(word: string): string {
  return (IRREGULAR[word] ?? word)
    .replace(/(?<=..)ies$/, "i")
    .replace(/(?<=..)ves$/, "f")
    .replace(/(?<=.[sxzo]|ch|sh)es$/, "")
    .replace(/(?<=..)s+$/, "")
    .replace(/(?<=..)e$/, "")
    .replace(/(?<=..)v$/, "f")
    .replace(/(?<=..)y$/, "i");
}

interface Spelling {
  plain: string;
  /** Without accents, spaces and punctuation. */
  folded: string;
  /** The same of the words' stems. */
  stemmed: string;
  words: string[];
}

const spellings = new Map<string, Spelling>();

function spelling(text: string): Spelling {
  let found = spellings.get(text);
  if (!found) {
    const parts = words(text);
    found = { plain: text.trim().toLowerCase(), folded: parts.join(""), stemmed: parts.map(stem).join(""), words: parts };
    spellings.set(text, found);
  }
  return found;
}

/** Letters to change, leave out, add or swap between two texts (optimal string alignment), `most + 1` where more. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    if (Math.min(...next) > most) return most + 1;
    [before, row] = [row, next];
  }
  return row[b.length];
}

/** How far a name is from what was typed; from NEAR on it is another spelling at best, Infinity is no match. */
export const NEAR = 6;

/** Ranks: 0 the name itself, 1 in other letters, 2 in the plural, 3 its start, 4 the start of a word, 5 a part, NEAR a near miss. */
export function rank(name: string, typed: string): number {
  const [a, b] = [spelling(name), spelling(typed)];
  if (a.plain === b.plain) return 0;
  if (b.folded === "") return b.plain !== "" && a.plain.includes(b.plain) ? 5 : b.plain === "" ? 3 : Infinity;
  if (a.folded === b.folded) return 1;
  if (a.stemmed === b.stemmed) return 2;
  const long = b.stemmed.length > 2;
  if (a.folded.startsWith(b.folded) || (long && a.stemmed.startsWith(b.stemmed))) return 3;
  if (a.words.some((word) => word.startsWith(b.folded))) return 4;
  if (a.folded.includes(b.folded) || a.plain.includes(b.plain) || (long && a.stemmed.includes(b.stemmed))) return 5;
  const most = b.folded.length < 4 ? 0 : b.folded.length < 6 ? 1 : 2;
  if (most === 0) return Infinity;
  const off = Math.min(distance(a.folded, b.folded, most), distance(a.stemmed, b.stemmed, most), ...a.words.map((word) => distance(word, b.folded, most) + 0.5));
  return off <= most ? NEAR + off : Infinity;
}

/** Names that all differ: the second of equal ones gets a number. */
export function distinct(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let label = name;
    for (let count = 2; seen.has(label); count++) {
      label = `${name} (${count})`;
      if (taken.has(label)) seen.add(label);
    }
    seen.add(label);
    return label;
  });
}
