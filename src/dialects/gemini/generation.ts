import { InvalidRequestError } from "../../errors.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";
import { dropUnmapped, toEffort, toStop } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { toModalities } from "./audio.ts";
import { type Members, membersOf, numberOf, stringsOf } from "./members.ts";
import { toJsonSchema } from "./schema.ts";

/** Fields that are mapped. */
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

/** Numeric fields, with their names in a chat. */
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
    throw new InvalidRequestError(`Cannot ask this model for ${JSON.stringify(type)}: it returns text or JSON`, {
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
 * Reasoning effort (https://ai.google.dev/gemini-api/docs/thinking); a budget of 0 turns it off, -1 leaves it to the model.
 * An effort suits every model, while the limits of budgets differ between providers and may exceed the output limit.
 */
function toThinking({ thinkingConfig }: Members): Members {
  const { thinkingBudget, thinkingLevel } = membersOf(thinkingConfig);
  const level = nonEmptyString(thinkingLevel)?.toLowerCase();
  if (level !== undefined && level !== "thinking_level_unspecified") return { reasoning_effort: level };
  const budget = numberOf(thinkingBudget);
  if (budget === undefined) return {};
  if (budget === 0) return { thinking: { type: "disabled" } };
  return { reasoning_effort: budget < 0 ? "medium" : toEffort(budget) };
}

/** Whether the client asks for reasoning in the response. */
export function wantsReasoning(request: object): boolean {
  const { generationConfig } = membersOf(request);
  return membersOf(membersOf(generationConfig).thinkingConfig).includeThoughts === true;
}

/**
 * Generation settings (https://ai.google.dev/api/generate-content#generationconfig).
 *
 * @throws {InvalidRequestError} If the requested response format has no counterpart in chats.
 */
export function toGeneration(generationConfig: unknown, options: DialectOptions): Members {
  const config = membersOf(generationConfig);
  const drop = (name: string) => options.drop(`generationConfig.${name}`);
  dropUnmapped(config, mapped, drop);
  const count = numberOf(config.candidateCount) ?? 1;
  return {
    ...toNumbers(config),
    ...(count > 1 && { n: count }),
    ...toStop(stringsOf(config.stopSequences), () => drop("stopSequences")),
    ...toLogprobs(config),
    ...toFormat(config),
    ...toModalities(config, options),
    ...toThinking(config),
  };
}
