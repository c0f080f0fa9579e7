import { BoundedMap } from "../../lib/bounded-map.ts";
import { Pattern } from "../../lib/wildcards.ts";
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
  /**
   * What is known of models by name, for lists of models: windows, modalities, days of retirement. The first that matches
   * counts, over what a row says. A name without a card says nothing about them.
   */
  cards?: ModelCards;
}

/** What is known of models by name. */
export type ModelCards = readonly FactRow[];

/** Cards of models for another host than their maker's, which sets the days of their retirement itself. */
export function atAnotherHost(cards: ModelCards = []): ModelCards {
  return cards.map(({ match, facts: { retiredOn: _, ...facts } }) => ({ match, facts }));
}

/** Most names whose facts a table remembers. */
const maxNames = 1_000;
/** Longest name that is looked up: what is longer names no model. */
const maxNameLength = 256;

/**
 * Looks facts up by the name of a model. Names that no row matches count as the newest generation at the provider's own host.
 * At a custom host they may be any other server's, so only what holds for all models is known of them.
 */
export type FactReader = (model: string, host?: { hasCustomHost?: boolean | undefined }) => ModelFacts;

/** Facts of one model, at the provider's own host and at a custom host. */
interface KnownFacts {
  own: ModelFacts;
  custom: ModelFacts;
}

/** Finds the facts of the first row that matches a name in lower case. */
function createRowFinder(rows: readonly FactRow[]): (name: string) => ModelFacts | undefined {
  const patterns = rows.map(({ match, facts }) => ({ patterns: match.map((text) => new Pattern(text)), facts }));
  return (name) => patterns.find((one) => one.patterns.some((pattern) => pattern.fits(name)))?.facts;
}

/** Whether hosts of this table fetch no images for some of their models, which are sent the images instead of addresses. */
export function inlinesImages({ rows, common, newest, cards = [] }: FactTable): boolean {
  const all = [common, newest, ...[...rows, ...cards].map(({ facts }) => facts)];
  return all.some((facts) => facts?.images === "inline");
}

/** Reads a table. */
export function createFactReader({ rows, common, newest, cards = [] }: FactTable): FactReader {
  const [findRow, findCard] = [createRowFinder(rows), createRowFinder(cards)];
  const unnamed: KnownFacts = { own: { ...common, ...newest }, custom: { ...common } };
  const known = new BoundedMap<string, KnownFacts>(maxNames);
  const find = (model: string): KnownFacts => {
    if (model.length > maxNameLength) return unnamed;
    const name = model.toLowerCase();
    const [row, card] = [findRow(name), findCard(name)];
    const own: ModelFacts = { ...common, ...(row ?? newest), ...card };
    const found = row ? { own, custom: own } : card ? { own, custom: { ...common, ...card } } : unnamed;
    known.set(model, found);
    return found;
  };
  return (model, { hasCustomHost = false } = {}) => {
    const { own, custom } = known.get(model) ?? find(model);
    return hasCustomHost ? custom : own;
  };
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
