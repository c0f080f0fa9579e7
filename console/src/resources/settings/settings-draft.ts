import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { readDrafts } from "../checks/draft.ts";
import { memberAt } from "../member-at.ts";

/** Groups of settings whose members are headers: a name and a value each. */
export const headersPath = "custom_headers";

/** A header in the form. Masked ones are stored, and their value stays unless another is given. */
export interface HeaderLine {
  readonly name?: unknown;
  readonly value?: unknown;
  readonly mask?: string;
  /** The stored value is no secret. */
  readonly isPlain?: boolean;
}

const maskPrefix = "masked_";

/** Settings of an integration in a form: what is stored, and what was changed of it. */
export class SettingsDraft {
  /** Provider that the changes are meant for. */
  readonly of: string;
  /** New values by path; null removes one. */
  readonly changes: JsonObject;
  /** Headers as they are now; undefined: as they are stored. */
  readonly headers: readonly HeaderLine[] | undefined;
  readonly #stored: JsonObject;

  constructor(of: string, stored: JsonObject, changes: JsonObject = {}, headers?: readonly HeaderLine[]) {
    this.of = of;
    this.changes = changes;
    this.headers = headers;
    this.#stored = stored;
  }

  /** The draft that an input holds: one for another provider is dropped, a record is the beginning of one. */
  static from(of: string, value: unknown): SettingsDraft {
    if (value instanceof SettingsDraft) return value.of === of ? value : new SettingsDraft(of, {});
    return new SettingsDraft(of, isJsonObject(value) ? value : {});
  }

  /** The value at a path; undefined for secrets, which are not shown. */
  read(path: string): unknown {
    return path in this.changes ? (this.changes[path] ?? undefined) : memberAt(this.#stored, path);
  }

  /** The mask of a stored secret. */
  maskOf(path: string): string | undefined {
    const [name = "", ...group] = path.split(".").reverse();
    const mask = memberAt(this.#stored, [...group.reverse(), `${maskPrefix}${name}`].join("."));
    return typeof mask === "string" ? mask : undefined;
  }

  /** The draft with another value at a path; undefined removes it, and leaves a stored secret as it is. */
  with(path: string, value: unknown): SettingsDraft {
    const { [path]: _, ...others } = this.changes;
    const isStored = memberAt(this.#stored, path) !== undefined;
    const changes =
      value !== undefined ? { ...others, [path]: value } : isStored ? { ...others, [path]: null } : others;
    return new SettingsDraft(this.of, this.#stored, changes, this.headers);
  }

  withHeaders(headers: readonly HeaderLine[]): SettingsDraft {
    return new SettingsDraft(this.of, this.#stored, this.changes, headers);
  }

  /** Headers as lines: those that are stored, or as they were changed. */
  lines(): readonly HeaderLine[] {
    return this.headers ?? storedLines(memberAt(this.#stored, headersPath));
  }

  /**
   * What the API takes: only what changes, so that everything else stays.
   *
   * @throws {Error} Something that was typed cannot be read.
   */
  toConfigurations(): JsonObject {
    const configurations: Record<string, unknown> = {};
    const set = (path: string, value: unknown) => {
      const [first = "", second] = path.split(".");
      if (second === undefined) configurations[first] = value;
      else
        configurations[first] = {
          ...(isJsonObject(configurations[first]) ? configurations[first] : {}),
          [second]: value,
        };
    };
    for (const [path, value] of Object.entries(this.changes)) set(path, readDrafts(value) ?? null);
    const headers =
      this.headers === undefined ? {} : changedHeaders(storedLines(memberAt(this.#stored, headersPath)), this.headers);
    if (Object.keys(headers).length > 0) configurations[headersPath] = headers;
    return configurations;
  }
}

/** Stored headers by name, masked ones under their own names. */
function storedLines(headers: unknown): readonly HeaderLine[] {
  return Object.entries(isJsonObject(headers) ? headers : {})
    .map(([name, value]) =>
      name.startsWith(maskPrefix)
        ? { name: name.slice(maskPrefix.length), mask: String(value) }
        : { name, value, isPlain: true },
    )
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

/** New values by name, and null for headers that are gone. */
function changedHeaders(before: readonly HeaderLine[], after: readonly HeaderLine[]): JsonObject {
  const names = after.map(({ name }) => String(name ?? "").toLowerCase());
  const gone = before.filter(({ name }) => !names.includes(String(name).toLowerCase()));
  const changed = after.filter((line, index) => {
    if (names[index] === "") return false;
    const former = before.find(({ name }) => String(name).toLowerCase() === names[index]);
    if (former === undefined) return true;
    return (line.value ?? "") !== "" && line.value !== former.value;
  });
  return Object.fromEntries([
    ...gone.map(({ name }) => [String(name), null] as const),
    ...changed.map(({ name, value }) => [String(name), value ?? ""] as const),
  ]);
}
