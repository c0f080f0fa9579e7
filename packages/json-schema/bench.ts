// Time to check the arguments of a tool, relative to @cfworker/json-schema.
// Usage: node scripts/run.mjs bun packages/json-schema/bench.ts

import { Validator } from "@cfworker/json-schema";
import { checkJson } from "./src/check.ts";
import { readJsonSchema } from "./src/schema.ts";

const item = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 64 },
    kind: { enum: ["file", "folder", "link"] },
    size: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { type: "string", pattern: "^[a-z-]+$" }, uniqueItems: true },
  },
  required: ["name", "kind"],
  additionalProperties: false,
} as const;
const schema = {
  type: "object",
  properties: { items: { type: "array", items: { $ref: "#/$defs/item" } } },
  $defs: { item },
};
const items = Array.from({ length: 50 }, (_, index) => ({
  name: `name ${index}`,
  kind: "file",
  size: index,
  tags: ["a", "b-c"],
}));
const value = { items };

const own = readJsonSchema(schema);
const library = new Validator(schema as ConstructorParameters<typeof Validator>[0], "2020-12", false);
const sides = {
  ours: () => checkJson(own, value).length === 0,
  theirs: () => library.validate(value).valid,
};

/** The median time of a check in microseconds, of nine runs of 200 checks. */
function medianOf(check: () => boolean): number {
  const times = Array.from({ length: 9 }, () => {
    const startedAt = performance.now();
    for (let round = 0; round < 200; round++) if (!check()) throw new Error("The value matches the schema");
    return (performance.now() - startedAt) * 5;
  });
  return times.toSorted((one, other) => one - other)[4] ?? 0;
}

const [ours, theirs] = [medianOf(sides.ours), medianOf(sides.theirs)];
console.log(
  `checks: ${(ours / theirs).toFixed(2)} of @cfworker/json-schema (${ours.toFixed(0)} and ${theirs.toFixed(0)} us)`,
);
