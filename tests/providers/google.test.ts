import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequestError, UpstreamError } from "../../src/errors.ts";
import { ExcessError } from "../../src/lib/budget.ts";
import type { OperationName } from "../../src/providers/core/operations.ts";
import type { OperationAdapter } from "../../src/providers/core/types.ts";
import { fromGeminiAnswer } from "../../src/providers/google/answer.ts";
import { google } from "../../src/providers/google/mod.ts";
import { toOpenapiSchema } from "../../src/providers/google/schema.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";

const model = "gemini-3-flash";
const hello = { model, messages: [{ role: "user", content: "Hello" }] };
const answered = { id: "chatcmpl-fxRespChat01", object: "chat.completion", created: 0, model };
const unified = jsonFixture("google", "unified-chat.json") as object;
const { _from, ...expected } = jsonFixture("google", "request-expected.json") as Record<string, unknown>;
const helloContents = [{ role: "user", parts: [{ text: "Hello" }] }];

/** The request body a chat becomes, and its dropped fields. */
function send(request: object, name: OperationName = "chat") {
  const dropped: string[] = [];
  const adapter = google.bind(() => null).operations[name] as OperationAdapter<OperationName>;
  const body = adapter.toUpstream?.(request as never, { strict: true, drop: (member) => void dropped.push(member) });
  return { body: JSON.parse(JSON.stringify(body)), dropped };
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: "chatcmpl-fxRespStr01",
  object: "chat.completion.chunk",
  created: 0,
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish, ...more }],
});
const call = (number: number, name: string, args: string, more: object = {}) => ({
  id: `fc_fx_${number}`,
  type: "function",
  function: { name, arguments: args, ...more },
});
const usage = (prompt: number, completion: number, cached = 0, reasoning = 0) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});
const ratings = [{ category: "HARM_CATEGORY_HARASSMENT", probability: "NEGLIGIBLE" }];
const brest = '{"port":"Brest","day":"2026-03-04"}';

