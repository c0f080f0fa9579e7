import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { requireJson } from "../../lib/json.ts";
import { withoutThinking } from "../anthropic/repair.ts";
import type { ConversionOptions, OperationAdapter, StreamMapper } from "../core/types.ts";
import { CallIndexes } from "../shared/call-indexes.ts";
import { withStreamUsage } from "../shared/plain.ts";
import { fromContent, toContent } from "./content.ts";

const Answer = v.looseObject({ choices: v.array(v.looseObject({ message: v.looseObject({}) })) });

const Chunk = v.looseObject({
  error: v.nullish(v.unknown()),
  message: v.nullish(v.string()),
  choices: v.nullish(
    v.array(v.looseObject({ finish_reason: v.nullish(v.string()), delta: v.nullish(v.looseObject({})) })),
  ),
  usage: v.nullish(v.looseObject({})),
});

function createMapper({ strict }: ConversionOptions): StreamMapper {
  let finished = false;
  let usage: unknown;
  let roleSent = false;
  const calls = new CallIndexes();
  const settle = (delta: Record<string, unknown>) =>
    Array.isArray(delta.tool_calls) ? { ...delta, tool_calls: calls.settle(delta.tool_calls) } : delta;
  return {
    map({ data }) {
      const { usage: reported, choices, ...chunk } = v.parse(Chunk, requireJson(data));
      usage = reported ?? usage;
      if (!choices && (chunk.error || chunk.error_code)) {
        throw new UpstreamError(502, `databricks error: ${chunk.message ?? JSON.stringify(chunk.error)}`, {
          provider: "databricks",
          code: String(chunk.error_code ?? "upstream_error"),
        });
      }
      if (!choices || choices.length === 0) return [];
      finished ||= choices.some(({ finish_reason: reason }) => reason);
      const mapped = choices.map(({ delta, ...choice }) => ({
        ...choice,
        delta: { ...(!roleSent && { role: "assistant" }), ...fromContent(settle(delta ?? {}), strict) },
      }));
      roleSent = true;
      return [{ ...chunk, choices: mapped }];
    },
    isComplete: () => finished,
    usage: () => usage,
  };
}

/**
 * Chat (https://docs.databricks.com/machine-learning/foundation-model-apis/api-reference); content may be a list with
 * reasoning.
 */
export function chatOperation(path: string): OperationAdapter<"chat"> {
  return {
    path: () => path,
    toUpstream(request) {
      const { messages } = request;
      return { ...withStreamUsage(request), messages: messages.map(toContent) };
    },
    fromUpstream(body, _, { strict }) {
      const answer = v.parse(Answer, body);
      const choices = answer.choices.map((choice) => ({ ...choice, message: fromContent(choice.message, strict) }));
      return { ...answer, choices };
    },
    streamMapper: (_, options) => createMapper(options),
    repair: withoutThinking,
  };
}
