import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { tellUnmapped, toEffort, toStop } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { type Members, membersOf, numberOf, textOf, textsOf } from "./members.ts";
import { toJsonSchema } from "./schema.ts";
import { toModalities } from "./sound.ts";

/** Members that are mapped. */
const mapped = new Set([
  "temperature",
  "topP",
  "candidateCount",
  "maxOutputTokens",
  "stopSequences",
  "responseMimeType",
  "responseSchema",
  "responseJsonSchema",
  "seed",
  "presencePenalty",
  "frequencyPenalty",
  "responseLogprobs",
  "logprobs",
  "responseModalities",
  "speechConfig",
  "thinkingConfig",
]);

/** Numbers by the names chats have for them. */
const numbers: Readonly<Record<string, string>> = {
  temperature: "temperature",
  topP: "top_p",
  maxOutputTokens: "max_completion_tokens",
  seed: "seed",
  presencePenalty: "presence_penalty",
  frequencyPenalty: "frequency_penalty",
};

function toNumbers(config: Members): Members {
  const found = Object.entries(numbers).map(([name, there]) => [there, numberOf(config[name])] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

function toLogprobs({ responseLogprobs, logprobs }: Members): Members {
  if (responseLogprobs !== true) return {};
  const top = numberOf(logprobs);
  return { logprobs: true, ...(top !== undefined && { top_logprobs: top }) };
}

function toFormat({ responseMimeType: type, responseSchema, responseJsonSchema }: Members): Members {
  if (type === undefined || type === null || type === "" || type === "text/plain") return {};
  if (type !== "application/json") {
    throw new InvalidRequestError(`Cannot ask this model for ${JSON.stringify(type)}: it answers text or JSON`, {
      param: "generationConfig.responseMimeType",
      code: "unsupported_parameter",
    });
  }
  const schema = isObject(responseJsonSchema)
    ? responseJsonSchema
    : isObject(responseSchema)
      ? toJsonSchema(responseSchema)
      : undefined;
  if (!schema) return { response_format: { type: "json_object" } };
  return { response_format: { type: "json_schema", json_schema: { name: "output", schema } } };
}

/**
 * How much to think (https://ai.google.dev/gemini-api/docs/thinking); a budget of 0 asks for nothing, -1 leaves it to the model.
 * An effort fits every model: budgets have bounds of their own elsewhere, and may not fill the answer.
 */
function toThinking({ thinkingConfig }: Members): Members {
  const { thinkingBudget, thinkingLevel } = membersOf(thinkingConfig);
  const level = textOf(thinkingLevel)?.toLowerCase();
  if (level !== undefined && level !== "thinking_level_unspecified") return { reasoning_effort: level };
  const budget = numberOf(thinkingBudget);
  if (budget === undefined || budget === 0) return {};
  return { reasoning_effort: budget < 0 ? "medium" : toEffort(budget) };
}

/** Whether thoughts are to be told. */
export function wantsThoughts(request: object): boolean {
  const { generationConfig } = membersOf(request);
  return membersOf(membersOf(generationConfig).thinkingConfig).includeThoughts === true;
}

/**
 * How an answer is to be made (https://ai.google.dev/api/generate-content#generationconfig).
 *
 * @throws {InvalidRequestError} If the answer is to have a form chats do not have.
 */
export function toGeneration(generationConfig: unknown, options: DialectOptions): Members {
  const config = membersOf(generationConfig);
  const tell = (name: string) => options.drop(`generationConfig.${name}`);
  tellUnmapped(config, mapped, tell);
  const count = numberOf(config.candidateCount) ?? 1;
  return {
    ...toNumbers(config),
    ...(count > 1 && { n: count }),
    ...toStop(textsOf(config.stopSequences), () => tell("stopSequences")),
    ...toLogprobs(config),
    ...toFormat(config),
    ...toModalities(config, options),
    ...toThinking(config),
  };
}
