import * as v from "valibot";
import { isObject } from "../lib/json.ts";

/** An object; put it before `v.record`, which accepts lists, too. */
export const JsonObject = v.custom<Record<string, unknown>>(isObject, "must be an object");

/** An object with these fields and any others. Unlike `v.looseObject` it rejects lists. */
export function plainObject<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.pipe(JsonObject, v.looseObject(entries));
}

type Config = v.Config<v.BaseIssue<unknown>>;

/** What a body may have in an object besides its fields. */
interface ClosedRules {
  /** Fields of the response, so that a record that was read can be sent back. They change nothing. */
  readonly shown?: readonly string[];
}

const noFields = v.strictObject({});

/** What refuses the first member that is no field. It comes first: a misspelt field is not reported as a missing one. */
function findUnknown(members: readonly (readonly [string, unknown])[], fields: object, config: Config) {
  const unknown = members.filter(([name]) => !Object.hasOwn(fields, name));
  const checked = noFields["~run"]({ value: Object.fromEntries(unknown) }, config);
  return checked.typed ? undefined : checked;
}

/** A list would pass as an object without the optional fields. */
const withoutList = (value: unknown): unknown => (Array.isArray(value) ? "a list" : value);

/** An object without other fields, whose schema is run with the members that count. */
function closed<Entries extends v.ObjectEntries>(
  entries: Entries,
  { shown = [] }: ClosedRules,
  counts: (entry: v.GenericSchema, member: unknown) => boolean,
) {
  const schema = v.strictObject(entries);
  const isMember = ([name, member]: [string, unknown]) => {
    const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
    // the entries of bodies are not asynchronous
    return entry ? counts(entry as v.GenericSchema, member) : member !== null && !shown.includes(name);
  };
  const run: (typeof schema)["~run"] = ({ value }, config) => {
    if (!isObject(value)) return schema["~run"]({ value: withoutList(value) }, config);
    const members = Object.entries(value).filter(isMember);
    const refused = findUnknown(members, entries, config);
    return refused ?? schema["~run"]({ value: Object.fromEntries(members) }, config);
  };
  return { ...schema, "~run": run, hasShown: shown.length > 0 };
}

/**
 * An object of a body that is written anew, with these fields and no others: a misspelt limit must not mean "no limit".
 * Released clients send null for what was not given: it counts as absent where the field has no null.
 */
export function closedObject<Entries extends v.ObjectEntries>(entries: Entries, rules: ClosedRules = {}) {
  return closed(entries, rules, (entry, member) => member !== null || v.is(entry, null));
}

/** As `closedObject`, for changes of what exists: null clears a field, and is refused where a field cannot be cleared. */
export function changesOf<Entries extends v.ObjectEntries>(entries: Entries, rules: ClosedRules = {}) {
  return closed(entries, rules, () => true);
}

/** A value with the members of a closed object alone, where whoever made it may add others. */
export function withKnownMembers(value: unknown, { entries }: { readonly entries: object }): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(entries, name)));
}

/** One of several closed objects; the value of a field says which. */
export function closedVariant<
  const Key extends string,
  const Options extends v.VariantOptions<Key> & readonly { readonly entries: v.ObjectEntries }[],
>(key: Key, options: Options) {
  const schema = v.variant(key, options);
  const fields: object = Object.assign({}, ...options.map(({ entries }) => entries));
  const run = ({ value }: { value: unknown }, config: Config) => {
    const members = isObject(value) ? Object.entries(value) : [];
    const given = members.filter(([, member]) => member !== null);
    return findUnknown(given, fields, config) ?? schema["~run"]({ value: withoutList(value) }, config);
  };
  // the options are closed objects, which have this issue too
  return { ...schema, "~run": run as (typeof schema)["~run"] };
}

/** A schema whose default appears in the OpenAPI document only; an absent field stays absent. */
export function withDefault<Schema extends v.GenericSchema>(schema: Schema, value: string | number | boolean) {
  return v.pipe(schema, v.metadata({ default: value }));
}

/** 16 pairs of strings, names up to 64 characters, values up to 512. */
export const MetadataPairs = v.pipe(
  JsonObject,
  v.record(
    v.pipe(v.string(), v.maxLength(64, "must have names of at most 64 characters")),
    v.pipe(v.string(), v.maxLength(512, "must have at most 512 characters")),
  ),
  v.maxEntries(16, "must have at most 16 pairs"),
);

/** Logit biases by token id. */
export const LogitBias = v.pipe(
  JsonObject,
  v.record(v.string(), v.pipe(v.number(), v.minValue(-100), v.maxValue(100))),
);

/**
 * A signed 64-bit integer. A number that stands for digits beyond 2^53 is on their side of 2^63, so 2^63 itself is the
 * first that is too great. The published bound is 2^63, because readers of the schema may round the greatest value to it.
 */
export const Seed = v.pipe(
  v.number(),
  v.integer("must be a whole number"),
  v.minValue(-(2 ** 63)),
  v.maxValue(2 ** 63),
  v.check((value) => value < 2 ** 63, "must be at most 2^63 - 1"),
);

/** The response of a list: some records, and how many there are in all. */
export const listOf = <Record extends v.GenericSchema>(record: Record) =>
  v.object({ object: v.literal("list"), total: v.number(), data: v.array(record) });

/** The response of a list that does not name its kind. */
export const plainListOf = <Record extends v.GenericSchema>(record: Record) =>
  v.object({ data: v.array(record), total: v.number() });

/** A time in responses: ISO 8601 in UTC. */
export const IsoTime = v.string();

/** A boolean that responses show as 0 or 1. */
export const ShownFlag = v.picklist([0, 1]);

/** The response of a change that has nothing to show. */
export const NoContent = v.strictObject({});

/** The response of a list that says whether more follow: a page of records, and how many there are in all. */
export const pageOf = <Record extends v.GenericSchema>(record: Record) =>
  v.object({ data: v.array(record), total: v.number(), has_more: v.boolean() });
