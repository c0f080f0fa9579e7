import * as v from "valibot";
import { isObject } from "../lib/json.ts";

/** An object; put it before `v.record`, which accepts lists, too. */
export const JsonObject = v.custom<Record<string, unknown>>(isObject, "must be an object");

/** An object with these fields and any others. Unlike `v.looseObject` it rejects lists. */
export function plainObject<Entries extends v.ObjectEntries>(entries: Entries) {
  return v.pipe(JsonObject, v.looseObject(entries));
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
