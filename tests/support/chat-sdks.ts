import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, type LanguageModelUsage, streamText, type ToolSet, tool } from "ai";
import OpenAI from "openai";

/** A JSON schema of an object. */
type ObjectSchema = {
  type: "object";
  properties: Record<string, { type: "string" | "integer" }>;
  required: string[];
  additionalProperties: false;
};

/** A request to a model, independent of SDKs. */
export interface Question {
  text: string;
  /** An image beside the text, as a data URL. */
  image?: string;
  tools?: readonly { name: string; description: string; schema: ObjectSchema }[];
  /** Format of the response. */
  object?: { name: string; schema: ObjectSchema };
  effort?: "low";
}

/** Token counts as an SDK reports them; absent ones count as 0. */
export interface Tokens {
  input: number;
  output: number;
  total: number;
  cached: number;
  reasoning: number;
}

/** A model's response, independent of SDKs. */
export interface Reply {
  text: string;
  reasoning: string;
  calls: { id: string; name: string; input: unknown }[];
  object?: unknown;
  tokens: Tokens;
  /** Number of received pieces of text, reasoning and arguments of the first call; 0 for non-streaming responses. */
  pieces: { text: number; reasoning: number; firstCall: number };
  finish: string | undefined;
}

/** Address and credentials of a model. */
export interface Model {
  baseUrl: string;
  apiKey: string;
  headers: Record<string, string>;
  name: string;
}

/** A client library as its users set it up. */
export interface ChatSdk {
  name: string;
  /** Its finish reason for tool calls. */
  calledTools: string;
  complete(model: Model, question: Question): Promise<Reply>;
  stream(model: Model, question: Question): Promise<Reply>;
}

const noPieces = { text: 0, reasoning: 0, firstCall: 0 };

function openaiClient({ baseUrl, apiKey, headers }: Model): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0, timeout: 30_000, defaultHeaders: headers });
}

function openaiBody({ name }: Model, { text, image, tools, object, effort }: Question) {
  const parts = image && [
    { type: "text" as const, text },
    { type: "image_url" as const, image_url: { url: image } },
  ];
  return {
    model: name,
    messages: [{ role: "user" as const, content: parts || text }],
    ...(tools && {
      tools: tools.map(({ schema, ...named }) => ({
        type: "function" as const,
        function: { ...named, parameters: schema },
      })),
      tool_choice: "auto" as const,
    }),
    ...(object && {
      response_format: { type: "json_schema" as const, json_schema: { ...object, strict: true } },
    }),
    ...(effort && { reasoning_effort: effort }),
  };
}

function openaiTokens(usage: OpenAI.CompletionUsage | null | undefined): Tokens {
  return {
    input: usage?.prompt_tokens ?? 0,
    output: usage?.completion_tokens ?? 0,
    total: usage?.total_tokens ?? 0,
    cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
    reasoning: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}

/** A field that the SDK's types lack. */
function thoughtsIn(holder: object | undefined): string {
  const thoughts: unknown = holder && Reflect.get(holder, "reasoning_content");
  return typeof thoughts === "string" ? thoughts : "";
}

function openaiCalls(calls: readonly OpenAI.ChatCompletionMessageToolCall[] | undefined): Reply["calls"] {
  return (calls ?? []).flatMap((call) =>
    call.type === "function"
      ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }] // typed as any
      : [],
  );
}

/** `openai` (https://github.com/openai/openai-node). */
export const openaiSdk: ChatSdk = {
  name: "openai",
  calledTools: "tool_calls",
  async complete(model, question) {
    const answer = await openaiClient(model).chat.completions.parse(openaiBody(model, question));
    const [choice] = answer.choices;
    return {
      text: choice?.message.content ?? "",
      reasoning: thoughtsIn(choice?.message),
      calls: openaiCalls(choice?.message.tool_calls),
      object: choice?.message.parsed,
      tokens: openaiTokens(answer.usage),
      pieces: noPieces,
      finish: choice?.finish_reason,
    };
  },
  async stream(model, question) {
    const runner = openaiClient(model).chat.completions.stream({
      ...openaiBody(model, question),
      stream_options: { include_usage: true },
    });
    const pieces = { ...noPieces };
    let reasoning = "";
    for await (const { choices } of runner) {
      const delta = choices[0]?.delta;
      const thoughts = thoughtsIn(delta);
      reasoning += thoughts;
      if (delta?.content) pieces.text++;
      if (thoughts !== "") pieces.reasoning++;
      if (delta?.tool_calls?.some((call) => call.index === 0 && call.function?.arguments)) pieces.firstCall++;
    }
    const { choices, usage } = await runner.finalChatCompletion();
    const calls = openaiCalls(choices[0]?.message.tool_calls);
    const text = choices[0]?.message.content ?? "";
    return { text, reasoning, calls, tokens: openaiTokens(usage), pieces, finish: choices[0]?.finish_reason };
  },
};

