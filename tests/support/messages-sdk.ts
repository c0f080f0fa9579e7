import Anthropic from "@anthropic-ai/sdk";
import type { ChatSdk, Model, Question, Reply, Tokens } from "./chat-sdks.ts";

function client({ baseUrl, apiKey, headers }: Model): Anthropic {
  // this SDK adds the version to its paths itself
  const baseURL = baseUrl.replace(/\/v1$/, "");
  return new Anthropic({ baseURL, apiKey, maxRetries: 0, timeout: 30_000, defaultHeaders: headers });
}

function toBody({ name }: Model, { text, image, tools, object, effort }: Question): Anthropic.MessageCreateParams {
  const data = image?.replace(/^data:image\/png;base64,/, "");
  const parts = data && [
    { type: "text" as const, text },
    { type: "image" as const, source: { type: "base64" as const, media_type: "image/png" as const, data } },
  ];
  return {
    model: name,
    max_tokens: 2_048,
    messages: [{ role: "user", content: parts || text }],
    ...(tools && {
      tools: tools.map(({ schema, ...named }) => ({ ...named, input_schema: schema })),
      tool_choice: { type: "auto" as const },
    }),
    ...(object && { output_config: { format: { type: "json_schema" as const, schema: object.schema } } }),
    ...(effort && { thinking: { type: "adaptive" as const }, output_config: { effort } }),
  };
}

/** Token counts as the other SDKs report them: input includes cached tokens. */
function toTokens(usage: Anthropic.Usage): Tokens {
  const cached = usage.cache_read_input_tokens ?? 0;
  const input = usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0);
  const thought = usage.output_tokens_details?.thinking_tokens ?? 0;
  return { input, output: usage.output_tokens, total: input + usage.output_tokens, cached, reasoning: thought };
}

function toReply({ content, stop_reason: reason, usage }: Anthropic.Message, question: Question): Reply {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return {
    text,
    reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
    ),
    ...(question.object && { object: JSON.parse(text) }),
    tokens: toTokens(usage),
    pieces: { text: 0, reasoning: 0, firstCall: 0 },
    finish: reason === "end_turn" ? "stop" : (reason ?? undefined),
  };
}

/** `@anthropic-ai/sdk` (https://github.com/anthropics/anthropic-sdk-typescript). */
export const anthropicSdk: ChatSdk = {
  name: "anthropic",
  calledTools: "tool_use",
  async complete(model, question) {
    return toReply(await client(model).messages.create({ ...toBody(model, question), stream: false }), question);
  },
  async stream(model, question) {
    const stream = client(model).messages.stream({ ...toBody(model, question), stream: true });
    const pieces = { text: 0, reasoning: 0, firstCall: 0 };
    let firstCall: number | undefined;
    for await (const event of stream) {
      if (event.type === "content_block_start" && event.content_block.type === "tool_use") firstCall ??= event.index;
      if (event.type !== "content_block_delta") continue;
      if (event.delta.type === "text_delta") pieces.text++;
      if (event.delta.type === "thinking_delta") pieces.reasoning++;
      if (event.delta.type === "input_json_delta" && event.index === firstCall) pieces.firstCall++;
    }
    return { ...toReply(await stream.finalMessage(), question), pieces };
  },
};
