import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { AwsEventBlocks } from "../../src/lib/aws-events.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { bedrock } from "../../src/providers/bedrock/mod.ts";
import { claudeFamily, readModel } from "../../src/providers/bedrock/model.ts";
import { type ConformanceCase, jsonFixture, testConformance } from "../conformance/suite.ts";

const claude = "us.anthropic.claude-sonnet-4-6";
const older = "anthropic.claude-3-7-sonnet-20250219-v1:0";
const hello = [{ role: "user", content: "hi" }];
const helloTurn = [{ role: "user", content: [{ text: "hi" }] }];
const converse = `/model/${claude}/converse`;

function bytesOf(name: string): Uint8Array {
  const { base64 } = jsonFixture("bedrock", name) as { base64: string };
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function withoutNotes(value: unknown): unknown {
  const entries = Object.entries(value as object).filter(([name]) => !name.startsWith("_"));
  return Object.fromEntries(entries);
}

const plainAnswer = {
  id: "chatcmpl-bedrock",
  object: "chat.completion",
  created: 0,
  model: claude,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "The harbour opens at six." },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 2066,
    completion_tokens: 11,
    total_tokens: 2077,
    prompt_tokens_details: { cached_tokens: 2048 },
    cache_read_input_tokens: 2048,
  },
};

const tideTool = { type: "function", function: { name: "tide_table", parameters: { type: "object", properties: {} } } };
const tideSpec = { toolSpec: { name: "tide_table", inputSchema: { json: { type: "object", properties: {} } } } };
const history = [
  ...hello,
  { role: "assistant", content: null, tool_calls: [{ id: "c1", function: { name: "tide_table", arguments: "" } }] },
  { role: "tool", tool_call_id: "c1", content: "6 m" },
];

/** A request of which only the body is checked. */
function sends(
  name: string,
  request: object,
  body: object,
  more: { dropped?: readonly string[]; settings?: Record<string, string>; headers?: Record<string, string> } = {},
): ConformanceCase {
  return {
    name: `sends ${name}`,
    request: { model: claude, messages: hello, ...request },
    sent: { body: { messages: helloTurn, ...body } },
    answer: jsonFixture("bedrock", "chat.json"),
    wanted: { ...plainAnswer, model: "*" },
    ...more,
  };
}

function refuses(name: string, request: object, refused: RegExp): ConformanceCase {
  return { name: `refuses ${name}`, request: { model: claude, messages: hello, ...request }, refused };
}

const unified = jsonFixture("bedrock", "request.json") as Record<string, unknown>;
/** The place of a call among the blocks of a message. */
const place = (index: number, id: string) => ({ content_blocks: [{ index, delta: { type: "tool_use", id } }] });
const toolCalls = [
  {
    id: "tooluse_FxA1",
    type: "function",
    function: { name: "tide_table", arguments: '{"port":"Brest","day":"2026-03-04"}' },
  },
  { id: "tooluse_FxA2", type: "function", function: { name: "wind_speed", arguments: "{}" } },
];

