import { BoundedMap } from "../lib/bounded-map.ts";
import type { Pattern } from "../lib/wildcards.ts";
import {
  type CompiledCondition,
  type Condition,
  compile,
  type GroupBy,
  holds,
  metadataNameOf,
  modelKey,
  type ReadCondition,
  type Reader,
  readCondition,
  readerOf,
  type Subject,
  Values,
} from "./conditions.ts";

/** Something that applies where all its conditions hold. */
export interface Conditional {
  readonly conditions: readonly Condition[];
  /** Keys whose values distinguish its buckets. */
  readonly groupBy?: GroupBy;
}

/** Whether something applies, or counts, by the model of a request. */
export function looksAtModel({ conditions, groupBy = [] }: Conditional): boolean {
  return [...conditions, ...groupBy].some(({ key }) => key === modelKey);
}

/** One entry of an index with its conditions read. */
interface Indexed<Entry> {
  readonly entry: Entry;
  readonly conditions: readonly CompiledCondition[];
  /** Number of the last search that looked at it. */
  seenIn: number;
}

/** One search: what a request has, and the entries found for it. */
class Search<Entry> {
  readonly values: Values;
  readonly #number: number;
  readonly found: Entry[] = [];

  constructor(values: Values, number: number) {
    this.values = values;
    this.#number = number;
  }

  /** Adds the entries of a list that apply. */
  look(listed: readonly Indexed<Entry>[]): void {
    for (const indexed of listed) {
      if (indexed.seenIn === this.#number) continue;
      indexed.seenIn = this.#number;
      if (this.#holdAll(indexed)) this.found.push(indexed.entry);
    }
  }

  #holdAll({ conditions }: Indexed<Entry>): boolean {
    for (const condition of conditions) if (!holds(condition, this.values)) return false;
    return true;
  }
}

/** What an entry is listed under: a value, or how values begin or end. Patterns with a `*` at both ends have no place. */
interface Place {
  readonly kind: "exact" | "prefix" | "suffix";
  readonly text: string;
}

/** Where an entry with this pattern can be listed. */
function placesOf({ first, last }: Pattern): Place[] {
  if (last === undefined) return [{ kind: "exact", text: first }];
  const ends = [
    { kind: "prefix", text: first },
    { kind: "suffix", text: last },
  ] as const;
  return ends.filter(({ text }) => text !== "");
}

/** An entry and the pattern it is listed by. */
interface ByPattern<Entry> {
  readonly pattern: Pattern;
  readonly indexed: Indexed<Entry>;
}

/** Lists of entries by how values begin, or end, with a text of one length. */
interface ByEnd<Entry> {
  readonly length: number;
  readonly byText: Map<string, ByPattern<Entry>[]>;
}

/** Values whose entries are remembered, the longest of them, and most entries of one. */
const remembered = { values: 256, length: 256, entries: 100 };

/** Adds to a list of a map, which begins empty. */
function push<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

const noSlots: readonly number[] = [];

/** Entries that are found by one key. */
class KeyIndex<Entry> {
  readonly all: Indexed<Entry>[] = [];
  readonly #exact = new Map<string, Indexed<Entry>[]>();
  readonly #ends: Readonly<Record<"prefix" | "suffix", ByEnd<Entry>[]>> = { prefix: [], suffix: [] };
  readonly #others: ByPattern<Entry>[] = [];
  readonly #known = new BoundedMap<string, readonly Indexed<Entry>[]>(remembered.values);
  #hasPatterns = false;

