import * as v from "valibot";
import { aliasesOf, namesOfModel, readModels } from "../request-facts.ts";
import { beforeOnly, type Check } from "../types.ts";

const ModelWhitelist = v.object({
  models: v.pipe(v.array(v.string()), v.minLength(1)),
  not: v.optional(v.boolean(), false),
});

/** Models a request may name, compared exactly; with `not`, models it may not name. */
export const modelWhitelist: Check<v.InferOutput<typeof ModelWhitelist>> = {
  id: "default.modelwhitelist",
  aliases: ["default.modelWhitelist"],
  phases: beforeOnly,
  reads: "model",
  parameters: ModelWhitelist,
  run(input, { models, not }) {
    const named = readModels(input);
    if (named === undefined) return { pass: true, isSkipped: true };
    // a blocked model is blocked whichever provider is asked for it
    const holds = (name: string) =>
      [...(not ? namesOfModel(name) : [name]), ...aliasesOf(name, input)].some((one) => models.includes(one));
    const model = named.find((name) => holds(name) === not) ?? named[0];
    const isListed = holds(model);
    const explanation = `The model "${model.slice(0, 100)}" is ${isListed ? "" : "not "}in the list of ${not ? "refused" : "allowed"} models`;
    return { pass: isListed !== not, data: { explanation, model: model.slice(0, 100), not } };
  },
};
