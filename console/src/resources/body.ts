import { isJsonObject } from "@/lib/json.ts";
import { toLocalInput } from "@/lib/period.ts";
import { memberAt } from "./member-at.ts";
import type { Field, Values } from "./types.ts";

/** The values a form starts with: those of a record, else each field's initial value. */
export function toValues(fields: readonly Field[], record: object | undefined): Values {
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const stored =
      record === undefined ? undefined : field.from === undefined ? memberAt(record, field.name) : field.from(record);
    const value = stored ?? (record === undefined ? field.initial : undefined);
    if (value === undefined || value === null || value === field.none) continue;
    values[field.name] = toInput(field, value);
  }
  return values;
}

/** A value of the API as the input of its field holds it. */
export function toInput({ kind, toLine, read }: Field, value: unknown): unknown {
  if (read !== undefined) return read(value);
  if (kind === "json" && typeof value !== "string") return JSON.stringify(value, undefined, 2);
  if (kind === "pairs")
    return isJsonObject(value) ? Object.entries(value).map(([name, value]) => ({ name, value })) : [];
  if (kind === "time") {
    const time = Date.parse(String(value));
    return Number.isNaN(time) ? value : toLocalInput(time);
  }
  // some lists of at most one entry are shown as that entry
  if (kind === "rows") return [value].flat().map((line) => toLine?.(line) ?? line);
  return value;
}

/** The lines of a field as the API takes them; undefined without any. */
function fromLines({ columns = [], fromLine }: Field, lines: readonly Values[]): unknown {
  const members = lines.map((line) => {
    const shown = columns.filter(({ when }) => when === undefined || when(line));
    const given = shown.map((column) => [column.name, toMember(column, line[column.name])] as const);
    // members without a column stay as they are
    const rest = Object.entries(line).filter(([name]) => columns.every((column) => column.name !== name));
    const whole = Object.fromEntries([...rest, ...given].filter(([, value]) => value !== undefined && value !== null));
    return fromLine?.(whole) ?? whole;
  });
  return members.length === 0 ? undefined : members;
}

/** The object that lines of names and values stand for; undefined without any. */
function fromPairs(lines: readonly Values[]): unknown {
  const named = lines.filter(({ name }) => typeof name === "string" && name !== "");
  return named.length === 0
    ? undefined
    : Object.fromEntries(named.map(({ name, value = "" }) => [String(name), value]));
}

/** A value of the form as the API takes it; undefined: leave it out. */
function toMember(field: Field, value: unknown): unknown {
  if (value === undefined || value === "") return undefined;
  if (field.toMember !== undefined) return field.toMember(value);
  if (field.kind === "json" && typeof value === "string") return JSON.parse(value);
  if (field.kind === "number" || field.kind === "duration") return Number(value);
  if (field.kind === "rows" && Array.isArray(value)) return fromLines(field, value);
  if (field.kind === "pairs" && Array.isArray(value)) return fromPairs(value);
  if (field.kind === "time" && typeof value === "string") return new Date(value).toISOString();
  return value;
}

function setPath(body: Record<string, unknown>, path: string, value: unknown): void {
  const [name = "", ...rest] = path.split(".");
  if (rest.length === 0) {
    body[name] = value;
    return;
  }
  const below = body[name];
  const inner: Record<string, unknown> = isJsonObject(below) ? { ...below } : {};
  setPath(inner, rest.join("."), value);
  body[name] = inner;
}

/** What of a member is sent: of an object whose members change one by one, those that changed. */
function toChange({ isMerged }: Field, member: unknown, before: unknown): unknown {
  if (isMerged !== true || !isJsonObject(member) || !isJsonObject(before)) return member;
  return Object.fromEntries(Object.entries(member).filter(([name, value]) => value !== before[name]));
}

/**
 * The body of a form: what was filled in; for a record that exists only what changed, where a cleared field is null.
 *
 * @throws {Error} A JSON field does not parse, or an own input is unfinished.
 */
export function toBody(fields: readonly Field[], values: Values, record?: object): Values {
  const before = record === undefined ? {} : toValues(fields, record);
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    if (field.when !== undefined && !field.when(values)) continue;
    const member = toMember(field, values[field.name]);
    if (record !== undefined && JSON.stringify(values[field.name]) === JSON.stringify(before[field.name])) continue;
    if (member !== undefined) setPath(body, field.name, toChange(field, member, before[field.name]));
    else if (record !== undefined && before[field.name] !== undefined) setPath(body, field.name, field.none ?? null);
  }
  return body;
}

/** Required fields that are empty. */
export function missingFields(fields: readonly Field[], values: Values): readonly Field[] {
  return fields
    .filter((field) => field.required === true && (field.when === undefined || field.when(values)))
    .filter(
      ({ name }) =>
        values[name] === undefined || values[name] === "" || (Array.isArray(values[name]) && values[name].length === 0),
    );
}
