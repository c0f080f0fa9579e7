import * as v from "valibot";
import type { ChatResponse, CompletionRequest, Usage } from "../../schemas/chat.ts";
import { toClaudeCompletion } from "../anthropic/complete.ts";
import { leaveOut } from "../anthropic/request.ts";
import type { ConversionOptions, OperationAdapter, StreamMapper } from "../core/types.ts";
import { type TokenCounts, toHead, toUsage } from "../shared/answers.ts";
import { toTextCompletion } from "../shared/completions.ts";
import { clamp, copyMembers, type MemberMap, splitMembers, toList } from "../shared/members.ts";
import { refuseMember, refuseStream, requireOneChoice } from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";
import { readChunk } from "./chunks.ts";
import { readCounts, readMetrics } from "./counts.ts";
import { type BedrockModel, readModel } from "./model.ts";

/** A text or a part of one, and its finish reason. */
interface Said {
  text: string;
  reason: string | null | undefined;
  index?: number;
}

/** How a vendor's models complete text (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html). */
interface Family {
  /** Whether a model of the vendor supports text completion at all. */
  has(name: string): boolean;
  toBody(prompt: string, request: CompletionRequest, options: ConversionOptions): object;
  /** The text of a response or stream event. */
  read(said: unknown): Said[];
  /** Token counts inside a response. */
  counts?(answer: unknown): TokenCounts;
}

const text = v.nullish(v.string());
const number = v.nullish(v.number());
const handled = ["model", "prompt", "stream"];

const toScale = (value: unknown) => (typeof value === "number" ? { scale: value } : value);

const cohereMembers = {
  max_tokens: "max_tokens",
  top_p: "p",
  top_k: "k",
  logit_bias: "logit_bias",
  n: "num_generations",
  temperature: ["temperature", clamp(0, 5)],
  frequency_penalty: ["frequency_penalty", clamp(0, 1)],
  presence_penalty: ["presence_penalty", clamp(0, 1)],
  stop: ["end_sequences", toList],
} satisfies MemberMap;
const CohereSaid = v.looseObject({
  text,
  finish_reason: text,
  index: number,
  is_finished: v.nullish(v.boolean()),
  generations: v.nullish(v.array(v.looseObject({ text: v.string(), finish_reason: text }))),
});

const cohere: Family = {
  has: (name) => /^command-(?:light-)?text/.test(name),
  toBody: (prompt, request, { drop }) => ({
    ...copyMembers(request, cohereMembers, { handled, drop }),
    prompt,
    ...(request.stream === true && { stream: true }),
  }),
  read(said) {
    const { generations, text: piece, is_finished: isLast, finish_reason: reason, index } = v.parse(CohereSaid, said);
    if (generations) return generations.map((one) => ({ text: one.text, reason: one.finish_reason ?? "COMPLETE" }));
    const ends = isLast === true ? (reason ?? "COMPLETE") : null;
    return piece || ends !== null ? [{ text: piece ?? "", reason: ends, index: index ?? 0 }] : [];
  },
};

const LlamaSaid = v.looseObject({
  generation: text,
  stop_reason: text,
  prompt_token_count: tokenCount,
  generation_token_count: tokenCount,
});

const meta: Family = {
  has: () => true,
  toBody(prompt, request, { drop }) {
    requireOneChoice("bedrock", request);
    const members = { max_tokens: "max_gen_len", temperature: "temperature", top_p: "top_p" };
    return { ...copyMembers(request, members, { handled, drop }), prompt };
  },
  read(said) {
    const { generation, stop_reason: reason } = v.parse(LlamaSaid, said);
    return generation || reason ? [{ text: generation ?? "", reason }] : [];
  },
  counts(answer) {
    const { prompt_token_count: prompt, generation_token_count: completion } = v.parse(LlamaSaid, answer);
    return { prompt, completion };
  },
};

const MistralSaid = v.looseObject({ outputs: v.nullish(v.array(v.looseObject({ text, stop_reason: text }))) });

const mistral: Family = {
  has: () => true,
  toBody(prompt, request, { drop }) {
    requireOneChoice("bedrock", request);
    const members = {
      max_tokens: "max_tokens",
      temperature: "temperature",
      top_p: "top_p",
      top_k: "top_k",
      stop: ["stop", toList],
    } satisfies MemberMap;
    return { ...copyMembers(request, members, { handled, drop }), prompt };
  },
  read: (said) =>
    (v.parse(MistralSaid, said).outputs ?? []).map((one, index) => ({
      text: one.text ?? "",
      reason: one.stop_reason,
      index,
    })),
};

const TitanSaid = v.looseObject({
  outputText: text,
  completionReason: text,
  inputTextTokenCount: tokenCount,
  results: v.nullish(v.array(v.looseObject({ outputText: text, completionReason: text, tokenCount: tokenCount }))),
});

const amazon: Family = {
  has: (name) => /^titan-(?:text|tg1)/.test(name),
  toBody(prompt, request, { drop }) {
    requireOneChoice("bedrock", request);
    const members = {
      max_tokens: "maxTokenCount",
      temperature: "temperature",
      top_p: "topP",
      stop: ["stopSequences", toList],
    } satisfies MemberMap;
    const { taken, unknown } = splitMembers(request, members, { handled, drop });
    return { ...unknown, inputText: prompt, ...(Object.keys(taken).length > 0 && { textGenerationConfig: taken }) };
  },
  read(said) {
    const { results, outputText: piece, completionReason: reason } = v.parse(TitanSaid, said);
    if (results) return results.map((one) => ({ text: one.outputText ?? "", reason: one.completionReason }));
    return piece || reason ? [{ text: piece ?? "", reason }] : [];
  },
  counts(answer) {
    const { inputTextTokenCount: prompt, results } = v.parse(TitanSaid, answer);
    return { prompt, completion: (results ?? []).reduce((sum, { tokenCount }) => sum + (tokenCount ?? 0), 0) };
  },
};

