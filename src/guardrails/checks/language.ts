import * as v from "valibot";
import { bothPhases, type Check, CheckError } from "../types.ts";
import { labels, toLanguage } from "../values/languages.ts";

const Code = v.pipe(
  v.string(),
  v.rawTransform<string, string>(({ dataset, addIssue, NEVER }) => {
    const language = toLanguage(dataset.value);
    if (language === undefined) addIssue({ message: "is not a language that can be recognised, such as eng_Latn" });
    return language ?? NEVER;
  }),
);

const Language = v.object({
  language: v.union([
    v.pipe(v.array(Code), v.minLength(1)),
    v.pipe(
      Code,
      v.transform((code) => [code]),
    ),
  ]),
  not: v.optional(v.boolean(), false),
});

/** Characters the detector looks at, and how many parts of a long text. */
const partLength = 1_000;
const mostParts = 32;

/** Loaded on first use: one megabyte. */
const load = () => import("eld/extrasmall").then(({ eld }) => eld);
let loading: ReturnType<typeof load> | undefined;

/** Parts of a text, evenly spread over it. */
function partsOf(text: string): string[] {
  const count = Math.min(mostParts, Math.ceil(text.length / partLength));
  const distance = count > 1 ? Math.floor((text.length - partLength) / (count - 1)) : 0;
  return Array.from({ length: count }, (_, index) => text.slice(index * distance, index * distance + partLength));
}

/** Whether a text is in one of several languages. */
export const language: Check<v.InferOutput<typeof Language>> = {
  id: "gateway.language",
  phases: bothPhases,
  parameters: Language,
  async run({ text, work }, { language: wanted, not }) {
    loading ??= load();
    const detector = await loading;
    const sums = new Map<string, number>();
    await work.run(
      (function* () {
        for (const part of partsOf(text)) {
          for (const [found, score] of Object.entries(detector.detect(part).getScores())) {
            sums.set(found, (sums.get(found) ?? 0) + score);
          }
          yield 8 * partLength;
        }
      })(),
    );
    let [found, most] = ["", 0];
    for (const [one, sum] of sums) if (sum > most) [found, most] = [one, sum];
    // numbers, symbols and the like are in no language
    if (found === "") throw new CheckError("Cannot determine the language: the text has no words", { verdict: true });
    const label = labels.get(found) ?? found;
    const isWanted = wanted.includes(found);
    const explanation = `The text is in ${label}, which ${isWanted ? "is" : "is not"} in the list`;
    return { pass: isWanted !== not, data: { explanation, language: label } };
  },
};
