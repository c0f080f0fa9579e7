import * as v from "valibot";
import type { ChatRequest, ChatResponse } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { callId, toArguments, toChatAnswer, toChoice, toHead, toPortableId } from "../shared/answers.ts";
import { toUpstream } from "./request.ts";
import { createMapper } from "./stream.ts";
import { Reply, readUsage, toFinishReason } from "./wire.ts";

type Message = Reply["message"];

function joinMember(content: Message["content"], member: "text" | "thinking"): string {
  return (content ?? []).map((part) => part[member] ?? "").join("");
}

/** Message fields that OpenAI's responses do not have. */
function toExtras({ content, tool_plan, citations }: Message): object {
  // models that do not think plan their calls
  const isPlanned = tool_plan && joinMember(content, "thinking") === "";
  const planned = isPlanned ? [{ type: "thinking", thinking: tool_plan }] : [];
  const thinking = joinMember([...planned, ...(content ?? [])], "thinking");
  const said = (content ?? []).map((part) =>
    part.type === "thinking"
      ? { type: "thinking", thinking: part.thinking ?? "" }
      : { type: "text", text: part.text ?? "" },
  );
  const blocks = [...planned, ...said];
  return {
    ...(thinking !== "" && { reasoning_content: thinking, content_blocks: blocks }),
    ...(tool_plan && { tool_plan }),
    ...(citations && { citations }),
  };
}

function toLogprobs(logprobs: Reply["logprobs"]): object | null {
  if (!logprobs) return null;
  const content = logprobs.map(({ text, logprobs: values }) => ({
    token: text ?? "",
    logprob: values?.[0] ?? 0,
    bytes: null,
    top_logprobs: [],
  }));
  return { content, refusal: null };
}

function fromUpstream(body: unknown, { model }: ChatRequest, options: ConversionOptions): ChatResponse {
  const { id, finish_reason, message, usage, logprobs } = v.parse(Reply, body);
  const head = toHead("cohere", { id }, options);
  const toolCalls = (message.tool_calls ?? []).map((call, index) => ({
    id: call.id ? toPortableId(call.id) : callId(head.id, index),
    type: "function" as const,
    function: { name: call.function?.name ?? "", arguments: toArguments(call.function?.arguments) },
  }));
  const text = joinMember(message.content, "text");
  const content = text === "" && toolCalls.length > 0 ? null : text;
  const said = { content, toolCalls, ...(!options.strict && { extras: toExtras(message) }) };
  const choice = toChoice(said, toFinishReason(finish_reason), { logprobs: toLogprobs(logprobs) });
  return toChatAnswer({ ...head, model, choices: [choice], usage: readUsage(usage) });
}

/** Chat (https://docs.cohere.com/reference/chat). */
export const chat = {
  path: () => "/v2/chat",
  toUpstream,
  fromUpstream,
  streamMapper: createMapper,
} satisfies OperationAdapter<"chat">;
