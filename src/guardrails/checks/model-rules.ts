import * as v from "valibot";
import { JsonObject } from "../../schemas/objects.ts";
import { aliasesOf, factOf, namesOfModel, readModels } from "../request-facts.ts";
import { beforeOnly, type Check, CheckError } from "../types.ts";

/** Longest model name that is matched against patterns, in characters. */
const maxModelLength = 1_000;

/** Most models of one request that are looked up. */
const maxModels = 20;

/** Model names; `*` matches any run of characters. */
const Models = v.array(v.string());
/** An object whose values share a schema. */
function recordOf<Schema extends v.GenericSchema<unknown, unknown>>(member: Schema) {
  return v.pipe(JsonObject, v.record(v.string(), member));
}

const Rules = v.pipe(
  JsonObject,
  v.object({
    defaults: v.optional(Models),
    /** Models by metadata key and by its value. */
    metadata: v.optional(recordOf(recordOf(Models)), {}),
  }),
  v.check(
    ({ defaults, metadata }) => defaults !== undefined || Object.values(metadata).some(hasEntries),
    "must list models under defaults or metadata",
  ),
);
const ModelRules = v.object({ rules: Rules, not: v.optional(v.boolean(), false) });

function hasEntries(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** Whether a model's name matches a pattern. */
function matchesForm(model: string, form: string): boolean {
  const [first = "", ...pieces] = form.split("*");
  const last = pieces.pop();
  if (last === undefined) return model === form;
  if (!model.startsWith(first)) return false;
  let start = first.length;
  for (const piece of pieces) {
    const found = model.indexOf(piece, start);
    if (found < 0) return false;
    start = found + piece.length;
  }
  return model.length - last.length >= start && model.endsWith(last);
}

/** The lists that a request's metadata select, by `key=value`. */
function chooseLists(
  rules: v.InferOutput<typeof Rules>["metadata"],
  metadata: Readonly<Record<string, unknown>>,
): Map<string, readonly string[]> {
  const chosen = new Map<string, readonly string[]>();
  for (const [key, lists] of Object.entries(rules)) {
    const fact = factOf(metadata, key);
    const values: unknown[] = Array.isArray(fact) ? fact : [fact];
    for (const value of new Set(values.map(String))) {
      if (fact !== undefined && Object.hasOwn(lists, value)) chosen.set(`${key}=${value}`, lists[value] ?? []);
    }
  }
  return chosen;
}

/** Models a request may name, depending on its metadata; with `not`, models it may not name. */
export const modelRules: Check<v.InferOutput<typeof ModelRules>> = {
  id: "default.modelRules",
  phases: beforeOnly,
  reads: "model",
  parameters: ModelRules,
  run(input, { rules, not }) {
    const named = readModels(input);
    if (named === undefined) return { pass: true, isSkipped: true };
    if (named.some(({ length }) => length > maxModelLength) || named.length > maxModels)
      throw new CheckError("Cannot check the model: its name is too long, or there are too many");
    const chosen = chooseLists(rules.metadata, input.metadata);
    const models = chosen.size > 0 ? [...chosen.values()].flat() : rules.defaults;
    if (models === undefined) throw new CheckError("Cannot check the model: no rule applies to this request");
    // a blocked model is blocked whichever provider is asked for it
    const find = (name: string) => {
      const names = [...(not ? namesOfModel(name) : [name]), ...aliasesOf(name, input)];
      return models.find((form) => names.some((one) => matchesForm(one, form)));
    };
    const [model, matched] = input.work.spend(() => {
      const found = named.map((name) => [name, find(name)] as const);
      return found.find(([, form]) => (form !== undefined) === not) ?? found[0] ?? [named[0], undefined];
    });
    const explanation = `The model "${model.slice(0, 100)}" is ${matched === undefined ? "not " : ""}among those ${
      chosen.size > 0 ? "its metadata selects" : "listed as defaults"
    }, expected ${not ? "that it is not" : "that it is"}`;
    return {
      pass: (matched !== undefined) !== not,
      data: { explanation, model: model.slice(0, 100), matchedRules: [...chosen.keys()], not },
    };
  },
};
