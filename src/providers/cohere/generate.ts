import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { requireJson } from "../../lib/json.ts";
import type { ChatResponse, CompletionRequest, Usage } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter, StreamMapper } from "../core/types.ts";
import { toHead, toUsage } from "../shared/answers.ts";
import { toTextCompletion } from "../shared/completions.ts";
import { clamp, copyMembers, type MemberMap, toList } from "../shared/members.ts";
import { refuseMember } from "../shared/messages.ts";
import { tokenCount } from "../shared/token-count.ts";
import { toFinishReason } from "./wire.ts";

const text = v.nullish(v.string());
const number = v.nullish(v.number());
const Meta = v.nullish(
  v.looseObject({ billed_units: v.nullish(v.looseObject({ input_tokens: tokenCount, output_tokens: tokenCount })) }),
);
const Generations = v.array(v.looseObject({ text: v.string(), finish_reason: text, index: number }));
const Reply = v.looseObject({ id: text, generations: Generations, meta: Meta });
const Event = v.looseObject({
  text,
  index: number,
  is_finished: v.nullish(v.boolean()),
  finish_reason: text,
  message: text,
  response: v.nullish(v.looseObject({ generations: v.nullish(Generations), meta: Meta })),
});

const members = {
  max_tokens: "max_tokens",
  temperature: "temperature",
  seed: "seed",
  truncate: "truncate",
  preset: "preset",
  return_likelihoods: "return_likelihoods",
  raw_prompting: "raw_prompting",
  end_sequences: "end_sequences",
  top_k: "k",
  k: "k",
  p: "p",
  logit_bias: "logit_bias",
  n: "num_generations",
  num_generations: "num_generations",
  stop: ["stop_sequences", toList],
  stop_sequences: ["stop_sequences", toList],
  top_p: ["p", clamp(0.01, 0.99)],
  frequency_penalty: ["frequency_penalty", clamp(0, 1)],
  presence_penalty: ["presence_penalty", clamp(0, 1)],
} satisfies MemberMap;

/** Maximum number of completions per request. */
const maxGenerations = 5;

function readPrompt({ prompt }: CompletionRequest): string {
  const [first, ...others] = Array.isArray(prompt) ? prompt : [prompt];
  if (typeof first === "string" && others.length === 0) return first;
  return refuseMember("cohere", "prompt", "the prompt must be a single string");
}

function toUpstream(request: CompletionRequest, { drop }: ConversionOptions): object {
  if (Number(request.n) > maxGenerations) refuseMember("cohere", "n", `it makes at most ${maxGenerations} completions`);
  const handled = ["model", "prompt", "stream", "echo"];
  // a feature that is switched off need not be supported
  if (request.echo) drop("echo");
  return {
    ...copyMembers(request, members, { handled, drop }),
    model: request.model,
    prompt: readPrompt(request),
    ...(request.stream === true && { stream: true }),
  };
}

function usageOf(meta: v.InferOutput<typeof Meta>): Usage | undefined {
  const { input_tokens: prompt, output_tokens: completion } = meta?.billed_units ?? {};
  return toUsage({ prompt, completion });
}

function fromUpstream(body: unknown, { model }: CompletionRequest, options: ConversionOptions): ChatResponse {
  const { id, generations, meta } = v.parse(Reply, body);
  const completions = generations.map((one) => ({ text: one.text, finishReason: toFinishReason(one.finish_reason) }));
  const usage = usageOf(meta);
  return { ...toTextCompletion(toHead("cohere", { id }, options), model, completions), ...(usage && { usage }) };
}

function createMapper({ model }: CompletionRequest, options: ConversionOptions): StreamMapper {
  const head = toHead("cohere", {}, options);
  let isComplete = false;
  let usage: Usage | undefined;
  const toChunk = (index: number, said: string, finish_reason: string | null = null) => ({
    ...head,
    object: "text_completion",
    model,
    choices: [{ index, text: said, logprobs: null, finish_reason }],
  });
  return {
    map({ data }) {
      const event = v.parse(Event, requireJson(data));
      if (event.is_finished !== true) return event.text ? [toChunk(event.index ?? 0, event.text)] : [];
      const { finish_reason: reason, response } = event;
      if (reason === "ERROR") {
        const message = `cohere error: ${event.message ?? "it could not finish the text"}`;
        throw new UpstreamError(502, message, { provider: "cohere", code: "upstream_failed" });
      }
      isComplete = true;
      usage = usageOf(response?.meta);
      const made = response?.generations?.length ? response.generations : [{ finish_reason: reason, index: 0 }];
      return made.map((one, place) => toChunk(one.index ?? place, "", toFinishReason(one.finish_reason ?? reason)));
    },
    isComplete: () => isComplete,
    usage: () => usage,
  };
}

/** Legacy text completion (https://docs.cohere.com/reference/generate). Streams are JSON objects, one per line. */
export const generate: OperationAdapter<"complete"> = {
  path: () => "/v1/generate",
  toUpstream,
  fromUpstream,
  streamMapper: createMapper,
  framing: "lines",
};