  add(pattern: Pattern, place: Place | undefined, indexed: Indexed<Entry>): void {
    this.all.push(indexed);
    if (place?.kind === "exact") {
      push(this.#exact, place.text, indexed);
      return;
    }
    this.#hasPatterns = true;
    if (!place) {
      this.#others.push({ pattern, indexed });
      return;
    }
    const { length } = place.text;
    const ends = this.#ends[place.kind];
    let end = ends.find((one) => one.length === length);
    if (!end) {
      end = { length, byText: new Map() };
      ends.push(end);
    }
    push(end.byText, place.text, { pattern, indexed });
  }

  /** Looks at the entries that a value concerns. */
  search(value: string, search: Search<Entry>): void {
    const whole = this.#exact.get(value);
    if (whole) search.look(whole);
    if (this.#hasPatterns) search.look(this.#known.get(value) ?? this.#fitting(value));
  }

  /** Entries whose pattern a value fits. */
  #fitting(value: string): readonly Indexed<Entry>[] {
    const found: Indexed<Entry>[] = [];
    const look = (listed: readonly ByPattern<Entry>[] = []) => {
      for (const { pattern, indexed } of listed) if (pattern.fits(value)) found.push(indexed);
    };
    for (const { length, byText } of this.#ends.prefix) {
      if (length <= value.length) look(byText.get(value.slice(0, length)));
    }
    for (const { length, byText } of this.#ends.suffix) {
      if (length <= value.length) look(byText.get(value.slice(value.length - length)));
    }
    look(this.#others);
    if (value.length <= remembered.length && found.length <= remembered.entries) this.#known.set(value, found);
    return found;
  }
}

/** How much of a search among patterns without a place a request pays for: results are remembered. */
const shareOfSearch = 0.1;

const isAnything = ({ text }: Pattern): boolean => /^\*+$/.test(text);

/** How many entries could be listed at each place of a key. */
class PlaceCounts {
  readonly #counts = new Map<string, number>();

  static #name = (key: string, place: Place | undefined) => (place ? `${key}\0${place.kind}\0${place.text}` : key);

  add(key: string, patterns: readonly Pattern[]): void {
    for (const pattern of patterns) {
      const places = placesOf(pattern);
      for (const place of places.length === 0 ? [undefined] : places) {
        const name = PlaceCounts.#name(key, place);
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      }
    }
  }

  #of(key: string, place: Place | undefined): number {
    return this.#counts.get(PlaceCounts.#name(key, place)) ?? 0;
  }

  /** The place of a pattern that it shares with the fewest entries. */
  bestOf(key: string, pattern: Pattern): Place | undefined {
    const [one, other] = placesOf(pattern);
    return one && other && this.#of(key, other) < this.#of(key, one) ? other : one;
  }

  /** Entries that are looked at for a value of a request if an entry is listed by this pattern. */
  workOf(key: string, pattern: Pattern): number {
    const place = this.bestOf(key, pattern);
    if (place) return this.#of(key, place);
    return isAnything(pattern) ? Number.POSITIVE_INFINITY : this.#of(key, undefined) * shareOfSearch;
  }
}

/**
 * Finds the entries whose conditions all hold. Each entry is listed under the values of the condition that it shares with
 * the fewest others, so that a request looks only at those that are likely to apply to it.
 */
export class ConditionIndex<Entry extends Conditional> {
  /** Keys of all conditions by their slot, and how to read them. */
  readonly #slots = new Map<string, number>();
  readonly #readers: Reader[] = [];
  /** By slot. */
  readonly #indexes: (KeyIndex<Entry> | undefined)[] = [];
  /** Slots of keys that entries are listed under: of metadata by name, since policies may look at many and requests have few. */
  readonly #fixed: number[] = [];
  readonly #byMetadata = new Map<string, number[]>();
  /** Slot of the model, if entries are listed under it. */
  #ofModel: number | undefined;
  #searches = 0;

  /** Whether an entry applies, or counts, by the model of a request. */
  readonly looksAtModels: boolean;

  constructor(entries: readonly Entry[]) {
    this.looksAtModels = entries.some(looksAtModel);
    const counts = new PlaceCounts();
    const read = entries.map((entry) => ({ entry, conditions: entry.conditions.map(readCondition) }));
    for (const { key, patterns } of read.flatMap(({ conditions }) => conditions)) counts.add(key, patterns);
    for (const { entry, conditions } of read) this.#add(entry, conditions, counts);
  }

  #slotOf(key: string): number {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    const slot = this.#readers.push(readerOf(key)) - 1;
    this.#slots.set(key, slot);
    return slot;
  }

  /** The entries found by a key. */
  #indexOf(key: string): KeyIndex<Entry> {
    const slot = this.#slotOf(key);
    const known = this.#indexes[slot];
    if (known) return known;
    const made = new KeyIndex<Entry>();
    this.#indexes[slot] = made;
    const name = metadataNameOf(key);
    if (name === undefined) this.#fixed.push(slot);
    else push(this.#byMetadata, name, slot);
    if (key === modelKey) this.#ofModel = slot;
    return made;
  }

  #add(entry: Entry, conditions: readonly ReadCondition[], counts: PlaceCounts): void {
    const workOf = ({ key, patterns }: ReadCondition) =>
      Math.max(...patterns.map((pattern) => counts.workOf(key, pattern)));
    const [chosen] = conditions
      .map((condition) => ({ condition, work: workOf(condition) }))
      .sort((one, other) => one.work - other.work);
    if (!chosen) return;
    const { key, patterns } = chosen.condition;
    const index = this.#indexOf(key);
    const compiled = conditions.map((condition) => compile(condition, this.#slotOf(condition.key)));
    const indexed: Indexed<Entry> = { entry, conditions: compiled, seenIn: 0 };
    for (const pattern of patterns) index.add(pattern, counts.bestOf(key, pattern), indexed);
  }

  /** Entries that apply to a request, or may apply to one that may name any model, each once. */
  find(subject: Subject): readonly Entry[] {
    const search = new Search<Entry>(new Values(subject, this.#readers), ++this.#searches);
    for (const slot of this.#fixed) this.#search(slot, search);
    if (this.#byMetadata.size === 0) return search.found;
    for (const name of Object.keys(subject.metadata)) {
      for (const slot of this.#byMetadata.get(name.normalize("NFC")) ?? noSlots) this.#search(slot, search);
    }
    return search.found;
  }

  #search(slot: number, search: Search<Entry>): void {
    const index = this.#indexes[slot];
    if (!index) return;
    if (slot === this.#ofModel && search.values.mayNameAnyModel) search.look(index.all);
    else for (const spellings of search.values.of(slot)) for (const text of spellings) index.search(text, search);
  }
}
