import * as v from "valibot";
import { checkJsonSteps, type JsonSchemaProblem, JsonSchemaWork } from "../../../packages/json-schema/src/check.ts";
import { type JsonSchema, JsonSchemaError, readJsonSchema } from "../../../packages/json-schema/src/schema.ts";
import { afterOnly, type Check, CheckError, type Work } from "../types.ts";

const Schema = v.pipe(
  v.unknown(),
  v.rawTransform<unknown, JsonSchema>(({ dataset, addIssue, NEVER }) => {
    try {
      return readJsonSchema(dataset.value);
    } catch (error) {
      if (!(error instanceof JsonSchemaError)) throw error;
      addIssue({ message: error.message });
      return NEVER;
    }
  }),
);
const JsonSchemaParameters = v.object({ schema: Schema, not: v.optional(v.boolean(), false) });

/** Most validation problems that a result lists. */
const maxProblems = 10;
const maxMessageLength = 200;

/** Validation problems of one piece. */
async function check(
  schema: JsonSchema,
  piece: unknown,
  { work, count }: { work: Work; count: JsonSchemaWork },
): Promise<JsonSchemaProblem[]> {
  try {
    return await work.run(checkJsonSteps(schema, piece, count));
  } catch (error) {
    if (!(error instanceof JsonSchemaError)) throw error;
    throw new CheckError(error.message, { cause: error });
  }
}

/** Whether a JSON piece of a response matches a schema (draft 2020-12). */
export const jsonSchema: Check<v.InferOutput<typeof JsonSchemaParameters>> = {
  id: "default.jsonSchema",
  phases: afterOnly,
  parameters: JsonSchemaParameters,
  patterns: ({ schema }) => schema.patterns,
  async run({ readPieces, mustSeeAll, work }, { schema, not }) {
    const { pieces, isCut } = await readPieces();
    const expected = not ? "expected no match" : "expected a match";
    const count = new JsonSchemaWork();
    let problems: JsonSchemaProblem[] | undefined; // problems of the piece that has fewest
    for (const piece of pieces) {
      const found = await check(schema, piece, { work, count });
      if (problems === undefined || found.length < problems.length) problems = found;
      if (found.length === 0) break;
    }
    const fits = problems?.length === 0;
    if (isCut && !fits && mustSeeAll) throw new CheckError("Cannot check: the text has too many pieces of JSON");
    if (problems === undefined) return { pass: false, data: { explanation: "The text has no JSON", not } };
    const explanation = `${fits ? "A piece" : "No piece"} of the JSON in the text matches the schema, ${expected}`;
    const validationErrors = problems
      .slice(0, maxProblems)
      .map(({ path, message }) => ({ path, message: message.slice(0, maxMessageLength) }));
    return { pass: fits !== not, data: { explanation, not, validationErrors, ...(isCut && !fits && { isCut }) } };
  },
};
