import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { askChat, askModeration, findModelProblem, modelEntries, namesIn } from "../model-questions.ts";
import { bothPhases, type Check, CheckError, type CheckInput, type CheckTools } from "../types.ts";

/** Categories of moderation models. */
const categories = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "self-harm",
  "self-harm/instructions",
  "self-harm/intent",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;

const ModerateContent = v.object({
  ...modelEntries,
  categories: v.pipe(v.array(v.picklist(categories, `must be one of ${categories.join(", ")}`)), v.minLength(1)),
  via: v.optional(v.picklist(["moderations", "chat"])),
  not: v.optional(v.boolean(), false),
});
type ModerateContent = v.InferOutput<typeof ModerateContent>;

/** The wanted categories that a moderation model flagged. */
function readResults(answer: unknown, wanted: readonly string[]): string[] {
  const results = isObject(answer) && Array.isArray(answer.results) ? answer.results : [];
  const flagged = results.map((result) => (isObject(result) ? result.categories : undefined));
  if (flagged.length === 0 || !flagged.every(isObject)) {
    throw new CheckError("Cannot use the answer of the model: it has no categories");
  }
  return wanted.filter((name) => flagged.some((one) => one[name] === true));
}

async function findFlagged(input: CheckInput, parameters: ModerateContent, tools: CheckTools): Promise<string[]> {
  const { categories: wanted, via, model = tools.model?.model ?? "" } = parameters;
  if ((via ?? (/moderation/i.test(model) ? "moderations" : "chat")) === "moderations") {
    return readResults(await askModeration(input, parameters, tools), wanted);
  }
  const instructions =
    `You moderate text. Which of these categories apply to it: ${wanted.join(", ")}? ` +
    'The form of the answer is {"flagged": ["category"]}, with an empty list if no category applies.';
  const { flagged } = await askChat(input, instructions, { chosen: parameters, tools });
  return namesIn(flagged, wanted);
}

/** Categories of forbidden content, as a model of a stored provider sees them. */
export function createModerateContentCheck(tools: CheckTools): Check<ModerateContent> {
  return {
    id: "gateway.moderateContent",
    phases: bothPhases,
    parameters: ModerateContent,
    readsAll: () => true,
    problem: (parameters) => findModelProblem(parameters, tools),
    async run(input, parameters) {
      const flagged = await findFlagged(input, parameters, tools);
      const explanation = `${flagged.length} of ${parameters.categories.length} categories apply`;
      return { pass: (flagged.length === 0) !== parameters.not, data: { explanation, flagged } };
    },
  };
}
