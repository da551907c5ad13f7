// Reads a game of the real environment from its JSON, trusting nothing; what is wrong is one line with its place.

/** A guesser and an answerer. */
export interface Pair {
  questions: string[];
  answers: string[];
  guesses: string[];
  reward: number | null;
  /** Round of the right guess; null where there was none. */
  wonIn: number | null;
}

export interface Game {
  keyword: string;
  category: string;
  pairs: Pair[];
}

const LARGEST_FILE = 16 << 20;
const NAME = "llm_20_questions";

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

function list(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new Error(`${where}: a list is needed`);
  return value as unknown[];
}

function object(value: unknown, where: string): Json {
  if (!isObject(value)) throw new Error(`${where}: an object is needed`);
  return value;
}

/** Players may say anything that is no text, or nothing at all. */
const texts = (value: unknown, where: string): string[] => list(value, where).map((said) => (typeof said === "string" ? said : said === null || said === undefined ? "" : JSON.stringify(said)));

/** The game in the text of `env.toJSON()`. Throws an Error of one line for anything else. */
export function parseGame(text: string, file: string): Game {
  if (text.length > LARGEST_FILE) throw new Error(`${file}: larger than ${LARGEST_FILE >> 20} MB; a game is a few hundred KB`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error(`${file}: not JSON`);
  }
  const game = object(parsed, file);
  if (game.name !== NAME) throw new Error(`${file}: not a game of ${NAME}; save env.toJSON() of one`);
  const steps = list(game.steps, `${file}, steps`);
  if (steps.length === 0) throw new Error(`${file}, steps: none; the game was not played`);
  const seats = (at: number): Json[] => list(steps[at], `${file}, step ${at}`).map((seat, i) => object(object(seat, `${file}, step ${at}, player ${i}`).observation, `${file}, step ${at}, player ${i}, observation`));
  const last = seats(steps.length - 1);
  if (last.length !== 4) throw new Error(`${file}: ${last.length} players; a game has four, two pairs`);
  const rewards = Array.isArray(game.rewards) ? (game.rewards as unknown[]) : [];
  const pairs = [0, 2].map((seat): Pair => {
    const [questions, answers, guesses] = ["questions", "answers", "guesses"].map((part) => texts(last[seat][part], `${file}, player ${seat}, ${part}`));
    const reward = typeof rewards[seat] === "number" ? (rewards[seat] as number) : null;
    // The last guess of a pair that was paid hit; one that was paid for the others' fault stands at 1 before its last round.
    return { questions, answers, guesses, reward, wonIn: reward !== null && reward > 0 && 21 - reward === guesses.length ? guesses.length : null };
  });
  let [keyword, category] = ["", ""];
  for (let at = steps.length - 1; at >= 0 && !keyword; at--) {
    for (const seen of seats(at)) {
      if (typeof seen.keyword === "string" && seen.keyword) [keyword, category] = [seen.keyword, typeof seen.category === "string" ? seen.category : ""];
    }
  }
  return { keyword, category, pairs };
}

/** What the game takes an answer for: yes where "yes" is in it, else no where "no" is; undefined is an error. */
export function readAnswer(answer: string): boolean | undefined {
  const said = answer.toLowerCase();
  return said.includes("yes") ? true : said.includes("no") ? false : undefined;
}

/** Text as guesses are compared: see `normalise` of env/keywords/comparison.py. */
export const normalise = (text: string): string => text.toLowerCase().replaceAll("the", "").replaceAll(" ", "").replace(/[!-/:-@[-`{-~]/g, "");

/** Whether the game takes two texts for one keyword: equal once normalised, or equal but for a final s or es. */
export function same(one: string, other: string): boolean {
  const [short, long] = [normalise(one), normalise(other)].sort((a, b) => a.length - b.length);
  return short === long || (short.length >= 3 && (long === `${short}s` || long === `${short}es`));
}