testConformance(google, [
  {
    name: "a rich request, a text",
    request: { ...unified, model: "models/gemini-2.5-flash" },
    sent: { path: "/v1beta/models/gemini-2.5-flash:generateContent", body: expected },
    dropped: ["parallel_tool_calls", "user"],
    answer: jsonFixture("google", "chat.json"),
    wanted: {
      ...answered,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "The harbour opens at six." },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: usage(1290, 103, 1024, 96),
    },
  },
  {
    name: "text with reasoning and extras",
    strict: false,
    request: hello,
    sent: { path: "/v1beta/models/gemini-3-flash:generateContent", body: { contents: helloContents } },
    answer: jsonFixture("google", "chat.json"),
    wanted: {
      ...answered,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "The harbour opens at six.",
            reasoning_content: "Checking the opening hours.",
            content_blocks: [
              { type: "thinking", thinking: "Checking the opening hours." },
              { type: "text", text: "The harbour opens at six.", thought_signature: "CsoBFxSigText==" },
            ],
          },
          logprobs: null,
          finish_reason: "stop",
          safetyRatings: ratings,
        },
      ],
      usage: usage(1290, 103, 1024, 96),
    },
  },
  ...[true, false].map((strict) => ({
    name: `parallel tools, strict ${strict}`,
    strict,
    request: hello,
    answer: jsonFixture("google", "tool-call.json"),
    wanted: {
      ...answered,
      id: "chatcmpl-fxRespTool01",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "Looking up both.",
            ...(!strict && { content_blocks: [{ type: "text", text: "Looking up both." }] }),
            tool_calls: [
              {
                ...call(1, "tide_table", brest, strict ? {} : { thought_signature: "CsoBFxSigCall==" }),
                extra_content: { google: { thought_signature: "CsoBFxSigCall==" } },
              },
              call(2, "wind_speed", "{}"),
            ],
          },
          logprobs: null,
          finish_reason: "tool_calls",
        },
      ],
      usage: usage(88, 31),
    },
  })),
  {
    name: "a blocked prompt",
    request: hello,
    answer: jsonFixture("google", "blocked.json"),
    wanted: {
      ...answered,
      id: "chatcmpl-fxRespBlk01",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null },
          logprobs: null,
          finish_reason: "content_filter",
        },
      ],
      usage: usage(14, 0),
    },
  },
  {
    name: "a response with only reasoning",
    request: hello,
    answer: jsonFixture("google", "truncated-no-content.json"),
    wanted: {
      ...answered,
      id: "chatcmpl-fxRespMax01",
      choices: [{ index: 0, message: { role: "assistant", content: "" }, logprobs: null, finish_reason: "length" }],
      usage: usage(14, 60, 0, 60),
    },
  },
  {
    name: "a streamed text",
    request: { ...hello, stream: true },
    sent: { path: "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse", body: { contents: helloContents } },
    stream: fixture("google", "stream.sse"),
    chunks: [chunk({ role: "assistant", content: "Tide" }), chunk({ content: " rises – 3 m ☂." }), chunk({}, "stop")],
    usage: usage(21, 49, 0, 40),
  },
  {
    name: "streamed reasoning",
    strict: false,
    request: { ...hello, stream: true },
    stream: fixture("google", "stream.sse"),
    chunks: [
      chunk({
        role: "assistant",
        content: "",
        reasoning_content: "Thinking about tides.",
        content_blocks: [{ index: 0, delta: { thinking: "Thinking about tides." } }],
      }),
      chunk({ content: "Tide", content_blocks: [{ index: 1, delta: { text: "Tide" } }] }),
      chunk({
        content: " rises – 3 m ☂.",
        content_blocks: [{ index: 1, delta: { text: " rises – 3 m ☂." } }],
      }),
      chunk({ content_blocks: [{ index: 1, delta: { text: "", thought_signature: "CsoBFxSigEnd==" } }] }, "stop"),
    ],
  },
  {
    name: "streamed tools",
    strict: false,
    request: { ...hello, stream: true },
    stream: fixture("google", "stream-tools.sse"),
    chunks: [
      chunk({
        role: "assistant",
        content: "",
        tool_calls: [
          {
            index: 0,
            ...call(1, "tide_table", '{"port":"Brest"}', { thought_signature: "CsoBFxSigCall==" }),
            extra_content: { google: { thought_signature: "CsoBFxSigCall==" } },
          },
        ],
      }),
      chunk({ tool_calls: [{ index: 1, ...call(2, "wind_speed", "{}") }] }),
      chunk({}, "tool_calls"),
    ],
    usage: usage(88, 31),
  },
  {
    name: "a streamed blocked prompt",
    request: { ...hello, stream: true },
    stream: `data: ${JSON.stringify({ promptFeedback: { blockReason: "SAFETY" }, responseId: "fxRespStr01" })}\r\n\r\n`,
    chunks: [{ ...chunk({ role: "assistant", content: "" }, "content_filter") }],
  },
  {
    name: "two choices, streamed",
    request: { ...hello, n: 2, stream: true },
    stream: [
      { candidates: [0, 1].map((index) => ({ index, content: { parts: [{ text: `t${index}` }] } })) },
      { candidates: [{ index: 1, finishReason: "MAX_TOKENS" }] },
      { candidates: [{ index: 0, finishReason: "SAFETY" }] },
      { usageMetadata: { promptTokenCount: 1, toolUsePromptTokenCount: 2, candidatesTokenCount: 3 } },
    ]
      .map((slice) => `data: ${JSON.stringify({ ...slice, responseId: "fxRespStr01", modelVersion: model })}\n\n`)
      .join(""),
    chunks: [0, 1]
      .map((index) => ({
        ...chunk({}),
        choices: [{ index, delta: { role: "assistant", content: `t${index}` }, logprobs: null, finish_reason: null }],
      }))
      .concat(
        [[1, "length"] as const, [0, "content_filter"] as const].map(([index, finish]) => ({
          ...chunk({}),
          choices: [{ index, delta: {} as never, logprobs: null, finish_reason: finish as never }],
        })),
      ),
    usage: usage(3, 3),
  },
  ...[true, false].map((strict) => ({
    name: `a picture and a sound, strict ${strict}`,
    strict,
    request: { ...hello, modalities: ["text", "image"] },
    answer: {
      candidates: [
        {
          content: {
            parts: [
              { inlineData: { mimeType: "image/png", data: "AAAA" } },
              { inlineData: { mimeType: "audio/pcm", data: "BBBB" } },
            ],
          },
          finishReason: "NEW_WORD",
        },
      ],
      responseId: "fxRespChat01",
      modelVersion: model,
    },
    wanted: {
      ...answered,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "",
            ...(strict
              ? { images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] }
              : {
                  content_blocks: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
                }),
            audio: { id: "audio_fxRespChat01", data: "BBBB", expires_at: 0, transcript: "" },
          },
          logprobs: null,
          finish_reason: strict ? "stop" : "NEW_WORD",
        },
      ],
      usage: usage(0, 0),
    },
  })),
  {
    name: "an embedding",
    operation: "embed",
    request: { model: "gemini-embedding-001", input: "tide", dimensions: 4, task_type: "CLUSTERING", user: "u" },
    sent: {
      path: "/v1beta/models/gemini-embedding-001:embedContent",
      body: {
        model: "models/gemini-embedding-001",
        content: { parts: [{ text: "tide" }] },
        taskType: "CLUSTERING",
        outputDimensionality: 4,
      },
    },
    dropped: ["user"],
    answer: jsonFixture("google", "embeddings.json"),
    wanted: {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.0123, -0.0456, 0.0789, 0.001] }],
      model: "gemini-embedding-001",
      usage: { prompt_tokens: 0, total_tokens: 0 },
    },
  },
  {
    name: "a list of embeddings in base64",
    operation: "embed",
    request: { model: "models/m", input: ["a", "b"], encoding_format: "base64" },
    sent: {
      path: "/v1beta/models/m:batchEmbedContents",
      body: { requests: ["a", "b"].map((text) => ({ model: "models/m", content: { parts: [{ text }] } })) },
    },
    answer: { embeddings: [{ values: [1, -2] }, { values: [0.5] }] },
    wanted: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: "AACAPwAAAMA=" },
        { object: "embedding", index: 1, embedding: "AAAAPw==" },
      ],
      model: "models/m",
      usage: "*",
    },
  },
  { name: "tokens to embed", operation: "embed", request: { model: "m", input: [1, 2] }, refused: /lists of tokens/ },
  {
    name: "a list of models",
    operation: "models",
    request: {},
    sent: { path: "/v1beta/models?pageSize=1000" },
    answer: { models: [{ name: "models/gemini-3-flash" }] },
    wanted: { object: "list", data: [{ id: model, object: "model", created: 0, owned_by: "google" }] },
  },
  { name: "a tool that is not a function", request: { ...hello, tools: [{ type: "custom" }] }, refused: /this tool/ },
  { name: "a required tool without tools", request: { ...hello, tool_choice: "required" }, refused: /no functions/ },
  {
    name: "a missing image",
    request: {
      model,
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png,abc" } }] }],
    },
    refused: /data URL is not base64/,
  },
]);

