import { encodeEvent } from "../../src/lib/sse.ts";

const words = Array.from({ length: 96 }, (_, index) => `word ${index} ${"é".repeat(index % 7)}`);
/** What the streams of this file say. */
export const spoken = words.join("");

const eventStream = { "content-type": "text/event-stream" };

const toStream = (events: readonly (readonly [payload: unknown, name?: string])[], end = "") =>
  new Response(events.map(([payload, name]) => encodeEvent(payload, name)).join("") + end, { headers: eventStream });

const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };

/** About 100 chunks of a chat: text, reasoning, two tool calls, log probabilities. */
export function chatStream(isCut = false): Response {
  const head = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-4o",
    system_fingerprint: "fp",
  };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const call = (index: number, members: object) => chunk({ tool_calls: [{ index, ...members }] });
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    ...words.map((word) => chunk({ content: word })),
    call(0, { id: "call_1", type: "function", function: { name: "look", arguments: "" } }),
    call(0, { function: { arguments: '{"a":' } }),
    call(1, { id: "call_2", type: "function", function: { name: "see", arguments: "{}" } }),
    call(0, { function: { arguments: "1}" } }),
    ...(isCut ? [] : [chunk({}, "tool_calls"), { ...head, choices: [], usage }]),
  ];
  return toStream(
    chunks.map((one) => [one]),
    isCut ? "" : "data: [DONE]\n\n",
  );
}

/** The same response as JSON. */
export const chatWhole = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  system_fingerprint: "fp",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: spoken,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "look", arguments: '{"a":1}' } },
          { id: "call_2", type: "function", function: { name: "see", arguments: "{}" } },
        ],
      },
      finish_reason: "tool_calls",
    },
  ],
  usage,
};

/** A stream of text completions. */
export function completionStream(): Response {
  const head = { id: "cmpl-1", object: "text_completion", created: 1, model: "m" };
  const chunks = words.map((text) => ({ ...head, choices: [{ index: 0, text, finish_reason: null }] }));
  const end = { ...head, choices: [{ index: 0, text: "", finish_reason: "stop" }] };
  return toStream(
    [...chunks, end].map((one) => [one]),
    "data: [DONE]\n\n",
  );
}

/** A stream of the Messages API: thinking, text, a tool. */
export function messageStream(): Response {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const delta = (index: number, members: object) => ({ type: "content_block_delta", index, delta: members });
  const stop = (index: number) => ({ type: "content_block_stop", index });
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const events = [
    { type: "message_start", message },
    start(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, { type: "thinking_delta", thinking: "Let me " }),
    delta(0, { type: "thinking_delta", thinking: "see" }),
    delta(0, { type: "signature_delta", signature: "c2lnbmVk" }),
    stop(0),
    start(1, { type: "text", text: "" }),
    ...words.map((text) => delta(1, { type: "text_delta", text })),
    stop(1),
    start(2, { type: "tool_use", id: "toolu_1", name: "look", input: {} }),
    delta(2, { type: "input_json_delta", partial_json: '{"a":' }),
    delta(2, { type: "input_json_delta", partial_json: "1}" }),
    stop(2),
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 99 } },
    { type: "message_stop" },
  ];
  return toStream(events.map((event) => [event, event.type]));
}

/** A stream of the Responses API. */
export function responseStream(): Response {
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "gpt-4o",
    status: "in_progress",
    output: [],
    error: null,
    incomplete_details: null,
  };
  const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: spoken, annotations: [], logprobs: [] };
  const item = { type: "message", id: "msg_1", status: "completed", role: "assistant", content: [part] };
  const events = [
    { type: "response.created", response },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [], status: "in_progress" } },
    { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
    ...words.map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
    { type: "response.output_text.done", ...place, text: spoken, logprobs: [] },
    { type: "response.content_part.done", ...place, part },
    { type: "response.output_item.done", output_index: 0, item },
    {
      type: "response.completed",
      response: {
        ...response,
        status: "completed",
        output: [item],
        usage: { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 },
      },
    },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
  return toStream(events.map((event) => [event, event.type]));
}

/** A stream of the Gemini API. */
export function contentStream(): Response {
  const chunk = (text: string, more: object = {}) => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }],
    modelVersion: "gemini-2.5-flash",
    responseId: "r",
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  });
  const chunks = [...words.map((word) => chunk(word)), chunk("", { finishReason: "STOP" })];
  return toStream(chunks.map((one) => [one]));
}

/** The beginning of a stream of a chat that does not go on. */
export function endlessStream(): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const choices = [{ index: 0, delta: { content: "Hi" } }];
      const chunk = { id: "c", object: "chat.completion.chunk", choices };
      controller.enqueue(new TextEncoder().encode(encodeEvent(chunk)));
    },
  });
  return new Response(body, { headers: eventStream });
}
