import * as v from "valibot";
import { type Steps, stepsPerPiece } from "../../lib/steps.ts";
import { readFences } from "../fences.ts";
import { afterOnly, type Check } from "../types.ts";

/** Languages, and other tags their fenced blocks use. */
const languages = {
  SQL: [],
  Python: ["py", "gyp"],
  TypeScript: ["ts", "tsx"],
  JavaScript: ["js", "jsx"],
  Java: [],
  "C#": ["cs", "csharp"],
  "C++": ["cpp"],
  C: [],
  Ruby: ["rb"],
  PHP: [],
  Swift: [],
  Kotlin: ["kt"],
  Go: ["golang"],
  Rust: ["rs"],
  Scala: [],
  R: [],
  Perl: ["pl"],
  Shell: ["sh", "bash"],
  HTML: [],
  CSS: [],
  XML: [],
  JSON: [],
  YAML: ["yml"],
  Markdown: ["md"],
  Dockerfile: [],
} as const;
const names = Object.keys(languages) as (keyof typeof languages)[]; // Object.keys loses the type of the names
const languageOfTag = new Map<string, string>(
  names.flatMap((name) => [name.toLowerCase(), ...languages[name]].map((tag) => [tag, name] as const)),
);

const ContainsCode = v.object({ format: v.picklist(names), not: v.optional(v.boolean(), false) });

/** Languages of the fenced blocks of a text. */
function* findLanguages(text: string): Steps<Set<string>> {
  const found = new Set<string>();
  let fences = 0;
  for (const { tag } of readFences(text)) {
    if (fences++ % 500 === 499) yield stepsPerPiece;
    found.add(languageOfTag.get(tag) ?? "other");
  }
  return found;
}

/** Whether a response has a fenced code block of a language. */
export const containsCode: Check<v.InferOutput<typeof ContainsCode>> = {
  id: "default.containsCode",
  phases: afterOnly,
  parameters: ContainsCode,
  *run({ text }, { format, not }) {
    const found = [...(yield* findLanguages(text))];
    const isFound = found.includes(format);
    const explanation = `The text has ${isFound ? "a" : "no"} fenced block of ${format}, expected ${not ? "none" : "one"}`;
    return { pass: isFound !== not, data: { explanation, format, found, not } };
  },
};
