import * as v from "valibot";
import { namesOfModel, readModel } from "../request-facts.ts";
import { beforeOnly, type Check } from "../types.ts";

const ModelWhitelist = v.object({
  models: v.pipe(v.array(v.string()), v.minLength(1)),
  not: v.optional(v.boolean(), false),
});

/** Models a request may name, letter by letter; with `not` those it may not name. */
export const modelWhitelist: Check<v.InferOutput<typeof ModelWhitelist>> = {
  id: "default.modelwhitelist",
  aliases: ["default.modelWhitelist"],
  phases: beforeOnly,
  reads: "model",
  parameters: ModelWhitelist,
  run(input, { models, not }) {
    const model = readModel(input);
    if (model === undefined) return { pass: true, isSkipped: true };
    // what is refused is refused whichever provider it is asked of
    const isListed = (not ? namesOfModel(model) : [model]).some((name) => models.includes(name));
    const explanation = `The model "${model.slice(0, 100)}" is ${isListed ? "" : "not "}in the list of ${not ? "refused" : "allowed"} models`;
    return { pass: isListed !== not, data: { explanation, model: model.slice(0, 100), not } };
  },
};