test("google no longer refuses a conversation in which a model wrote broken arguments", () => {
  const messages = [
    hello.messages[0],
    { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "[1" } }] },
    { role: "tool", tool_call_id: "a", content: "no" },
  ];
  const { body, dropped } = send({ model: "gemini-2.5-flash", messages });
  assert.deepEqual(body.contents[1].parts, [{ functionCall: { name: "f", args: { invalid_arguments: "[1" } } }]);
  assert.deepEqual(dropped, ["messages.tool_calls.arguments"]);
});

test("google throws the failure a stream reports, alone or in a list", () => {
  const mapper = google
    .bind(() => null)
    .operations.chat?.streamMapper?.(hello as never, { strict: true, drop: () => {} });
  for (const data of [fixture("google", "error-stream.json"), JSON.stringify({ error: { code: 503, message: "x" } })]) {
    assert.throws(
      () => mapper?.map({ event: "", data }),
      (error) => error instanceof UpstreamError && error.status === 503 && error.provider === "google",
    );
  }
  assert.equal(mapper?.isComplete(), false);
});

test("google sends its key in a header", () => {
  assert.deepEqual(google.bind(() => null).authenticate("k"), { "x-goog-api-key": "k" });
});

for (const [name, asked, wanted] of [
  ["gemini-2.5-flash", { reasoning_effort: "none" }, { includeThoughts: false, thinkingBudget: 0 }],
  ["gemini-2.5-pro", { reasoning_effort: "none" }, { includeThoughts: false, thinkingBudget: 128 }],
  ["gemini-2.5-pro", { reasoning_effort: "medium" }, { includeThoughts: true, thinkingBudget: 8192 }],
  ["gemini-flash-latest", { reasoning_effort: "high" }, { includeThoughts: true, thinkingLevel: "HIGH" }],
  ["gemini-flash-latest", { reasoning_effort: "none" }, { includeThoughts: false, thinkingLevel: "LOW" }],
  [
    "gemini-4-neon",
    { thinking: { type: "enabled", budget_tokens: 31_999 } },
    { includeThoughts: true, thinkingLevel: "HIGH" },
  ],
  ["gemini-4-neon", { thinking: { type: "disabled" } }, { includeThoughts: false, thinkingLevel: "LOW" }],
  [
    "gemini-3.8-flash",
    { thinking: { type: "enabled", budget_tokens: 5_000 } },
    { includeThoughts: true, thinkingLevel: "MEDIUM" },
  ],
  [
    "gemini-2.5-flash",
    { thinking: { type: "enabled", budget_tokens: 31_999 } },
    { includeThoughts: true, thinkingBudget: 24_576 },
  ],
  [
    "gemini-2.5-flash-lite",
    { thinking: { type: "enabled", budget_tokens: 31_999 } },
    { includeThoughts: true, thinkingBudget: 24_576 },
  ],
  [
    "gemini-2.5-flash-lite",
    { thinking: { type: "enabled", budget_tokens: 100 } },
    { includeThoughts: true, thinkingBudget: 512 },
  ],
  [
    "gemini-2.5-pro",
    { thinking: { type: "enabled", budget_tokens: 64_000 } },
    { includeThoughts: true, thinkingBudget: 32_768 },
  ],
  ["gemini-2.5-pro", { thinking: { type: "disabled" } }, { includeThoughts: false, thinkingBudget: 128 }],
  ["gemini-2.5-pro", { thinking: { type: "enabled", budget_tokens: -1 } }, { includeThoughts: true }],
  ["gemini-3-flash", { reasoning_effort: "none" }, { includeThoughts: false, thinkingLevel: "MINIMAL" }],
  ["gemini-3-pro-preview", { reasoning_effort: "medium" }, { includeThoughts: true, thinkingLevel: "MEDIUM" }],
  ["gemini-3.1-pro", { reasoning_effort: "medium" }, { includeThoughts: true, thinkingLevel: "MEDIUM" }],
  [
    "gemini-3-flash",
    { reasoning_effort: "low", thinking: { type: "enabled", budget_tokens: 9 } },
    { includeThoughts: true, thinkingLevel: "LOW" },
  ],
  ["gemini-2.5-flash", { thinking: { type: "disabled" } }, { includeThoughts: false, thinkingBudget: 0 }],
  [
    "gemini-2.5-flash",
    { thinking: { type: "enabled", budget_tokens: 0 } },
    { includeThoughts: false, thinkingBudget: 0 },
  ],
  [
    "gemini-3-flash",
    { reasoning_effort: "max", thinking: { type: "adaptive" } },
    { includeThoughts: true, thinkingLevel: "HIGH" },
  ],
  ["gemini-2.5-flash", { thinking: { type: "adaptive" } }, { includeThoughts: true }],
] as const) {
  test(`google maps thinking of ${name} from ${JSON.stringify(asked)}`, () => {
    assert.deepEqual(send({ ...hello, model: name, ...asked }).body.generationConfig, { thinkingConfig: wanted });
  });
}

