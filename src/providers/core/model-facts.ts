import { BoundedMap } from "../../lib/bounded-map.ts";
import { type EffortLevel, effortLevels, type ModelFacts } from "../../schemas/model-facts.ts";

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
/** Longest name that is looked up: what is longer names no model. */
const maxNameLength = 256;

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
  const find = (model: string): { facts: ModelFacts | undefined } => {
    if (model.length > maxNameLength) return { facts: undefined };
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