function compatibleModel({ baseUrl, apiKey, headers, name }: Model) {
  const options = { includeUsage: true, supportsStructuredOutputs: true };
  return createOpenAICompatible({ name: "gateway", baseURL: baseUrl, apiKey, headers, ...options }).chatModel(name);
}

function compatibleOptions(model: Model, { text, image, effort }: Question) {
  const parts = image && [
    { type: "text" as const, text },
    { type: "file" as const, mediaType: "image/png", data: image },
  ];
  return {
    model: compatibleModel(model),
    maxRetries: 0,
    messages: [{ role: "user" as const, content: parts || text }],
    ...(effort && { providerOptions: { gateway: { reasoningEffort: effort } } }),
  };
}

function compatibleTools({ tools = [] }: Question): ToolSet {
  const set: ToolSet = {};
  for (const { name, description, schema } of tools) {
    set[name] = tool({ description, inputSchema: jsonSchema<Record<string, unknown>>(schema) });
  }
  return set;
}

function compatibleTokens(usage: LanguageModelUsage): Tokens {
  return {
    input: usage.inputTokens ?? 0,
    output: usage.outputTokens ?? 0,
    total: usage.totalTokens ?? 0,
    cached: usage.inputTokenDetails.cacheReadTokens ?? 0,
    reasoning: usage.outputTokenDetails.reasoningTokens ?? 0,
  };
}

function compatibleCalls(calls: readonly { toolCallId: string; toolName: string; input: unknown }[]): Reply["calls"] {
  return calls.map(({ toolCallId: id, toolName: name, input }) => ({ id, name, input }));
}

/** `ai` with `@ai-sdk/openai-compatible` (https://ai-sdk.dev/providers/openai-compatible-providers). */
export const aiSdk: ChatSdk = {
  name: "ai",
  calledTools: "tool-calls",
  async complete(model, question) {
    const { object } = question;
    const options = compatibleOptions(model, question);
    if (object) {
      const answer = await generateObject({ ...options, schema: jsonSchema(object.schema), schemaName: object.name });
      const { usage, finishReason: finish } = answer;
      const said = { text: "", reasoning: "", calls: [], object: answer.object };
      return { ...said, tokens: compatibleTokens(usage), pieces: noPieces, finish };
    }
    const answer = await generateText({ ...options, tools: compatibleTools(question) });
    return {
      text: answer.text,
      reasoning: answer.reasoningText ?? "",
      calls: compatibleCalls(answer.toolCalls),
      tokens: compatibleTokens(answer.usage),
      pieces: noPieces,
      finish: answer.finishReason,
    };
  },
  async stream(model, question) {
    let failure: unknown;
    const onError = ({ error }: { error: unknown }) => {
      failure ??= error;
    };
    const answer = streamText({
      ...compatibleOptions(model, question),
      tools: compatibleTools(question),
      onError,
    });
    const pieces = { ...noPieces };
    let firstCall: string | undefined;
    for await (const part of answer.fullStream) {
      if (part.type === "text-delta") pieces.text++;
      if (part.type === "reasoning-delta") pieces.reasoning++;
      if (part.type === "tool-input-start") firstCall ??= part.id;
      if (part.type === "tool-input-delta" && part.id === firstCall && part.delta !== "") pieces.firstCall++;
    }
    if (failure !== undefined) throw failure;
    return {
      text: await answer.text,
      reasoning: (await answer.reasoningText) ?? "",
      calls: compatibleCalls(await answer.toolCalls),
      tokens: compatibleTokens(await answer.usage),
      pieces,
      finish: await answer.finishReason,
    };
  },
};
