import { isObject, stringOf } from "../lib/json.ts";

/** A number, also as text; YAML 1.1 takes `20_000` for one. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /\d/.test(value) ? Number(value.replaceAll("_", "")) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined;

const flagOf = (value: unknown): boolean | undefined => (typeof value === "boolean" ? value : undefined);

/** A list of strings, or one string. */
function stringsOf(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const strings = list.filter((one) => typeof one === "string");
  return strings.length === list.length ? strings : undefined;
}

/** An object of an old configuration. It knows which of its members nothing has read, so that the report can name each. */
export class Source {
  /** Such as `model_list.0.litellm_params`; empty for the whole configuration. */
  readonly path: string;
  readonly #members: Readonly<Record<string, unknown>>;
  #others: Source | undefined;
  readonly #unread: Set<string>;
  readonly #parts = new Map<string, Source>();

  constructor(value: unknown, path = "") {
    this.path = path;
    this.#members = isObject(value) ? value : {};
    this.#unread = new Set(Object.keys(this.#members).filter((name) => this.#members[name] !== null));
  }

  /** Members that it lacks are looked for in another object. */
  complete(others: Source): void {
    this.#others = others;
  }

  #pathOf(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  /** Names of its members. */
  get names(): string[] {
    return Object.keys(this.#members);
  }

  /** Whether a member has a value. */
  has(name: string): boolean {
    return this.#members[name] != null || (!this.#owns(name) && this.#others?.has(name) === true);
  }

  #owns(name: string): boolean {
    return Object.hasOwn(this.#members, name);
  }

  /** A member as it is, with all that is in it. */
  take(name: string): unknown {
    return this.read(name, (value) => value);
  }

  text(name: string): string | undefined {
    return this.read(name, stringOf);
  }

  /** A number, also as text. */
  number(name: string): number | undefined {
    return this.read(name, numberOf);
  }

  /** A whole number from 1. */
  count(name: string): number | undefined {
    return this.read(name, countOf);
  }

  flag(name: string): boolean | undefined {
    return this.read(name, flagOf);
  }

  /** A list of strings, or one string. */
  strings(name: string): string[] {
    return this.read(name, stringsOf) ?? [];
  }

  /** A member as `read` understands it; one that it does not understand stays unread. */
  read<Value>(name: string, read: (value: unknown) => Value | undefined): Value | undefined {
    if (!this.#owns(name)) return this.#others ? this.#others.read(name, read) : undefined;
    const value = this.#members[name] ?? undefined;
    const found = value === undefined ? undefined : read(value);
    if (value === undefined || found !== undefined) {
      this.#unread.delete(name);
      this.#parts.get(name)?.skip();
    }
    return found;
  }

  /** A member that is an object; without members for any other value. */
  object(name: string): Source {
    return this.#partOf(name, this.#members[name], name);
  }

  /** The objects of a list. */
  objects(name: string): Source[] {
    const value = this.#members[name];
    if (!Array.isArray(value)) return [];
    this.#unread.delete(name);
    return value.flatMap((one: unknown, index) => {
      const place = `${name}.${index}`;
      if (isObject(one)) return [this.#partOf(place, one, place)];
      this.#unread.add(place);
      return [];
    });
  }

  /** Members that are objects, by their names. */
  get records(): [name: string, Source][] {
    const names = this.names.filter((name) => isObject(this.#members[name]));
    return names.map((name) => [name, this.object(name)]);
  }

  #partOf(place: string, value: unknown, name: string): Source {
    const part = this.#parts.get(place) ?? new Source(value, this.#pathOf(place));
    this.#parts.set(place, part);
    if (isObject(value)) this.#unread.delete(name);
    return part;
  }

  /** Says that nothing of it needs reading. */
  skip(): void {
    this.#unread.clear();
    for (const part of this.#parts.values()) part.skip();
  }

  /** Members that need no reading. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#unread.delete(name);
  }

  /** Paths of what nothing has read. A member that is null says nothing. */
  get unread(): string[] {
    const own = Array.from(this.#unread, (name) => this.#pathOf(name));
    return [...own, ...[...this.#parts.values()].flatMap((part) => part.unread)];
  }
}
