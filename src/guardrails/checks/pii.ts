import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { askChat, findModelProblem, modelEntries } from "../model-questions.ts";
import { bothPhases, type Check, CheckError, type CheckInput, type CheckTools } from "../types.ts";
import { isWordCode, ValueFinder, type ValueKind } from "../values/finder.ts";
import { personalKinds } from "../values/personal-values.ts";
import { searchValues, type ValueSearch, windowOf } from "../values/value-check.ts";

/** What has no form: a model finds it. */
const askedNames = ["NAME", "LOCATION_ADDRESS"] as const;
const names = [...personalKinds.map(({ name }) => name), ...askedNames];
const isAsked = (name: string) => askedNames.some((asked) => asked === name);

const Pii = v.pipe(
  v.object({
    ...modelEntries,
    categories: v.optional(v.pipe(v.array(v.picklist(names, `must be one of ${names.join(", ")}`)), v.minLength(1))),
    redact: v.optional(v.boolean(), false),
    restore: v.optional(v.boolean(), false),
    not: v.optional(v.boolean(), false),
  }),
  v.check(({ redact, not }) => !redact || !not, "cannot have both redact and not"),
  v.check(({ redact, restore }) => redact || !restore, "cannot have restore without redact"),
  v.transform(({ categories, redact, restore, not, ...chosen }) => {
    const kinds = personalKinds.filter(({ name }) => categories === undefined || categories.includes(name));
    const rules = `gateway.pii ${kinds.map(({ name }) => name).join()}`;
    const search: ValueSearch = { redact, restore, not, finder: new ValueFinder(kinds), rules, noun: "personal data" };
    return { search, kinds, chosen, asked: categories?.filter(isAsked) ?? [] };
  }),
);
type Pii = v.InferOutput<typeof Pii>;

/** Most values of a model that are looked for. */
const mostValues = 500;
const longestValue = 500;

/** A value that a model found, wherever the text has it. */
function toKind(name: string, value: string): ValueKind {
  const isAscii = value.charCodeAt(0) < 128;
  return {
    name,
    longest: value.length,
    starts: isAscii ? value.charAt(0) : "",
    startsBeyondAscii: !isAscii,
    end(text, at) {
      const end = at + value.length;
      const isWhole = !isWordCode(value.charCodeAt(value.length - 1)) || !isWordCode(text.charCodeAt(end));
      return isWhole && text.startsWith(value, at) ? end : undefined;
    },
  };
}

/** Values of the kinds that have no form. */
async function askForValues(input: CheckInput, { asked, chosen }: Pii, tools: CheckTools): Promise<ValueKind[]> {
  const meanings = { NAME: "names of persons", LOCATION_ADDRESS: "postal addresses" };
  const wanted = askedNames.filter((name) => asked.includes(name)).map((name) => `${name} (${meanings[name]})`);
  const instructions =
    `You find personal data in text: ${wanted.join(" and ")}. The form of the answer is ` +
    '{"entities": [{"kind": "NAME", "text": "exactly as in the text"}]}, with an empty list if there are no such data.';
  const askedKinds: readonly string[] = asked;
  const { entities } = await askChat(input, instructions, { chosen, tools });
  if (!Array.isArray(entities)) throw new CheckError("Cannot use the answer of the model: a list is missing");
  const values = entities.flatMap((one): [string, string][] => {
    if (!isObject(one) || typeof one.kind !== "string" || typeof one.text !== "string") return [];
    const value = one.text.trim();
    return askedKinds.includes(one.kind) && value !== "" && value.length <= longestValue ? [[value, one.kind]] : [];
  });
  return [...new Map(values)].slice(0, mostValues).map(([value, kind]) => toKind(kind, value));
}

/** Personal data in text: by the forms of values and, for names and addresses, as a model sees them. */
export function createPiiCheck(tools: CheckTools): Check<Pii> {
  return {
    id: "gateway.pii",
    phases: bothPhases,
    parameters: Pii,
    readsAll: () => true,
    changes: ({ search }) => search.redact,
    restores: true,
    problem: ({ asked, chosen }) => (asked.length === 0 ? undefined : findModelProblem(chosen, tools)),
    window: ({ asked, search }) => (asked.length === 0 ? windowOf(search) : undefined),
    run(input, parameters) {
      const { asked, search, kinds } = parameters;
      if (asked.length === 0) return searchValues(input, search);
      // what a model finds differs from text to text
      const { rules: _, ...others } = search;
      return askForValues(input, parameters, tools).then((found) =>
        input.work.run(searchValues(input, { ...others, finder: new ValueFinder([...kinds, ...found]) })),
      );
    },
  };
}