testConformance(bedrock, [
  {
    name: "text, with a rich request",
    request: { ...unified, model: claude },
    sent: { path: converse, body: withoutNotes(jsonFixture("bedrock", "request-expected.json")) },
    dropped: ["parallel_tool_calls"],
    answer: jsonFixture("bedrock", "chat.json"),
    wanted: plainAnswer,
  },
  {
    name: "an ARN as model",
    request: { model: "arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/abc", messages: hello },
    settings: { "aws-bedrock-model": "anthropic.claude-3-7-sonnet-20250219-v1:0" },
    sent: {
      path: "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A111122223333%3Aapplication-inference-profile%2Fabc/converse",
      body: { messages: helloTurn },
    },
    answer: jsonFixture("bedrock", "chat.json"),
    wanted: { ...plainAnswer, model: "*" },
  },
  {
    name: "parallel tool calls",
    request: { model: claude, messages: hello, tools: [tideTool] },
    sent: { body: { messages: helloTurn, toolConfig: { tools: [tideSpec] } } },
    answer: jsonFixture("bedrock", "tool-call.json"),
    wanted: {
      ...plainAnswer,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "I will look up both values.", tool_calls: toolCalls },
          logprobs: null,
          finish_reason: "tool_calls",
        },
      ],
      usage: {
        prompt_tokens: 402,
        completion_tokens: 118,
        total_tokens: 520,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    },
  },
  {
    name: "reasoning is preserved when responses need not be strict",
    strict: false,
    request: { model: claude, messages: hello },
    answer: jsonFixture("bedrock", "chat-thinking.json"),
    wanted: {
      ...plainAnswer,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "It opens at six.",
            reasoning_content: "Checking opening hours.",
            content_blocks: [
              { type: "thinking", thinking: "Checking opening hours.", signature: "EqQBCkgFxSignatureAAAA==" },
              { type: "text", text: "It opens at six." },
            ],
          },
          logprobs: null,
          finish_reason: "end_turn",
        },
      ],
      usage: {
        prompt_tokens: 31,
        completion_tokens: 96,
        total_tokens: 127,
        prompt_tokens_details: { cached_tokens: 0 },
      },
      metrics: { latencyMs: 2210 },
    },
  },
  {
    name: "a guardrail that intervenes",
    request: { model: claude, messages: hello, guardrail_config: { guardrailIdentifier: "g", guardrailVersion: "1" } },
    sent: {
      body: { messages: helloTurn, guardrailConfig: { guardrailIdentifier: "g", guardrailVersion: "1" } },
    },
    answer: jsonFixture("bedrock", "guardrail.json"),
    wanted: {
      ...plainAnswer,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "fixture: blocked topic" },
          logprobs: null,
          finish_reason: "content_filter",
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } },
    },
  },
  sends(
    "calls as text when there are no tools any more",
    { messages: history },
    {
      messages: [
        ...helloTurn,
        { role: "assistant", content: [{ text: "Call of the tool tide_table: {}" }] },
        { role: "user", content: [{ text: "Result of the tool call c1:" }, { text: "6 m" }] },
      ],
    },
  ),
  sends(
    "calls as text when no tool may be called",
    { messages: history, tools: [tideTool], tool_choice: "none" },
    {
      messages: [
        ...helloTurn,
        { role: "assistant", content: [{ text: "Call of the tool tide_table: {}" }] },
        { role: "user", content: [{ text: "Result of the tool call c1:" }, { text: "6 m" }] },
      ],
    },
  ),
  sends("no tools when none may be called", { tools: [tideTool], tool_choice: "none" }, {}),
  sends(
    "calls and results, marks for the cache, a failed call",
    {
      tools: [{ ...tideTool, cache_control: { type: "ephemeral", ttl: "1h" } }],
      tool_choice: "required",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "" },
            { type: "text", text: "hi", cache_control: {} },
          ],
        },
        {
          role: "assistant",
          content: "",
          tool_calls: [
            {
              id: "id with blanks",
              function: { name: "tide_table", arguments: '{"port":"Brest"}' },
              cache_control: {},
            },
          ],
        },
        { role: "tool", tool_call_id: "id with blanks", content: "", is_error: true, cache_control: { ttl: "5m" } },
      ],
    },
    {
      messages: [
        { role: "user", content: [{ text: "hi" }, { cachePoint: { type: "default" } }] },
        {
          role: "assistant",
          content: [
            { toolUse: { toolUseId: "id_with_blanks_14dd321b", name: "tide_table", input: { port: "Brest" } } },
            { cachePoint: { type: "default" } },
          ],
        },
        {
          role: "user",
          content: [
            {
              toolResult: {
                toolUseId: "id_with_blanks_14dd321b",
                content: [{ text: "The tool call failed." }],
                status: "error",
              },
            },
            { cachePoint: { type: "default", ttl: "5m" } },
          ],
        },
      ],
      toolConfig: {
        tools: [tideSpec, { cachePoint: { type: "default", ttl: "1h" } }],
        toolChoice: { any: {} },
      },
    },
  ),
  sends(
    "no marks for the cache to models without one",
    { model: "meta.llama3-70b-instruct-v1:0", cache_control: { type: "ephemeral" } },
    {},
    { dropped: ["cache_control"] },
  ),
  sends(
    "a mark behind the last block",
    { cache_control: { type: "ephemeral" } },
    {
      messages: [{ role: "user", content: [{ text: "hi" }, { cachePoint: { type: "default" } }] }],
    },
  ),
  sends(
    "documents with names of their own and a text",
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "tide_chart.v2.pdf" } },
            { type: "file", file: { file_data: "BBBB", filename: "tide_chart.v2.pdf" } },
            { type: "file", file: { file_url: "s3://bucket/notes.md" } },
            { type: "image_url", image_url: { url: "data:image/jpg;base64,CCCC" } },
            { type: "image_url", image_url: { url: "data:video/mp4;base64,DDDD" } },
            { type: "input_audio", input_audio: { data: "EEEE", format: "mp3" } },
          ],
        },
      ],
    },
    {
      messages: [
        {
          role: "user",
          content: [
            { document: { format: "pdf", name: "tide-chart-v2", source: { bytes: "AAAA" } } },
            { document: { format: "pdf", name: "tide-chart-v2 (2)", source: { bytes: "BBBB" } } },
            { document: { format: "md", name: "notes", source: { s3Location: { uri: "s3://bucket/notes.md" } } } },
            { image: { format: "jpeg", source: { bytes: "CCCC" } } },
            { video: { format: "mp4", source: { bytes: "DDDD" } } },
            { audio: { format: "mp3", source: { bytes: "EEEE" } } },
            { text: "See the document." },
          ],
        },
      ],
    },
  ),
  sends(
    "signed thoughts back, others not",
    {
      messages: [
        ...hello,
        {
          role: "assistant",
          content: "ignored",
          content_blocks: [
            { type: "thinking", thinking: "hm", signature: "sig" },
            { type: "thinking", thinking: "unsigned" },
            { type: "redacted_thinking", data: "xx" },
            { type: "text", text: "Well." },
          ],
        },
        ...hello,
      ],
    },
    {
      messages: [
        ...helloTurn,
        {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "hm", signature: "sig" } } },
            { reasoningContent: { redactedContent: "xx" } },
            { text: "Well." },
          ],
        },
        ...helloTurn,
      ],
    },
    { dropped: ["thinking"] },
  ),
  sends(
    "a schema",
    {
      response_format: { type: "json_schema", json_schema: { name: "tide", schema: { type: "object" } } },
    },
    {
      outputConfig: {
        textFormat: {
          type: "json_schema",
          structure: { jsonSchema: { schema: '{"type":"object","additionalProperties":false}', name: "tide" } },
        },
      },
    },
  ),
  sends(
    "what it knows of the rest, and unknown members to the model",
    {
      performance_config: { latency: "optimized" },
      service_tier: "flex",
      metadata: { team: "a", count: 3 },
      some_new_member: { deep: true },
      additional_model_request_fields: { other: 1 },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      anthropic_beta: "context-1m-2025-08-07, advanced-tool-use-2025-11-20, files-api-2025-04-14",
      top_k: 5,
      seed: 7,
      logit_bias: {},
      frequency_penalty: 1,
      response_format: { type: "json_object" },
      context_management: {},
      parallel_tool_calls: true,
      temperature: 0.5,
      top_p: 0.9,
      stop: [" ", "END"],
    },
    {
      inferenceConfig: { temperature: 0.5, stopSequences: ["END"] },
      additionalModelRequestFields: {
        some_new_member: { deep: true },
        top_k: 5,
        anthropic_beta: ["context-1m-2025-08-07", "tool-search-tool-2025-10-19"],
        other: 1,
      },
      additionalModelResponseFieldPaths: ["/stop_sequence"],
      performanceConfig: { latency: "optimized" },
      requestMetadata: { team: "a" },
      serviceTier: { type: "flex" },
    },
    {
      dropped: [
        "seed",
        "logit_bias",
        "frequency_penalty",
        "response_format",
        "context_management",
        "top_p",
        "stop",
        "anthropic_beta",
      ],
    },
  ),
  sends(
    "the betas of a client's header it knows",
    { anthropic_beta: ["newer-2030-01-01", "context-1m-2025-08-07"] },
    {
      additionalModelRequestFields: {
        anthropic_beta: ["newer-2030-01-01", "context-1m-2025-08-07", "tool-search-tool-2025-10-19"],
      },
    },
    {
      headers: { "anthropic-beta": "claude-code-20250219, context-1m-2025-08-07,advanced-tool-use-2025-11-20" },
      dropped: ["anthropic-beta"],
    },
  ),
  sends(
    "no betas of a client's header to another maker's model",
    { model: "amazon.nova-pro-v1:0" },
    {},
    { headers: { "anthropic-beta": "context-1m-2025-08-07" } },
  ),
  sends(
    "a tool of the model's maker",
    {
      tools: [{ type: "computer", computer: { name: "computer_20250124", display_width_px: 1024 } }],
    },
    {
      additionalModelRequestFields: {
        tools: [{ display_width_px: 1024, name: "computer", type: "computer_20250124" }],
      },
    },
  ),
  sends(
    "effort to newer Claude models",
    { reasoning_effort: "minimal", temperature: 1, top_k: 4 },
    { additionalModelRequestFields: { thinking: { type: "adaptive" }, output_config: { effort: "low" } } },
    { dropped: ["temperature", "top_k"] },
  ),
  sends(
    "effort as a budget to older ones",
    { model: older, reasoning_effort: "medium", max_tokens: 8000 },
    {
      inferenceConfig: { maxTokens: 8000 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 4000 } },
    },
  ),
  sends(
    "thinking as it is",
    { thinking: { type: "enabled", budget_tokens: 2048 } },
    {
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2048 } },
    },
  ),
  sends(
    "effort to Nova 2",
    { model: "us.amazon.nova-2-lite-v1:0", reasoning_effort: "xhigh", top_k: 9 },
    {
      additionalModelRequestFields: {
        inferenceConfig: { topK: 9 },
        reasoningConfig: { type: "enabled", maxReasoningEffort: "high" },
      },
    },
    { dropped: ["reasoning_effort"] },
  ),
  sends(
    "effort to models of OpenAI",
    { model: "openai.gpt-oss-120b-1:0", reasoning_effort: "minimal" },
    {
      additionalModelRequestFields: { reasoning_effort: "low" },
    },
    { dropped: ["reasoning_effort"] },
  ),
  sends(
    "stops of blanks where they are taken",
    { model: "meta.llama3-1-70b-instruct-v1:0", stop: ["\n", ""] },
    { inferenceConfig: { stopSequences: ["\n"] } },
  ),
  sends(
    "no effort where there is none to make",
    { model: "mistral.large", reasoning_effort: "low", user: "u" },
    {},
    {
      dropped: ["reasoning_effort", "user"],
    },
  ),
  refuses(
    "addresses on the web",
    {
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }],
    },
    /data: URL/,
  ),
  refuses(
    "files by id",
    { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "f" } }] }] },
    /its id/,
  ),
  refuses("parts it does not know", { messages: [{ role: "user", content: [{ type: "hologram" }] }] }, /hologram/),
  refuses("several answers", { n: 2 }, /n above 1/),
  refuses(
    "a forced call of a model that takes none",
    {
      model: "meta.llama3-1-70b-instruct-v1:0",
      tools: [tideTool],
      tool_choice: "required",
    },
    /tool_choice/,
  ),
  refuses(
    "a maker's tool with another maker's model",
    { model: "amazon.nova-pro-v1:0", tools: [{ type: "bash" }] },
    /bash/,
  ),
  refuses("legacy functions", { functions: [{ name: "f" }] }, /functions/),
  {
    name: "a stream of text",
    request: { model: claude, messages: hello, stream: true, stream_options: { include_usage: true } },
    sent: { path: `${converse}-stream`, body: { messages: helloTurn } },
    stream: bytesOf("stream-binary.json"),
    chunks: [
      streamChunk({ role: "assistant", content: "" }),
      streamChunk({ content: "Tide" }),
      streamChunk({ content: " rises – 3 m ☂." }),
      streamChunk({}, "stop"),
    ],
    usage: {
      prompt_tokens: 2066,
      completion_tokens: 12,
      total_tokens: 2078,
      prompt_tokens_details: { cached_tokens: 2048 },
      cache_read_input_tokens: 2048,
    },
  },
  ...[true, false].map(
    (strict): ConformanceCase => ({
      name: `a stream of thoughts and calls${strict ? "" : " for those who take thoughts"}`,
      strict,
      request: { model: claude, messages: hello, stream: true },
      stream: bytesOf("stream-tools-binary.json"),
      chunks: [
        streamChunk({ role: "assistant", content: "" }),
        ...(strict
          ? []
          : [
              streamChunk({
                reasoning_content: "Need two lookups.",
                content_blocks: [{ index: 0, delta: { type: "thinking", thinking: "Need two lookups." } }],
              }),
              streamChunk({ content_blocks: [{ index: 0, delta: { signature: "EqQBCkgFxSignatureAAAA==" } }] }),
            ]),
        streamChunk({ ...call(0, "tooluse_FxA1", "tide_table"), ...(strict ? {} : place(1, "tooluse_FxA1")) }),
        streamChunk({ tool_calls: [{ index: 0, function: { arguments: '{"port":"Br' } }] }),
        streamChunk({ tool_calls: [{ index: 0, function: { arguments: 'est"}' } }] }),
        streamChunk({ ...call(1, "tooluse_FxA2", "wind_speed"), ...(strict ? {} : place(2, "tooluse_FxA2")) }),
        streamChunk({ tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
        streamChunk({}, strict ? "tool_calls" : "tool_use"),
      ],
      usage: {
        prompt_tokens: 402,
        completion_tokens: 74,
        total_tokens: 476,
        prompt_tokens_details: { cached_tokens: 0 },
      },
    }),
  ),
  {
    name: "embeddings of Titan",
    operation: "embed",
    request: { model: "amazon.titan-embed-text-v2:0", input: "harbour", dimensions: 256, normalize: true, user: "u" },
    sent: {
      path: "/model/amazon.titan-embed-text-v2%3A0/invoke",
      body: { normalize: true, inputText: "harbour", dimensions: 256 },
    },
    dropped: ["user"],
    answer: jsonFixture("bedrock", "embeddings-titan.json"),
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789, 0.001] }],
      model: "amazon.titan-embed-text-v2:0",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    },
  },
  {
    name: "embeddings of Cohere",
    operation: "embed",
    request: { model: "cohere.embed-v4:0", input: ["harbour", "tide"], input_type: "search_query", dimensions: 512 },
    sent: {
      body: {
        input_type: "search_query",
        texts: ["harbour", "tide"],
        embedding_types: ["float"],
        output_dimension: 512,
      },
    },
    answer: jsonFixture("bedrock", "embeddings-cohere.json"),
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.0123, -0.0456] },
        { object: "embedding", index: 1, embedding: [-0.0021, 0.0334] },
      ],
      model: "cohere.embed-v4:0",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  {
    name: "embeddings in base64",
    operation: "embed",
    request: { model: "amazon.titan-embed-text-v1", input: ["x"], encoding_format: "base64", dimensions: 8 },
    sent: { body: { inputText: "x" } },
    dropped: ["dimensions"],
    answer: { embedding: [1, -0.5], inputTextTokenCount: 1 },
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: "AACAPwAAAL8=" }],
      model: "*",
      usage: "*",
    },
  },
  {
    name: "an image and a text as one vector",
    operation: "embed",
    request: {
      model: "amazon.titan-embed-image-v1",
      input: [{ text: "harbour", image: { url: "data:image/png;base64,iVBORw==" } }],
      dimensions: 256,
    },
    sent: {
      path: "/model/amazon.titan-embed-image-v1/invoke",
      body: { inputText: "harbour", inputImage: "iVBORw==", embeddingConfig: { outputEmbeddingLength: 256 } },
    },
    answer: { embedding: [1], inputTextTokenCount: 2 },
    wanted: {
      object: "list",
      model: "amazon.titan-embed-image-v1",
      data: [{ object: "embedding", index: 0, embedding: [1] }],
      usage: { prompt_tokens: 2, total_tokens: 2 },
    },
  },
  {
    name: "images for Cohere embed v3",
    operation: "embed",
    request: { model: "cohere.embed-english-v3", input: [{ image: { base64: "/9j/4A==" } }] },
    sent: {
      body: { images: ["data:image/jpeg;base64,/9j/4A=="], input_type: "image", embedding_types: ["float"] },
    },
    answer: { embeddings: { float: [[1]] } },
    wanted: "*",
  },
  {
    name: "images for Nova",
    operation: "embed",
    request: {
      model: "amazon.nova-2-multimodal-embeddings-v1:0",
      dimensions: 384,
      encoding_format: "base64",
      input: [{ image: { base64: "iVBORw==" } }],
    },
    sent: {
      body: {
        taskType: "SINGLE_EMBEDDING",
        singleEmbeddingParams: {
          embeddingPurpose: "GENERIC_INDEX",
          embeddingDimension: 384,
          image: { format: "png", source: { bytes: "iVBORw==" } },
        },
      },
    },
    answer: { embeddings: [{ embeddingType: "IMAGE", embedding: [1, -0.5] }] },
    wanted: {
      object: "list",
      model: "amazon.nova-2-multimodal-embeddings-v1:0",
      data: [{ object: "embedding", index: 0, embedding: "AACAPwAAAL8=" }],
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  {
    name: "rejects an image without its bytes for Titan",
    operation: "embed",
    request: { model: "amazon.titan-embed-image-v1", input: [{ image: { url: "https://example.com/a.png" } }] },
    refused: /does not fetch URLs/,
  },
  {
    name: "rejects an image for a text model",
    operation: "embed",
    request: { model: "amazon.titan-embed-text-v2:0", input: [{ text: "a", image: { base64: "AAAA" } }] },
    refused: /embeds text/,
  },
  {
    name: "rejects tokens",
    operation: "embed",
    request: { model: "cohere.embed-v4:0", input: [1, 2] },
    refused: /tokens/,
  },
  {
    name: "models",
    operation: "models",
    request: {},
    sent: { path: "/foundation-models" },
    answer: { modelSummaries: [{ modelId: "amazon.nova-pro-v1:0", providerName: "Amazon" }] },
    wanted: {
      object: "list",
      data: [{ id: "amazon.nova-pro-v1:0", object: "model", created: 0, owned_by: "Amazon" }],
    },
  },
]);