test("google drops reasoning_effort for a model that does not think", () => {
  assert.deepEqual(send({ ...hello, model: "gemini-2.0-flash", reasoning_effort: "low" }), {
    body: { contents: helloContents },
    dropped: ["reasoning_effort"],
  });
});

test("google sends every field of generationConfig", () => {
  const asked = {
    max_tokens: 1,
    max_completion_tokens: 2,
    top_p: 0.5,
    top_k: 3,
    stop: ["a"],
    n: 2,
    seed: 4,
    logprobs: true,
    presence_penalty: 1,
    frequency_penalty: 1.5,
    top_logprobs: 5,
    modalities: ["text", "audio"],
    audio: { voice: "Kore" },
    image_config: { aspect_ratio: "1:1", image_size: "2K" },
    media_resolution: "MEDIA_RESOLUTION_LOW",
    service_tier: "default",
    safety_settings: [{ category: "c" }],
  };
  assert.deepEqual(send({ ...hello, ...asked, metadata: { a: "b" }, "bad\nname": 1 }), {
    body: {
      "bad\nname": 1,
      contents: helloContents,
      safetySettings: [{ category: "c" }],
      serviceTier: "standard",
      generationConfig: {
        maxOutputTokens: 2,
        topP: 0.5,
        topK: 3,
        stopSequences: ["a"],
        candidateCount: 2,
        seed: 4,
        presencePenalty: 1,
        frequencyPenalty: 1.5,
        responseLogprobs: true,
        logprobs: 5,
        responseModalities: ["TEXT", "AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } },
        imageConfig: { aspectRatio: "1:1", imageSize: "2K" },
        mediaResolution: "MEDIA_RESOLUTION_LOW",
      },
    },
    dropped: ["metadata"],
  });
});

for (const [name, format, wanted] of [
  [model, { type: "text" }, undefined],
  [model, { type: "json_object" }, { responseMimeType: "application/json" }],
  [
    model,
    { type: "json_schema", json_schema: { schema: { $schema: "s", type: "object", additionalProperties: false } } },
    { responseMimeType: "application/json", responseJsonSchema: { type: "object", additionalProperties: false } },
  ],
  [
    "gemini-2.0-flash",
    { type: "json_schema", json_schema: { schema: { type: ["string", "null"], const: "a" } } },
    { responseMimeType: "application/json", responseSchema: { type: "string", enum: ["a"], nullable: true } },
  ],
] as const) {
  test(`google maps ${JSON.stringify(format)} for ${name}`, () => {
    assert.deepEqual(send({ ...hello, model: name, response_format: format }).body.generationConfig, wanted);
  });
}

test("google sends media of every kind", () => {
  const content = [
    { type: "image_url", image_url: { url: "data:image/png;charset=x;base64,AAAA" } },
    { type: "image_url", image_url: { url: "https://example.com/a.webp?sig=1.png" } },
    { type: "image_url", image_url: { url: "gs://bucket/a", mime_type: "image/gif" } },
    { type: "image_url", image_url: { url: "AAAA" } },
    { type: "image_url", image_url: { url: "https://www.youtube.com/watch?v=x" } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    { type: "file", file: { file_data: "AAAA", filename: "a.csv" } },
    { type: "file", file: { file_id: "files/abc" } },
    { type: "mystery" },
  ];
  const { body, dropped } = send({ model, messages: [{ role: "user", content }] });
  assert.deepEqual(body.contents[0].parts, [
    { inlineData: { mimeType: "image/png", data: "AAAA" } },
    { fileData: { mimeType: "image/webp", fileUri: "https://example.com/a.webp?sig=1.png" } },
    { fileData: { mimeType: "image/gif", fileUri: "gs://bucket/a" } },
    { inlineData: { mimeType: "image/jpeg", data: "AAAA" } },
    { fileData: { mimeType: "video/mp4", fileUri: "https://www.youtube.com/watch?v=x" } },
    { inlineData: { mimeType: "audio/mp3", data: "AAAA" } },
    { inlineData: { mimeType: "text/csv", data: "AAAA" } },
    { fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/abc" } },
  ]);
  assert.deepEqual(dropped, ["messages.content"]);
});

test("google replays signatures of the same model family only, and orders results like their calls", () => {
  const calls = ["a", "b"].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  const messages = [
    {
      role: "assistant",
      content: "not this",
      content_blocks: [
        { type: "thinking", thinking: "foreign", signature: "s" },
        { type: "thinking", thinking: "own", thought_signature: "t" },
        { type: "text", text: "said", thought_signature: "u" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" }, thought_signature: "v" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" }, thought: true },
        { type: "executable_code", executable_code: { code: "1" } },
        { type: "code_execution_result", code_execution_result: { output: "1" } },
      ],
      tool_calls: calls,
    },
    { role: "tool", tool_call_id: "b", content: "2" },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "1" }] },
  ];
  const { body, dropped } = send({ model, messages });
  assert.deepEqual(body.contents, [
    { role: "user", parts: [{ text: " " }] },
    {
      role: "model",
      parts: [
        { text: "own", thought: true, thoughtSignature: "t" },
        { text: "said", thoughtSignature: "u" },
        { inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "v" },
        { executableCode: { code: "1" } },
        { codeExecutionResult: { output: "1" } },
        { functionCall: { name: "f", args: {} }, thoughtSignature: "skip_thought_signature_validator" },
        { functionCall: { name: "f", args: {} } },
      ],
    },
    {
      role: "user",
      parts: ["1", "2"].map((output) => ({ functionResponse: { name: "f", response: { output } } })),
    },
  ]);
  assert.deepEqual(dropped, ["messages.thinking"]);
  const signed = [{ id: "a", function: { name: "f", arguments: "{}", thought_signature: "w" } }];
  const replayed = send({ model, messages: [{ role: "assistant", content: null, tool_calls: signed }] });
  assert.equal(replayed.body.contents[1].parts[0].thoughtSignature, "w");
});