const Ai21Answer = v.looseObject({
  prompt: v.nullish(v.looseObject({ tokens: v.nullish(v.array(v.unknown())) })),
  completions: v.array(
    v.looseObject({
      data: v.looseObject({ text, tokens: v.nullish(v.array(v.unknown())) }),
      finishReason: v.nullish(v.looseObject({ reason: text })),
    }),
  ),
});

const ai21: Family = {
  has: (name) => name.startsWith("j2-"),
  toBody(prompt, request, { drop }) {
    refuseStream("bedrock", request);
    const members = {
      max_tokens: "maxTokens",
      temperature: "temperature",
      top_p: "topP",
      n: "numResults",
      stop: ["stopSequences", toList],
      presence_penalty: ["presencePenalty", toScale],
      frequency_penalty: ["frequencyPenalty", toScale],
    } satisfies MemberMap;
    return { ...copyMembers(request, members, { handled, drop }), prompt };
  },
  read: (said) =>
    v.parse(Ai21Answer, said).completions.map(({ data, finishReason }) => ({
      text: data.text ?? "",
      reason: finishReason?.reason ?? "endoftext",
    })),
  counts(answer) {
    const { prompt, completions } = v.parse(Ai21Answer, answer);
    const made = completions.reduce((sum, { data }) => sum + (data.tokens?.length ?? 0), 0);
    return { prompt: prompt?.tokens?.length, completion: made };
  },
};

const ClaudeSaid = v.looseObject({ completion: text, stop_reason: text });

const anthropic: Family = {
  has: (name) => /^claude-(?:v\d|instant)/.test(name),
  toBody(prompt, { user, ...request }, options) {
    // this version of the service has no such field
    if (user) options.drop("user");
    return leaveOut(toClaudeCompletion({ ...request, prompt }, options), ["model", "stream"], options);
  },
  read(said) {
    const { completion, stop_reason: reason } = v.parse(ClaudeSaid, said);
    return completion || reason ? [{ text: completion ?? "", reason }] : [];
  },
};

const families: Readonly<Record<string, Family>> = { ai21, amazon, anthropic, cohere, meta, mistral };

/** @throws {InvalidRequestError} If the model does not support text completion. */
function familyOf({ vendor, name }: BedrockModel): Family {
  const family = Object.hasOwn(families, vendor) ? families[vendor] : undefined;
  if (family?.has(name)) return family;
  return refuseMember("bedrock", "model", "it does not support text completion; use /v1/chat/completions");
}

function readPrompt({ prompt }: CompletionRequest): string {
  const [first, ...others] = Array.isArray(prompt) ? prompt : [prompt];
  if (typeof first === "string" && others.length === 0) return first;
  return refuseMember("bedrock", "prompt", "the prompt must be a single string");
}

const finishReasons: ReadonlyMap<string, string> = new Map([
  ...["length", "max_tokens"].map((word) => [word, "length"] as const),
  ...["content_filtered", "error_toxic"].map((word) => [word, "content_filter"] as const),
]);

function toFinishReason(word: string | null | undefined): string {
  return finishReasons.get((word ?? "").toLowerCase()) ?? "stop";
}

function toAnswer(body: unknown, family: Family, request: CompletionRequest, options: ConversionOptions): ChatResponse {
  const completions = family.read(body).map((one) => ({ text: one.text, finishReason: toFinishReason(one.reason) }));
  const headerCounts = readCounts(options);
  const usage = toUsage(headerCounts) ?? toUsage(family.counts?.(body) ?? headerCounts);
  return { ...toTextCompletion(toHead("bedrock", {}, options), request.model, completions), ...(usage && { usage }) };
}

function createMapper(family: Family, { model }: CompletionRequest, options: ConversionOptions): StreamMapper {
  const head = toHead("bedrock", {}, options);
  let isComplete = false;
  let usage: Usage | undefined;
  const toChunk = ({ text: piece, reason, index = 0 }: Said) => ({
    ...head,
    object: "text_completion",
    model,
    choices: [{ index, text: piece, logprobs: null, finish_reason: reason ? toFinishReason(reason) : null }],
  });
  return {
    map(event) {
      const said = readChunk(event);
      if (!said) return [];
      usage = toUsage(readMetrics(said) ?? { prompt: undefined, completion: undefined }) ?? usage;
      const pieces = family.read(said);
      if (pieces.some(({ reason }) => reason)) isComplete = true;
      return pieces.map(toChunk);
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

/**
 * Text completions through InvokeModel, in the vendor's format. The prompt is sent unchanged: models trained on chat
 * markup get it from the caller.
 *
 * @param stated The foundation model the caller names beside the id.
 */
export function createCompletion(
  toPath: (model: string, action: string) => string,
  stated: string | undefined,
): OperationAdapter<"complete"> {
  const of = ({ model }: CompletionRequest) => familyOf(readModel(model, stated));
  return {
    path: ({ model, stream }) => toPath(model, stream === true ? "invoke-with-response-stream" : "invoke"),
    toUpstream: (request, options) => of(request).toBody(readPrompt(request), request, options),
    fromUpstream: (body, request, options) => toAnswer(body, of(request), request, options),
    streamMapper: (request, options) => createMapper(of(request), request, options),
    framing: "aws",
  };
}
