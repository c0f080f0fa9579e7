import * as v from "valibot";
import { askChat, findModelProblem, modelEntries } from "../model-questions.ts";
import { bothPhases, type Check, CheckError, type CheckTools } from "../types.ts";

const Gibberish = v.object({ ...modelEntries, not: v.optional(v.boolean(), false) });

const labels = ["clean", "mild gibberish", "noise", "word salad"];
const instructions =
  "You judge whether text makes sense. clean: it does. mild gibberish: parts of it do not. noise: it has no words. " +
  `word salad: its words make no sense together. The form of the answer is {"label": "${labels.join("|")}"}.`;

/** Whether text makes sense, as a model of a stored provider sees it. */
export function createGibberishCheck(tools: CheckTools): Check<v.InferOutput<typeof Gibberish>> {
  return {
    id: "gateway.gibberish",
    phases: bothPhases,
    parameters: Gibberish,
    problem: (parameters) => findModelProblem(parameters, tools),
    async run(input, parameters) {
      const { label } = await askChat(input, instructions, { chosen: parameters, tools });
      if (typeof label !== "string" || !labels.includes(label)) {
        throw new CheckError("Cannot use the answer of the model: it has no known label");
      }
      return { pass: (label === "clean") !== parameters.not, data: { explanation: `The text is ${label}`, label } };
    },
  };
}