test("google sends instructions as text to models without system instructions", () => {
  const messages = [{ role: "system", content: "Be brief." }, ...hello.messages];
  assert.deepEqual(send({ model: "gemma-3-27b-it", messages }).body, {
    contents: [{ role: "user", parts: [{ text: "Be brief." }, { text: "Hello" }] }],
  });
  assert.deepEqual(send({ model, messages: messages.slice(0, 1) }).body, {
    contents: [{ role: "user", parts: [{ text: "Be brief." }] }],
  });
});

test("google sends its built-in tools and the tool choice", () => {
  const own = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
  const tools = [
    own,
    { type: "google_search", google_search: { name: "google_search", timeRangeFilter: { startTime: "t" } } },
    { type: "function", function: { name: "googleMaps", parameters: { retrievalConfig: { languageCode: "fr" } } } },
    { type: "url_context" },
    { type: "function", function: { name: "google_search", parameters: { properties: { q: { type: "string" } } } } },
  ];
  const choice = { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [own] } };
  const { body } = send({ ...hello, tools, tool_choice: choice });
  assert.deepEqual(body.tools, [
    {
      functionDeclarations: [
        { name: "f" },
        { name: "google_search", parameters: { type: "object", properties: { q: { type: "string" } } } },
      ],
    },
    { googleSearch: { timeRangeFilter: { startTime: "t" } } },
    { googleMaps: {} },
    { urlContext: {} },
  ]);
  assert.deepEqual(body.toolConfig, {
    functionCallingConfig: { mode: "VALIDATED", allowedFunctionNames: ["f"] },
    retrievalConfig: { languageCode: "fr" },
  });
  const named = send({ ...hello, tools: [own], tool_choice: { type: "function", function: { name: "f" } } });
  assert.deepEqual(named.body.toolConfig, { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } });
});

