/** An inline config, and a chat it is sent with. */
export interface ConfigCase {
  config: object;
  /** The text of the user; the provider answers with it. */
  text: string;
  /** It is refused when it is read: its work is not begun. */
  isRefused?: true;
}

const echo = { provider: "echo" };
const check = (id: string, parameters: object, phase: "input" | "output" = "input") => ({
  ...echo,
  [`${phase}_guardrails`]: [{ id: "g", deny: true, checks: [{ id, parameters }] }],
});
const hook = (name: string, parameters: object, phase: "input" | "output" = "input") => ({
  ...echo,
  [`${phase}_guardrails`]: [{ [name]: parameters, deny: true }],
});
const heavy = `^[ab]*a${"[ab]{999}".repeat(15)}[cd]$`;
const letters = (count: number) => "ab".repeat(count / 2);

/** Configs whose work is in their patterns, schemas, conditions and checks. */
export const configCases: Readonly<Record<string, () => ConfigCase>> = {
  "a schema with a heavy pattern": () => ({
    config: hook(
      "default.jsonSchema",
      { schema: { type: "object", properties: { a: { type: "string", pattern: heavy } } } },
      "output",
    ),
    text: `{"a":"${letters(16_000)}"}`,
    isRefused: true,
  }),
  "a condition with a heavy pattern": () => ({
    config: {
      strategy: {
        mode: "conditional",
        conditions: [{ query: { "params.user": { $regex: heavy } }, then: "a" }],
        default: "a",
      },
      targets: [{ name: "a", ...echo }],
    },
    text: letters(16_000),
    isRefused: true,
  }),
  "a pattern that goes back": () => ({
    config: hook("default.regexMatch", { rule: "(a+)+$" }),
    text: `${"a".repeat(900_000)}b`,
  }),
  "a pattern of words": () => ({
    config: hook("default.regexMatch", { rule: "^(([a-z]+)\\s?)+$" }),
    text: "abc ".repeat(240_000),
  }),
  "many large patterns": () => ({
    config: {
      ...echo,
      input_guardrails: Array.from({ length: 19 }, (_, index) => ({
        "default.regexMatch": { rule: `(?:[a-f]?[g-k]?c?){300}x${index}` },
        deny: true,
      })),
    },
    text: letters(20_000),
    isRefused: true,
  }),
  "patterns as large as may be": () => ({
    config: {
      ...echo,
      input_guardrails: Array.from({ length: 4 }, (_, index) => ({
        "default.regexMatch": { rule: `(?:[a-f]?[g-k]?c?){80}x${index}`, not: true },
        deny: true,
      })),
    },
    text: letters(40_000),
  }),
  "a schema with a pattern as large as may be": () => ({
    config: hook(
      "default.jsonSchema",
      { schema: { type: "object", properties: { a: { type: "string", pattern: "(?:[a-f]?[g-k]?c?){80}x" } } } },
      "output",
    ),
    text: `{"a":"${letters(40_000)}"}`,
  }),
  "many conditions with patterns": () => ({
    config: {
      strategy: {
        mode: "conditional",
        conditions: Array.from({ length: 100 }, (_, index) => ({
          query: { "params.user": { $regex: `(?:[a-f]?[g-k]?){20}x${index}` } },
          then: "a",
        })),
        default: "a",
      },
      targets: [{ name: "a", ...echo }],
    },
    text: letters(60),
  }),
  "a schema over broken JSON": () => ({
    config: hook("default.jsonSchema", { schema: { type: "object" } }, "output"),
    text: '{"a":'.repeat(200_000),
  }),
  "names in braces": () => ({
    config: hook("default.jsonKeys", { keys: ["a"], operator: "any" }, "output"),
    text: "{".repeat(1_000_000),
  }),
  "sentences without an end": () => ({
    config: hook("default.sentenceCount", { minSentences: 1, maxSentences: 5 }),
    text: "a. ".repeat(330_000),
  }),
  "words without an end": () => ({
    config: hook("default.wordCount", { minWords: 1, maxWords: 5 }),
    text: "a ".repeat(500_000),
  }),
  "words without a check": () => ({ config: echo, text: "a ".repeat(1_500_000) }),
  "many words to look for": () => ({
    config: hook("default.contains", {
      words: Array.from({ length: 4_000 }, (_, index) => `w${index}`),
      operator: "any",
    }),
    text: "abc ".repeat(250_000),
  }),
  "addresses without an end": () => ({
    config: hook("default.validUrls", { onlyDNS: true }, "output"),
    text: "http://a.invalid ".repeat(50_000),
  }),
  "code without an end": () => ({
    config: hook("default.containsCode", { format: "SQL" }, "output"),
    text: "```sql\n".repeat(140_000),
  }),
  "a check of the named form": () => ({
    config: check("default.regexMatch", { rule: "(x+x+)+y" }),
    text: "x".repeat(900_000),
  }),
};
