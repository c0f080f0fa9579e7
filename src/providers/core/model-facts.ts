import { BoundedMap } from "../../lib/bounded-map.ts";

/** Effort levels of reasoning, from the least to the most. */
const effortLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type EffortLevel = (typeof effortLevels)[number];

/**
 * What a model takes and has. A member that is absent is not known to differ from OpenAI's chat completions. Facts are plain
 * JSON, so that operators can give them for models that are newer than the release.
 */
export interface ModelFacts {
  /** Sampling fields (`temperature`, `top_p`, `top_k`): any, one of them, or none. Default: any. */
  sampling?: "any" | "one" | "none";
  /** Effort levels. An empty list: the model takes no effort. Default: any level is sent. */
  efforts?: readonly EffortLevel[];
  /**
   * The form in which the model is asked to think: a budget that it chooses, one in tokens, either of them, a level, or a
   * switch. Default: an effort level alone.
   */
  thinking?: "adaptive" | "budget" | "either" | "level" | "switch" | "none";
  /** Least and greatest thinking budget in tokens. */
  thinkingBudget?: readonly [least: number, most: number];
  /** Whether thinking can be turned off. Default: yes. */
  canStopThinking?: boolean;
  /** Whether it thinks unless it is asked not to. Default: no. */
  thinksByDefault?: boolean;
  /** Whether chat completions serve functions together with reasoning. Default: yes. */
  chatServesToolsWithReasoning?: boolean;
  /** Greatest length of a function's name. Default: 64. */
  toolNameLength?: number;
  /** Ids of tool calls: any, letters with digits, hyphens and underscores, or nine letters and digits. Default: any. */
  callIds?: "any" | "plain" | "nine";
  /** Whether a function's schema may have `anyOf`, `oneOf` or `allOf` at its root. Default: no. */
  takesRootCombinators?: boolean;
  /** Where an instruction in mid conversation goes: it stays an instruction, or becomes the user's. Default: it stays. */
  lateInstructions?: "system" | "user";
  /** Whether arguments of earlier calls must be JSON objects. Default: no. */
  parsesArguments?: boolean;
  /** Whether calls of earlier turns need the reasoning they came with, if only an empty one. Default: no. */
  needsReasoningOfCalls?: boolean;
  /** JSON schemas of responses: taken, taken with a beta, or not taken. Default: taken. */
  responseSchemas?: "native" | "beta" | "none";
  /** Images in requests: by URL and inline, inline only, or none. Default: both. */
  images?: "any" | "inline" | "none";
  /** Tokens of input and output together. */
  contextWindow?: number;
  /** Most tokens of output. */
  maxOutputTokens?: number;
  /** Day on which the provider stops serving the model, as YYYY-MM-DD. */
  retiredOn?: string;
}

/** Facts of the models whose names match. */
interface FactRow {
  /** Names in lower case; `*` stands for any characters. A host's prefixes and suffixes are matched by a `*` too. */
  match: readonly string[];
  facts: ModelFacts;
}

/** Facts of a provider's models. */
export interface FactTable {
  /** Day of the last reading of the sources, as YYYY-MM-DD. */
  read: string;
  /** Pages of the provider's documentation. */
  sources: readonly string[];
  /** Facts of models that no row matches: those of the newest generation, since unknown names are newer than the table. */
  newest: ModelFacts;
  /** The first row that matches counts; what it does not say is as in `common`. */
  rows: readonly FactRow[];
  /** Facts of all models, unless a row or `newest` says otherwise. */
  common?: ModelFacts;
}

/** Most names whose facts a table remembers. */
const maxNames = 1_000;

const toPattern = (glob: string): RegExp =>
  new RegExp(`^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`);

/**
 * Looks facts up by the name of a model. Names that no row matches count as the newest generation at the provider's own host.
 * At a custom host they may be any other server's, so only what holds for all models is known of them.
 */
export type FactReader = (model: string, host?: { hasCustomHost?: boolean | undefined }) => ModelFacts;

/** Reads a table. */
export function createFactReader({ rows, common, newest }: FactTable): FactReader {
  const patterns = rows.map(({ match, facts }) => ({ patterns: match.map(toPattern), facts: { ...common, ...facts } }));
  const ofAll: ModelFacts = { ...common };
  const others: ModelFacts = { ...common, ...newest };
  const known = new BoundedMap<string, { facts: ModelFacts | undefined }>(maxNames);
  const find = (model: string) => {
    const name = model.toLowerCase();
    const row = patterns.find((one) => one.patterns.some((pattern) => pattern.test(name)));
    const found = { facts: row?.facts };
    known.set(model, found);
    return found;
  };
  return (model, { hasCustomHost = false } = {}) =>
    (known.get(model) ?? find(model)).facts ?? (hasCustomHost ? ofAll : others);
}

/** The level nearest to the one that was asked for; the lower one of two that are as near. Undefined without levels. */
export function nearestEffort(asked: EffortLevel, levels: readonly EffortLevel[]): EffortLevel | undefined {
  const wanted = effortLevels.indexOf(asked);
  let best: EffortLevel | undefined;
  let distance = Number.POSITIVE_INFINITY;
  for (const level of levels) {
    // thinking that was asked for is not turned off, nor the reverse where there is a way
    if ((level === "none") !== (asked === "none") && levels.length > 1) continue;
    const away = Math.abs(effortLevels.indexOf(level) - wanted);
    if (away >= distance) continue;
    best = level;
    distance = away;
  }
  return best ?? levels[0];
}

/** Whether a value is an effort level. */
export function isEffort(value: unknown): value is EffortLevel {
  return effortLevels.some((level) => level === value);
}