test("google omits what cached content already contains", () => {
  const messages = [{ role: "system", content: "Be brief." }, ...hello.messages];
  assert.deepEqual(send({ model, messages, cached_content: "cachedContents/1" }), {
    body: { contents: helloContents, cachedContent: "cachedContents/1" },
    dropped: ["messages.system"],
  });
});

/** Alternatives of a value of any type. */
const anything = [
  { type: "string" },
  { type: "number" },
  { type: "boolean" },
  { type: "object" },
  { type: "array", items: { type: "string" } },
];

for (const [name, schema, wanted] of [
  [
    "properties without a type",
    { properties: { a: true } },
    { type: "object", properties: { a: { anyOf: anything } } },
  ],
  [
    "a property that is only described",
    { type: "object", properties: { a: { description: "d" } } },
    {
      type: "object",
      properties: { a: { anyOf: anything.map((one) => ({ ...one, description: "d" })) } },
    },
  ],
  [
    "the description of several types",
    { type: ["string", "integer"], description: "d" },
    {
      anyOf: [
        { type: "string", description: "d" },
        { type: "integer", description: "d" },
      ],
    },
  ],
  [
    "alternatives of which one has any type",
    { anyOf: [{ type: "integer" }, {}] },
    { anyOf: [{ type: "integer" }, ...anything] },
  ],
  [
    "alternatives beside a type",
    { type: "object", anyOf: [{ description: "e" }, { type: "string" }] },
    { anyOf: [{ type: "object", description: "e" }, { type: "string" }] },
  ],
  ["a constant null", { const: null }, { type: "string", nullable: true }],
  ["types that Google does not know", { type: "any" }, { anyOf: anything }],
  [
    "empty strings to choose",
    { type: "string", enum: ["", "a"] },
    { type: "string", description: '(one of ["","a"])' },
  ],
  [
    "recursion through allOf",
    {
      type: "object",
      properties: { root: { $ref: "#/$defs/node" } },
      $defs: {
        node: {
          allOf: [{ $ref: "#/$defs/base" }],
          properties: { child: { allOf: [{ $ref: "#/$defs/node" }], description: "next" } },
        },
        base: { type: "object", properties: { name: { type: "string" } } },
      },
    },
    {
      type: "object",
      properties: {
        root: {
          type: "object",
          properties: { name: { type: "string" }, child: { type: "object", description: "next" } },
        },
      },
    },
  ],
  [
    "references",
    { $defs: { a: { type: "string" } }, $ref: "#/$defs/a", description: "d" },
    { type: "string", description: "d" },
  ],
  [
    "recursion",
    { type: "object", properties: { next: { type: "object", properties: { next: { $ref: "#/properties/next" } } } } },
    {
      type: "object",
      properties: {
        next: { type: "object", properties: { next: { type: "object", properties: { next: { type: "object" } } } } },
      },
    },
  ],
  [
    "names that are keywords",
    {
      type: "object",
      properties: { $ref: { type: "integer", format: "int64" }, type: { format: "uri" } },
      required: ["type", "gone"],
    },
    {
      type: "object",
      properties: { $ref: { type: "integer", format: "int64" }, type: { anyOf: anything } },
      required: ["type"],
    },
  ],
  [
    "alternatives",
    { description: "d", anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
    {
      anyOf: [
        { type: "string", description: "d", nullable: true },
        { type: "integer", description: "d" },
      ],
    },
  ],
  [
    "numbers to choose from",
    { type: "integer", enum: [1, 2], exclusiveMinimum: 0 },
    { type: "integer", description: "(one of [1,2])" },
  ],
  [
    "several types",
    { type: ["string", "array"], items: { type: "number" } },
    { anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
  ],
  ["lists of anything", { type: "array" }, { type: "array", items: { type: "string" } }],
  [
    "all of",
    { allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "string" } } }] },
    { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] },
  ],
] as const) {
  test(`toOpenapiSchema() converts ${name}`, () => {
    assert.deepEqual(toOpenapiSchema(schema), wanted);
  });
}