function streamChunk(delta: object, finish: string | null = null): object {
  return {
    id: "chatcmpl-bedrock",
    object: "chat.completion.chunk",
    created: 0,
    model: claude,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  };
}

function call(index: number, id: string, name: string): object {
  return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
}

test("bedrock failures in a stream keep their status and name", () => {
  const chat = bedrock.bind(() => null).operations.chat;
  const mapper = chat?.streamMapper?.({ model: claude, messages: hello }, { strict: true, drop: () => {} });
  assert.ok(mapper);
  const blocks = new AwsEventBlocks();
  const text = new TextDecoder().decode(blocks.push(bytesOf("stream-exception-binary.json")));
  assert.throws(
    () => {
      for (const event of readEvents(text)) mapper.map(event);
    },
    (error) =>
      error instanceof UpstreamError &&
      error.status === 429 &&
      error.code === "throttlingException" &&
      error.message === "bedrock error: fixture: token rate too high",
  );
  assert.equal(mapper.isComplete(), false);
});

for (const [id, stated, vendor, name] of [
  ["anthropic.claude-v2", undefined, "anthropic", "claude-v2"],
  ["us.amazon.nova-lite-v1:0", undefined, "amazon", "nova-lite-v1:0"],
  ["us-gov.anthropic.claude-x", undefined, "anthropic", "claude-x"],
  ["global.anthropic.claude-x", undefined, "anthropic", "claude-x"],
  ["arn:aws:bedrock:us-east-1::foundation-model/cohere.command-r-v1:0", undefined, "cohere", "command-r-v1:0"],
  ["arn:aws:bedrock:eu-west-1:1:inference-profile/eu.meta.llama4", undefined, "meta", "llama4"],
  ["arn:aws:bedrock:eu-west-1:1:provisioned-model/abc", undefined, "", "abc"],
  ["arn:aws:bedrock:eu-west-1:1:provisioned-model/abc", "us.mistral.large", "mistral", "large"],
] as const) {
  test(`readModel() of ${id}${stated ? " with a stated model" : ""}`, () => {
    assert.deepEqual(readModel(id, stated), { vendor, name });
  });
}

for (const [name, isAdaptive, hasThinkingBudget, takesOneSampler] of [
  ["claude-opus-4-10-20270101-v1:0", true, false, false],
  ["claude-sonnet-4-6", true, true, true],
  ["claude-opus-4-1-20250805-v1:0", false, true, true],
  ["claude-sonnet-4-20250514-v1:0", false, true, false],
  ["claude-3-7-sonnet-20250219-v1:0", false, true, false],
  ["claude-3-haiku-20240307-v1:0", false, false, false],
  ["claude-v2:1", false, false, false],
  ["claude-instant-v1", false, false, false],
] as const) {
  test(`claudeFamily() knows ${name}`, () => {
    const family = claudeFamily({ vendor: "anthropic", name });
    const found = [family?.isAdaptive, family?.hasThinkingBudget, family?.takesOneSampler];
    assert.deepEqual(found, [isAdaptive, hasThinkingBudget, takesOneSampler]);
  });
}

test("claudeFamily() is undefined for other vendors' models", () => {
  assert.equal(claudeFamily({ vendor: "amazon", name: "nova-pro-v1:0" }), undefined);
});
