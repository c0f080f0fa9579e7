import * as v from "valibot";
import { factOf, holdsBy, operators } from "../request-facts.ts";
import { beforeOnly, type Check } from "../types.ts";

const RequiredMetadataKeys = v.object({
  metadataKeys: v.pipe(v.array(v.string()), v.minLength(1)),
  operator: v.optional(v.picklist(operators), "all"),
});

/** Metadata keys a request must have, or must not have. */
export const requiredMetadataKeys: Check<v.InferOutput<typeof RequiredMetadataKeys>> = {
  id: "default.requiredMetadataKeys",
  phases: beforeOnly,
  reads: "facts",
  parameters: RequiredMetadataKeys,
  run({ metadata }, { metadataKeys, operator }) {
    const foundKeys = metadataKeys.filter((key) => factOf(metadata, key) !== undefined);
    const missingKeys = metadataKeys.filter((key) => factOf(metadata, key) === undefined);
    const explanation = `The metadata has ${foundKeys.length} of ${metadataKeys.length} keys, expected ${operator}`;
    const pass = holdsBy(operator, foundKeys.length, metadataKeys.length);
    return { pass, data: { explanation, operator, foundKeys, missingKeys } };
  },
};
