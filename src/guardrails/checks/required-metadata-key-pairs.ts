import * as v from "valibot";
import { PatternSum } from "../../../packages/patterns/src/pattern.ts";
import { JsonObject } from "../../schemas/objects.ts";
import { type ClaimMatcher, createClaimMatcher, matchTypes } from "../claim-match.ts";
import { factOf, holdsBy, operators } from "../request-facts.ts";
import { maxCheckPatterns } from "../tenant-patterns.ts";
import { beforeOnly, type Check } from "../types.ts";

/** An expected value; compared as text. */
const Value = v.pipe(
  v.union([v.string(), v.number(), v.boolean()], "must be a string, a number, a boolean or a list of them"),
  v.transform(String),
);
const Values = v.union(
  [
    v.pipe(
      Value,
      v.transform((value) => [value]),
    ),
    v.pipe(v.array(Value), v.minLength(1)),
  ],
  "must be a string, a number, a boolean or a list of them",
);

const RequiredMetadataKeyPairs = v.pipe(
  v.object({
    metadataPairs: v.pipe(JsonObject, v.record(v.string(), Values), v.minEntries(1)),
    operator: v.optional(v.picklist(operators), "all"),
    matchType: v.optional(v.picklist(matchTypes), "exact"),
  }),
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const { metadataPairs, matchType, operator } = value;
    const matchers = new Map<string, ClaimMatcher>();
    const sum = new PatternSum(maxCheckPatterns);
    for (const [key, values] of Object.entries(metadataPairs)) {
      const matcher =
        matchType === "exact" && values.length > 1
          ? "must be one value where matchType is exact"
          : createClaimMatcher(values, matchType, sum);
      if (typeof matcher !== "string") matchers.set(key, matcher);
      else addIssue({ message: matcher, path: pathOf(value, key) });
    }
    return matchers.size === Object.keys(metadataPairs).length
      ? { matchers, matchType, operator, patterns: sum }
      : NEVER;
  }),
);

/** Path of a pair in the parameters. */
function pathOf<Value extends { metadataPairs: Record<string, string[]> }>(
  value: Value,
  key: string,
): [v.ObjectPathItem, v.ObjectPathItem] {
  const { metadataPairs } = value;
  const place = { type: "object", origin: "value" } as const;
  return [
    { ...place, input: value, key: "metadataPairs", value: metadataPairs },
    { ...place, input: metadataPairs, key, value: metadataPairs[key] },
  ];
}

/** Metadata a request must have with certain values, or must not have. */
export const requiredMetadataKeyPairs: Check<v.InferOutput<typeof RequiredMetadataKeyPairs>> = {
  id: "default.requiredMetadataKeyPairs",
  phases: beforeOnly,
  reads: "facts",
  parameters: RequiredMetadataKeyPairs,
  patterns: ({ patterns }) => patterns,
  async run({ metadata, work }, { matchers, matchType, operator }) {
    const keys = [...matchers.keys()];
    const matched = new Set<string>();
    for (const [key, matcher] of matchers) if (await work.run(matcher(factOf(metadata, key)))) matched.add(key);
    const matchedKeys = [...matched];
    const failedKeys = keys.filter((key) => !matched.has(key));
    const explanation = `The metadata has ${matchedKeys.length} of ${keys.length} pairs, expected ${operator}`;
    const pass = holdsBy(operator, matchedKeys.length, keys.length);
    return { pass, data: { explanation, operator, matchType, matchedKeys, failedKeys } };
  },
};
