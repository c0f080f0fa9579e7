import * as v from "valibot";
import { parseJson } from "../../lib/json.ts";
import type { ChatResponse, CompletionRequest } from "../../schemas/chat.ts";
import { failureOfError } from "../core/failures.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { isKnownMember, passUnknown } from "../shared/known.ts";
import { refuse } from "./parts.ts";
import { WireCompletion } from "./wire.ts";

const defaultMaxTokens = 4_096;

/** Fields that are converted. */
const mapped = new Set([
  "model",
  "prompt",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "stream",
  "stream_options",
  "user",
  "n",
]);

function readPrompt({ prompt }: CompletionRequest): string {
  const [first, ...others] = Array.isArray(prompt) ? prompt : [prompt];
  if (typeof first === "string" && others.length === 0) return first;
  return refuse("Cannot complete this prompt: it must be a single string", "prompt");
}

/** The text completion request for Claude. */
export function toClaudeCompletion(request: CompletionRequest, { drop }: ConversionOptions): Record<string, unknown> {
  const { model, max_tokens, temperature, top_p, top_k, stop, stream, user } = request;
  if (typeof request.n === "number" && request.n > 1)
    refuse("Cannot use n above 1: the provider returns one choice", "n");
  const isSwitchedOff = (name: string) => isKnownMember(name) && request[name] === false;
  const stops = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text.trim() !== "");
  return {
    ...passUnknown(request, (name) => mapped.has(name) || isSwitchedOff(name), { drop }),
    model,
    prompt: `\n\nHuman: ${readPrompt(request)}\n\nAssistant:`,
    max_tokens_to_sample: max_tokens ?? defaultMaxTokens,
    ...(typeof temperature === "number" && { temperature: Math.min(temperature, 1) }),
    ...(typeof top_p === "number" && { top_p }),
    ...(typeof top_k === "number" && { top_k }),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(stream === true && { stream }),
    ...(user && { metadata: { user_id: user } }),
  };
}

type Wire = v.InferOutput<typeof WireCompletion>;

function toAnswer(wire: Wire, request: CompletionRequest, options: ConversionOptions): ChatResponse {
  const { id, model, completion, stop_reason: reason } = wire;
  const finish_reason = reason ? (reason === "max_tokens" ? "length" : "stop") : null;
  return {
    id: id ?? options.answerId ?? "",
    object: "text_completion",
    created: options.created ?? 0,
    model: model ?? request.model,
    choices: [{ index: 0, text: completion ?? "", logprobs: null, finish_reason }],
  };
}

/** Legacy text completion (https://docs.claude.com/en/api/complete). */
export function createCompletion(provider: string): OperationAdapter<"complete"> {
  return {
    path: () => "/complete",
    toUpstream: toClaudeCompletion,
    fromUpstream: (body, request, options) => toAnswer(v.parse(WireCompletion, body), request, options),
    streamMapper(request, options) {
      let isComplete = false;
      return {
        map({ data }) {
          const wire = v.parse(WireCompletion, parseJson(data));
          if (wire.error) throw failureOfError(wire.error, provider);
          if (typeof wire.completion !== "string") return [];
          if (wire.stop_reason) isComplete = true;
          return [toAnswer(wire, request, options)];
        },
        isComplete: () => isComplete,
        usage: () => undefined,
      };
    },
  };
}
