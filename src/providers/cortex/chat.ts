import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import { requireJson } from "../../lib/json.ts";
import type { ChatRequest, CompletionRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter, StreamMapper } from "../core/types.ts";
import { refuseValue } from "../shared/chat-messages.ts";
import { toTextAnswer, toTextMapper } from "../shared/completions.ts";
import { toCompleteRequest } from "./request.ts";
import { Answer, type ContentItem, type Said, StreamEvent, toUsage } from "./wire.ts";

function idOf({ id }: { id?: string | null | undefined }, { answerId }: ConversionOptions): string {
  return id ?? answerId ?? "chatcmpl-cortex";
}

function readUse(item: ContentItem): { id: string; name: string; input: unknown }[] {
  const { tool_use_id: id, name, input } = item.tool_use ?? item;
  return id || (input !== null && input !== undefined) ? [{ id: id ?? "", name: name ?? "", input }] : [];
}

/** Tool calls or their deltas from the content list; some events have them only beside the list. */
function usesOf({ content_list: list, ...said }: Said) {
  const listed = (list ?? []).flatMap(readUse);
  return listed.length > 0 ? listed : readUse(said);
}

function textOfSaid({ content, text, content_list: list }: Said): string {
  if (content) return content;
  return text || (list ?? []).map((item) => item.text ?? "").join("");
}

function toArguments(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input ?? {});
}

function fromAnswer(body: unknown, { model }: ChatRequest, options: ConversionOptions) {
  const answer = v.parse(Answer, body);
  const choices = answer.choices.map(({ message, finish_reason: reason }, index) => {
    const calls = usesOf(message).map(({ id, name, input }) => ({
      id,
      type: "function",
      function: { name, arguments: toArguments(input) },
    }));
    const text = textOfSaid(message);
    return {
      index,
      message: {
        role: "assistant",
        content: text === "" && calls.length > 0 ? null : text,
        refusal: null,
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: null,
      finish_reason: reason ?? (calls.length > 0 ? "tool_calls" : "stop"),
    };
  });
  const usage = toUsage(answer.usage);
  return {
    id: idOf(answer, options),
    object: "chat.completion",
    created: answer.created ?? options.created ?? 0,
    model: answer.model ?? model,
    choices,
    ...(usage && { usage }),
  };
}

function createMapper({ model }: ChatRequest, options: ConversionOptions): StreamMapper {
  let shared: object | undefined;
  let usage: ReturnType<typeof toUsage>;
  let finished = false;
  let calls = 0;
  const callDelta = ({ id, name, input }: ReturnType<typeof usesOf>[number]): object[] => {
    const isNew = id !== "";
    if (isNew) calls += 1;
    if (calls === 0) return [];
    const given = input === null || input === undefined ? "" : toArguments(input);
    const head = isNew ? { id, type: "function" } : {};
    return [{ index: calls - 1, ...head, function: { ...(isNew && { name }), arguments: given } }];
  };
  return {
    map({ data }) {
      const event = v.parse(StreamEvent, requireJson(data));
      if (!event.choices) {
        if (!event.message) return [];
        throw new UpstreamError(502, `cortex error: ${event.message}`, {
          provider: "cortex",
          code: String(event.code ?? "upstream_error"),
        });
      }
      const isFirst = shared === undefined;
      shared ??= {
        id: idOf(event, options),
        object: "chat.completion.chunk",
        created: event.created ?? options.created ?? 0,
        model: event.model ?? model,
      };
      usage = toUsage(event.usage) ?? usage;
      const [choice] = event.choices;
      const said = choice?.delta ?? {};
      const text = textOfSaid(said);
      const tools = usesOf(said).flatMap(callDelta);
      const delta = {
        ...(isFirst && { role: "assistant" }),
        ...((text !== "" || isFirst) && { content: text }),
        ...(tools.length > 0 && { tool_calls: tools }),
      };
      const chunkOf = (value: object, reason: string | null) => ({
        ...shared,
        choices: [{ index: 0, delta: value, logprobs: null, finish_reason: reason }],
      });
      const chunks = Object.keys(delta).length > 0 ? [chunkOf(delta, null)] : [];
      // the event with the usage is the last one
      if (finished || !(choice?.finish_reason || usage)) return chunks;
      finished = true;
      return [...chunks, chunkOf({}, choice?.finish_reason ?? (calls > 0 ? "tool_calls" : "stop"))];
    },
    isComplete: () => finished,
    usage: () => usage,
  };
}

/** Chat (https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api). */
export const chat = {
  path: () => "/cortex/inference:complete",
  toUpstream: toCompleteRequest,
  fromUpstream: fromAnswer,
  streamMapper: createMapper,
} satisfies OperationAdapter<"chat">;

/** A prompt as a chat with one message; fields that only completions have are dropped. */
function asChat(request: CompletionRequest): ChatRequest {
  const { prompt, stop, ...rest } = request;
  const [first, ...others] = Array.isArray(prompt) ? prompt : [prompt];
  if (typeof first !== "string" || others.length > 0) refuseValue("prompt", "the prompt must be a single string");
  return { ...rest, ...(stop && { stop }), messages: [{ role: "user", content: first }] };
}

/** Text completions, through chat: the service has no completion API. */
export const complete: OperationAdapter<"complete"> = {
  path: chat.path,
  toUpstream: (request, options) => toCompleteRequest(asChat(request), options),
  fromUpstream: (body, request, options) => toTextAnswer(fromAnswer(body, asChat(request), options)),
  streamMapper: (request, options) => toTextMapper(createMapper(asChat(request), options)),
};
