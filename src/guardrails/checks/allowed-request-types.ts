import * as v from "valibot";
import { findConflicts, findObjections, type Lists, toSets } from "../lists.ts";
import { factOf } from "../request-facts.ts";
import { beforeOnly, type Check, CheckError, requestTypeNames } from "../types.ts";

/** Longest list of names. */
const maxNames = 1_000;

/** A list of names, or a comma-separated string. */
const Names = v.pipe(
  v.union([v.string(), v.array(v.string())], "must be a list of names or a comma-separated string"),
  v.transform((names) => (typeof names === "string" ? names.split(",") : names)),
  v.transform((names) => names.map((name) => name.trim()).filter((name) => name !== "")),
  v.maxLength(maxNames),
);
const AllowedRequestTypes = v.pipe(
  v.object({ allowedTypes: v.nullish(Names, []), blockedTypes: v.nullish(Names, []) }),
  v.transform(({ allowedTypes, blockedTypes }): Lists<string> => ({ allowed: allowedTypes, blocked: blockedTypes })),
  v.check(
    (lists) => findConflicts(lists).length === 0,
    "must not have the same request type in allowedTypes and blockedTypes",
  ),
);

/** The names a metadata field lists; empty where it is missing. */
function readFact(metadata: Readonly<Record<string, unknown>>, key: string): string[] {
  const { success, output } = v.safeParse(v.optional(Names, []), factOf(metadata, key));
  if (!success) throw new CheckError(`Cannot check the request type: the metadata "${key}" is not a list of names`);
  return output;
}

/** The lists of the metadata, for a check that defines none. */
function readFacts(metadata: Readonly<Record<string, unknown>>): Lists<string> {
  const lists = {
    allowed: readFact(metadata, "supported_endpoints"),
    blocked: readFact(metadata, "blocked_endpoints"),
  };
  const [conflict] = findConflicts(lists);
  if (conflict === undefined) return lists;
  throw new CheckError(`Cannot check the request type: the metadata allow and block "${conflict.slice(0, 100)}"`);
}

/** Request types whose streams have a separate name in lists. */
const streamed = ["chatComplete", "complete", "messages"];
const known: ReadonlySet<string> = new Set([...requestTypeNames, ...streamed.map((type) => `stream-${type}`)]);

/** Request types that are allowed or blocked. */
export const allowedRequestTypes: Check<Lists<string>> = {
  id: "default.allowedRequestTypes",
  phases: beforeOnly,
  parameters: AllowedRequestTypes,
  reads: "facts",
  problem({ allowed, blocked }) {
    for (const [member, names] of [
      ["allowedTypes", allowed],
      ["blockedTypes", blocked],
    ] as const) {
      const unknown = names.find((name) => !known.has(name));
      if (unknown !== undefined) return { member, message: `is not a known request type: ${unknown.slice(0, 100)}` };
    }
    return undefined;
  },
  run({ requestType, alsoTypes = [], leadsTo = [], request, metadata }, own) {
    const lists = own.allowed.length + own.blocked.length > 0 ? own : readFacts(metadata);
    const withStreams = (types: readonly string[]) =>
      request.isStreaming
        ? [...types, ...types.filter((type) => streamed.includes(type)).map((type) => `stream-${type}`)]
        : types;
    const sets = toSets(lists);
    const names = withStreams([requestType, ...alsoTypes]);
    const isRefused = withStreams(leadsTo).some((type) => sets.blocked.has(type));
    const [objection] = isRefused ? (["blocked"] as const) : findObjections(names, sets);
    const stand = { blocked: "blocked", not_allowed: "not in the list of allowed types", none: "allowed" };
    const explanation = `The request type "${requestType}" is ${stand[objection ?? "none"]}`;
    const { allowed: allowedTypes, blocked: blockedTypes } = lists;
    return { pass: objection === undefined, data: { explanation, requestType, allowedTypes, blockedTypes } };
  },
};
