import type { ServerResponse } from "node:http";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "./upstream.ts";

/** A scripted model: it calls one tool, and responds with text once it has the tool's result. */
export interface Script {
  tool: { name: string; input: object };
  text: string;
}

/** What the script comes to for one request. */
type Step = { call: Script["tool"] } | { text: string };

/** How a provider's API is played. */
interface Protocol {
  path: RegExp;
  /** Matches a request with a tool result. */
  hasResult: RegExp;
  /** Events of a streamed response. */
  events(step: Step): object[];
  /** The non-streaming response. */
  answer(step: Step): object;
  /** Whether an event is named by its type. */
  isNamed?: true;
  /** Text that ends a stream. */
  ending?: string;
}

const shared = { id: "chatcmpl-scripted", created: 1_760_000_000, model: "scripted-1" };
const usage = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 };

const chatCall = ({ name, input }: Script["tool"], more: object = {}) => ({
  id: "call_scripted1",
  type: "function",
  function: { name, arguments: JSON.stringify(input) },
  ...more,
});

function chatEvents(step: Step): object[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...shared,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const said =
    "text" in step
      ? [chunk({ content: step.text }), chunk({}, "stop")]
      : [chunk({ tool_calls: [chatCall(step.call, { index: 0 })] }), chunk({}, "tool_calls")];
  const trailer = { ...shared, object: "chat.completion.chunk", choices: [], usage };
  return [chunk({ role: "assistant", content: "" }), ...said, trailer];
}

function chatAnswer(step: Step): object {
  const message = "text" in step ? { content: step.text } : { content: null, tool_calls: [chatCall(step.call)] };
  const finish_reason = "text" in step ? "stop" : "tool_calls";
  const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason }];
  return { ...shared, object: "chat.completion", choices, usage };
}

function geminiAnswer(step: Step): object {
  const part = "text" in step ? { text: step.text } : { functionCall: { name: step.call.name, args: step.call.input } };
  return {
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 },
    modelVersion: "scripted-1",
    responseId: "scripted",
  };
}

const claudeBlock = (step: Step) =>
  "text" in step
    ? { type: "text", text: step.text }
    : { type: "tool_use", id: "toolu_scripted1", name: step.call.name, input: step.call.input };

const claudeMessage = (content: object[], stop_reason: string | null) => ({
  id: "msg_scripted",
  type: "message",
  role: "assistant",
  model: "scripted-1",
  content,
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens: 7 },
});

const claudeReason = (step: Step) => ("text" in step ? "end_turn" : "tool_use");

function claudeEvents(step: Step): object[] {
  const block = claudeBlock(step);
  const isText = "text" in step;
  const delta = isText
    ? { type: "text_delta", text: step.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(step.call.input) };
  return [
    { type: "message_start", message: claudeMessage([], null) },
    { type: "content_block_start", index: 0, content_block: isText ? { ...block, text: "" } : { ...block, input: {} } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: claudeReason(step), stop_sequence: null },
      usage: { output_tokens: 7 },
    },
    { type: "message_stop" },
  ];
}

const protocols: readonly Protocol[] = [
  {
    path: /\/chat\/completions$/,
    hasResult: /"role":"tool"/,
    events: chatEvents,
    answer: chatAnswer,
    ending: "data: [DONE]\n\n",
  },
  {
    path: /:(?:streamGenerateContent\?alt=sse|generateContent)$/,
    hasResult: /"functionResponse"/,
    events: (step) => [geminiAnswer(step)],
    answer: geminiAnswer,
  },
  {
    path: /\/messages$/,
    hasResult: /"tool_result"/,
    events: claudeEvents,
    answer: (step) => claudeMessage([claudeBlock(step)], claudeReason(step)),
    isNamed: true,
  },
];

function send(protocol: Protocol, step: Step, isStreamed: boolean, response: ServerResponse): void {
  if (!isStreamed) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(protocol.answer(step)));
    return;
  }
  const events = protocol.events(step).map((event) => {
    const name = protocol.isNamed ? `event: ${Reflect.get(event, "type")}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join("") + (protocol.ending ?? ""));
}

/**
 * A loopback model that follows a script, in the protocols of OpenAI, Gemini and Anthropic by path. A request that
 * offers the tool and has no result of it gets the call, every other one the text.
 */
export function startScriptedModel({ tool, text }: Script): Promise<RecordingUpstream> {
  return startRecordingUpstream(({ path, text: body }: ReceivedRequest, response) => {
    const protocol = protocols.find((one) => one.path.test(path));
    if (!protocol) {
      const message = `Nothing is served at ${path}`;
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
      return;
    }
    const offersTool = body.includes(`"name":"${tool.name}"`);
    const step = offersTool && !protocol.hasResult.test(body) ? { call: tool } : { text };
    const isStreamed = path.includes("alt=sse") || /"stream":true/.test(body);
    send(protocol, step, isStreamed, response);
  });
}