const countOf = (schema: unknown): number =>
  typeof schema === "object" && schema !== null
    ? 1 + Object.values(schema).reduce((sum: number, one) => sum + countOf(one), 0)
    : 0;

test("toOpenapiSchema() cuts off what references expand without end, and reports it", () => {
  const $defs: Record<string, object> = { d0: { type: "string" } };
  for (let level = 1; level < 30; level++) {
    const $ref = `#/$defs/d${level - 1}`;
    $defs[`d${level}`] = { type: "object", properties: { a: { $ref }, b: { $ref } } };
  }
  const loop = { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" };
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
  const wide = Object.fromEntries(
    names.map((name) => [
      name,
      { type: "object", properties: Object.fromEntries(names.map((one) => [one, { $ref: `#/$defs/${one}` }])) },
    ]),
  );
  for (const schema of [{ $defs, $ref: "#/$defs/d29" }, loop, { $defs: wide, $ref: "#/$defs/t0" }]) {
    let cuts = 0;
    const made = toOpenapiSchema(schema, undefined, () => {
      cuts += 1;
    });
    assert.equal(made.type, "object");
    assert.ok(countOf(made) < 5_000);
    assert.equal(cuts, 1);
  }
});

test("toOpenapiSchema() rejects references to nothing", () => {
  assert.throws(() => toOpenapiSchema({ $ref: "#/constructor" }), InvalidRequestError);
});

const sounds = (format?: string, mimeType = "audio/L16;codec=pcm;rate=24000") => ({
  request: { ...hello, modalities: ["audio"], audio: { voice: "Kore", ...(format && { format }) } },
  answer: {
    responseId: "r",
    candidates: [
      {
        content: { parts: [{ inlineData: { mimeType, data: "AAEC" } }, { inlineData: { mimeType, data: "Aw==" } }] },
        finishReason: "STOP",
      },
    ],
  },
});
const heard = (format?: string, mimeType?: string): Buffer => {
  const { request, answer } = sounds(format, mimeType);
  const { choices } = fromGeminiAnswer(answer, request, { strict: true, slug: "google" });
  const { audio } = Object(choices[0]?.message);
  return Buffer.from(audio.data, "base64");
};

test("google wraps samples in a WAV file where a chat asks for one, and joins all parts", () => {
  const file = heard("wav");
  assert.equal(file.subarray(0, 4).toString("latin1"), "RIFF");
  assert.equal(file.readUInt32LE(24), 24_000);
  assert.deepEqual([...file.subarray(44)], [0, 1, 2, 3]);
  assert.deepEqual([...heard("pcm16")], [0, 1, 2, 3]);
  assert.deepEqual([...heard()], [0, 1, 2, 3]);
  // a WAV file from the model stays unchanged
  assert.deepEqual([...heard("wav", "audio/wav")], [0, 1, 2, 3]);
});

for (const [format, stream] of [
  ["mp3", false],
  ["opus", false],
  ["wav", true],
] as const) {
  test(`google rejects audio as ${format} when stream is ${stream}`, () => {
    assert.throws(() => send({ ...sounds(format).request, stream }), /audio.format/);
  });
}

test("the members of allOf are merged in one pass", () => {
  const members = Array.from({ length: 40_000 }, (_, index) => ({
    properties: { [`p${index % 9_000}`]: {} },
    required: [`p${index % 9_000}`],
  }));
  const { properties, required } = toOpenapiSchema({ allOf: members }) as { properties: object; required: string[] };
  assert.deepEqual([Object.keys(properties).length, required.length], [9_000, 9_000]);
});

test("references cannot make more of the schemas of a request than a few megabytes", () => {
  const long = "x".repeat(100_000);
  const many = Array.from({ length: 30_000 }, (_, index) => index);
  const copied: Readonly<Record<string, object>> = {
    "a description": { type: "string", description: long },
    "the values of enum": { enum: many },
    "names in required": { type: "object", properties: { a: {} }, required: many.map(String) },
    types: { type: many.map(() => "null") },
    alternatives: { anyOf: many.map(() => ({ type: "null" })) },
    "members of allOf": { allOf: many.map(() => null) },
    keywords: Object.fromEntries(many.map((one) => [`k${one}`, 0])),
    "a name": { type: "object", properties: { [long]: {} } },
    "a reference": { $ref: `#/$defs/${long}` },
  };
  for (const [name, d] of Object.entries(copied)) {
    const properties = Object.fromEntries(many.slice(0, 5_000).map((one) => [`p${one}`, { $ref: "#/$defs/d" }]));
    const schema = { type: "object", properties, $defs: { d, [long]: { type: "string" } } };
    assert.throws(() => toOpenapiSchema(schema), ExcessError, name);
  }
  const text = { type: "string", description: "x".repeat(1_000) };
  const properties = Object.fromEntries(many.slice(0, 1_000).map((one) => [`p${one}`, { $ref: "#/$defs/text" }]));
  const parameters = { type: "object", properties, $defs: { text } };
  const tools = Array.from({ length: 5 }, (_, index) => ({
    type: "function",
    function: { name: `f${index}`, parameters },
  }));
  assert.equal(send({ ...hello, tools: tools.slice(1) }).body.tools.length, 1);
  assert.throws(() => send({ ...hello, tools }), ExcessError);
});
