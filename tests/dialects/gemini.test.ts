import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import { toEmbedding, toEmbeddings } from "../../src/dialects/gemini/embed.ts";
import { geminiDialect } from "../../src/dialects/gemini/mod.ts";
import { toJsonSchema } from "../../src/dialects/gemini/schema.ts";
import { toCountedChat } from "../../src/dialects/gemini/to-chat.ts";
import { createPlainMapper, DialectObserver } from "../../src/inference/stream/dialect-observer.ts";
import { toStreamForm } from "../../src/inference/stream/gemini-stream.ts";
import type { StreamObserver } from "../../src/inference/stream/stages.ts";
import { isObject } from "../../src/lib/json.ts";
import { markSignature } from "../../src/lib/signature-mark.ts";
import { EventBlocks, readEvents } from "../../src/lib/sse.ts";
import { createClaudeStream } from "../../src/providers/anthropic/stream.ts";
import type { ChatRequest, ChatResponse } from "../../src/schemas/chat.ts";
import { GenerateContentBody, type GenerateContentRequest } from "../../src/schemas/gemini.ts";
import { rounds } from "../support/sample.ts";
import { repository } from "../support/source-files.ts";

const seed = 20_260_311;

function createOptions() {
  const dropped: string[] = [];
  const drop = (member: string) => void (dropped.includes(member) || dropped.push(member));
  return { id: "fx", created: 1, now: () => 1, dropped, drop, strict: false };
}

const claudeSignature = markSignature({ kind: "signature", text: "EqQBSigA" });
const ask = (parts: unknown) => ({ contents: [{ role: "user", parts }] });
const said = { role: "user", content: "Hello" };
const hello = ask([{ text: "Hello" }]);
const tide = {
  name: "tide_table",
  description: "Tides",
  parameters: { type: "OBJECT", properties: { port: { type: "STRING", nullable: true } }, required: ["port"] },
};
const tideTool = {
  type: "function",
  function: {
    name: "tide_table",
    description: "Tides",
    parameters: { type: "object", properties: { port: { type: ["string", "null"] } }, required: ["port"] },
  },
};
const windTool = {
  type: "function",
  function: { name: "wind", parameters: { type: "object", properties: {} } },
};
const call = (id: string, name: string, args: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...more,
});
const two = { functionDeclarations: [tide, { name: "wind" }] };

/** Requests, the fields of the resulting chat, and the dropped fields. */
const requests: Readonly<Record<string, { body: object; chat: object; dropped?: string[] }>> = {
  "a text": { body: hello, chat: { messages: [said] } },
  "parts and turns that are no lists": {
    body: { contents: { parts: { text: "Hello" } } },
    chat: { messages: [said] },
  },
  "several parts": {
    body: ask([{ text: "One" }, { text: "Two" }]),
    chat: {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "One" },
            { type: "text", text: "Two" },
          ],
        },
      ],
    },
  },
  "an instruction in snake_case": {
    body: { ...hello, system_instruction: { parts: { text: "Be brief" } } },
    chat: { messages: [{ role: "system", content: "Be brief" }, said] },
  },
  "a picture, a sound, a film and a file": {
    body: ask([
      { inlineData: { mimeType: "image/png", data: "iVBO_-k=" } },
      { inline_data: { mime_type: "audio/mpeg", data: "SUQz" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBE" } },
      { fileData: { fileUri: "https://host.example/a.png", mimeType: "image/png" } },
      { file_data: { file_uri: "https://host.example/a.pdf", mime_type: "application/pdf" } },
      { fileData: { fileUri: "https://host.example/a.mp4", mimeType: "video/mp4" } },
    ]),
    chat: {
      messages: [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBO/+k=" } },
            { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } },
            { type: "file", file: { file_data: "data:application/pdf;base64,JVBE", filename: "document.pdf" } },
            { type: "image_url", image_url: { url: "https://host.example/a.png" } },
            { type: "file", file: { file_url: "https://host.example/a.pdf", filename: "document.pdf" } },
            { type: "video_url", video_url: { url: "https://host.example/a.mp4" } },
          ],
        },
      ],
    },
  },
  "calls and results without ids": {
    body: {
      contents: [
        { role: "user", parts: [{ text: "Hello" }] },
        {
          role: "model",
          parts: [
            { text: "Looking." },
            { functionCall: { name: "tide_table", args: { port: "Brest" } } },
            { functionCall: { name: "tide_table", args: { port: "Kiel" } } },
          ],
        },
        {
          role: "function",
          parts: [
            { functionResponse: { name: "tide_table", response: { output: "high" } } },
            { functionResponse: { name: "tide_table", response: { level: 2 } } },
            { text: "And?" },
          ],
        },
      ],
    },
    chat: {
      messages: [
        said,
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [
            call("call_1", "tide_table", '{"port":"Brest"}'),
            call("call_2", "tide_table", '{"port":"Kiel"}'),
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "high" },
        { role: "tool", tool_call_id: "call_2", content: '{"level":2}' },
        { role: "user", content: "And?" },
      ],
    },
  },
  "calls and results with ids, in any order, one with a picture": {
    body: {
      contents: [
        { role: "model", parts: [{ functionCall: { id: "a", name: "x" } }, { functionCall: { id: "b", name: "x" } }] },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "b", name: "x", response: {} } },
            {
              functionResponse: {
                id: "a",
                name: "x",
                response: { output: "seen" },
                parts: [{ inlineData: { mimeType: "image/png", data: "iVBO" } }],
              },
            },
          ],
        },
      ],
    },
    chat: {
      messages: [
        { role: "assistant", content: null, tool_calls: [call("a", "x", "{}"), call("b", "x", "{}")] },
        { role: "tool", tool_call_id: "b", content: "{}" },
        { role: "tool", tool_call_id: "a", content: "seen" },
        {
          role: "user",
          content: [
            { type: "text", text: "Shown by the tool call a:" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBO" } },
          ],
        },
      ],
    },
  },
  "an answer that came in slices": {
    body: {
      contents: [
        { role: "model", parts: [{ text: "I ", thought: true }] },
        { role: "model", parts: [{ text: "think", thought: true }] },
        { role: "model", parts: [{ text: "", thought: true, thoughtSignature: claudeSignature }] },
        {
          role: "model",
          parts: [{ text: "", thought: true, thoughtSignature: markSignature({ kind: "redacted", text: "d" }) }],
        },
        { role: "model", parts: [{ text: "Yes" }] },
        { role: "model", parts: [{ text: ", it is" }] },
        { role: "model", parts: [{ functionCall: { id: "a", name: "x" } }] },
        { role: "model", parts: [{ text: "" }] },
      ],
    },
    chat: {
      messages: [
        {
          role: "assistant",
          content: "Yes, it is",
          content_blocks: [
            { type: "thinking", thinking: "I think", signature: "EqQBSigA" },
            { type: "redacted_thinking", data: "d" },
            { type: "text", text: "Yes" },
            { type: "text", text: ", it is" },
          ],
          tool_calls: [call("a", "x", "{}")],
        },
      ],
    },
  },
  "signatures of the API itself, which prove nothing elsewhere": {
    body: {
      contents: [
        {
          role: "model",
          parts: [
            { text: "Hm", thought: true, thoughtSignature: "CsoBA==" },
            { text: "Yes", thoughtSignature: "CsoBB==" },
            { functionCall: { id: "a", name: "x" }, thoughtSignature: "CsoBC==" },
            { functionCall: { id: "b", name: "x" }, thoughtSignature: markSignature({ kind: "call", text: "s" }) },
            { functionCall: { name: "x" }, thoughtSignature: markSignature({ kind: "call", text: "", id: "c" }) },
            { executableCode: { code: "1" } },
          ],
        },
      ],
    },
    chat: {
      messages: [
        {
          role: "assistant",
          content: "Yes",
          reasoning_content: "Hm",
          tool_calls: [call("a", "x", "{}"), call("b", "x", "{}", { thought_signature: "s" }), call("c", "x", "{}")],
        },
      ],
    },
    dropped: ["contents.thoughtSignature", "contents.executableCode"],
  },
  "how it is to be made": {
    body: {
      ...hello,
      generationConfig: {
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        candidateCount: 2,
        maxOutputTokens: "100",
        seed: 7,
        stopSequences: ["a", "b", "c", "d", "e"],
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        responseLogprobs: true,
        logprobs: 3,
        responseModalities: ["TEXT"],
        speechConfig: {},
      },
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
      labels: { team: "a" },
    },
    chat: {
      messages: [said],
      temperature: 0.5,
      top_p: 0.9,
      n: 2,
      max_completion_tokens: 100,
      seed: 7,
      stop: ["a", "b", "c", "d"],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      logprobs: true,
      top_logprobs: 3,
    },
    dropped: [
      "safetySettings",
      "labels",
      "generationConfig.topK",
      "generationConfig.stopSequences",
      "generationConfig.speechConfig",
    ],
  },
  "the same in snake_case": {
    body: { ...hello, generation_config: { max_output_tokens: 9, top_p: 0.5, response_mime_type: "application/json" } },
    chat: { messages: [said], max_completion_tokens: 9, top_p: 0.5, response_format: { type: "json_object" } },
  },
  "a schema": {
    body: {
      ...hello,
      generationConfig: {
        responseMimeType: "application/json",
        responseSchema: { type: "OBJECT", properties: { min_items: { type: "INTEGER" } }, propertyOrdering: ["x"] },
      },
    },
    chat: {
      messages: [said],
      response_format: {
        type: "json_schema",
        json_schema: { name: "output", schema: { type: "object", properties: { min_items: { type: "integer" } } } },
      },
    },
  },
  "a JSON schema": {
    body: {
      ...hello,
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: { type: "object", $defs: {} } },
    },
    chat: {
      messages: [said],
      response_format: { type: "json_schema", json_schema: { name: "output", schema: { type: "object", $defs: {} } } },
    },
  },
  "a level of thinking": {
    body: { ...hello, generationConfig: { thinkingConfig: { thinkingLevel: "LOW", includeThoughts: true } } },
    chat: { messages: [said], reasoning_effort: "low" },
  },
  "a budget of thinking": {
    body: { ...hello, generationConfig: { thinkingConfig: { thinkingBudget: 5000 } } },
    chat: { messages: [said], reasoning_effort: "medium" },
  },
  "no thinking": {
    body: { ...hello, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    chat: { messages: [said], thinking: { type: "disabled" } },
  },
  "as much thinking as it takes": {
    body: { ...hello, generationConfig: { thinkingConfig: { thinkingBudget: -1 } } },
    chat: { messages: [said], reasoning_effort: "medium" },
  },
  "an answer in sound": {
    body: {
      ...hello,
      generation_config: {
        response_modalities: ["AUDIO"],
        speech_config: {
          voice_config: { prebuilt_voice_config: { voice_name: "Kore" } },
          language_code: "de-DE",
        },
      },
    },
    chat: { messages: [said], modalities: ["text", "audio"], audio: { voice: "Kore", format: "pcm16" } },
    dropped: ["generationConfig.speechConfig.languageCode"],
  },
  "an answer in sound and text": {
    body: { ...hello, generationConfig: { responseModalities: ["TEXT", "AUDIO"] } },
    chat: { messages: [said], modalities: ["text", "audio"], audio: { voice: "alloy", format: "pcm16" } },
  },
  "an answer in pictures": {
    body: { ...hello, generationConfig: { responseModalities: ["TEXT", "IMAGE"] } },
    chat: { messages: [said], modalities: ["text", "image"] },
  },
  "samples of sound": {
    body: ask([{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "AAAA" } }]),
    chat: {
      messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "pcm16" } }] }],
    },
  },
  "functions and tools of its own": {
    body: { ...hello, tools: [two, { googleSearch: {} }, { code_execution: {} }], toolConfig: { retrievalConfig: {} } },
    chat: { messages: [said], tools: [tideTool, windTool] },
    dropped: ["toolConfig.retrievalConfig", "tools.googleSearch", "tools.codeExecution"],
  },
  "a schema of JSON for a function": {
    body: {
      ...hello,
      tools: [{ functionDeclarations: [{ name: "x", parametersJsonSchema: { type: "object", $ref: "#" } }] }],
    },
    chat: {
      messages: [said],
      tools: [{ type: "function", function: { name: "x", parameters: { type: "object", $ref: "#" } } }],
    },
  },
  ...Object.fromEntries(
    (
      [
        [{ mode: "AUTO" }, "auto", [tideTool, windTool]],
        [{ mode: "NONE" }, "none", [tideTool, windTool]],
        [{ mode: "ANY" }, "required", [tideTool, windTool]],
        [
          { mode: "any", allowed_function_names: ["wind"] },
          { type: "function", function: { name: "wind" } },
          [windTool],
        ],
        [{ mode: "VALIDATED", allowedFunctionNames: ["wind"] }, "auto", [windTool]],
      ] as const
    ).map(([functionCallingConfig, choice, tools]) => [
      `calls ${JSON.stringify(functionCallingConfig)}`,
      {
        body: { ...hello, tools: [two], toolConfig: { functionCallingConfig } },
        chat: { messages: [said], tools, tool_choice: choice },
      },
    ]),
  ),
};

for (const [name, { body, chat, dropped = [] }] of Object.entries(requests)) {
  test(`toChat() maps ${name}`, () => {
    const options = createOptions();
    const request = { ...v.parse(GenerateContentBody, body), model: "m" };
    const before = structuredClone(request);
    assert.deepEqual(geminiDialect.toChat(request, options), { model: "m", ...chat });
    assert.deepEqual(options.dropped, dropped);
    assert.deepEqual(request, before);
  });
}

const refused: Readonly<Record<string, object>> = {
  "generationConfig.responseMimeType": { ...hello, generationConfig: { responseMimeType: "text/x.enum" } },
  cachedContent: { ...hello, cachedContent: "cachedContents/a" },
  contents: { contents: [{ parts: [] }, { role: "user", parts: [{ text: "" }] }] },
  "contents.fileData": ask([{ fileData: { fileUri: "gs://bucket/a.png" } }]),
  toolConfig: { ...hello, tools: [{ googleSearch: {} }], toolConfig: { functionCallingConfig: { mode: "ANY" } } },
};

for (const [param, body] of Object.entries(refused)) {
  test(`toChat() refuses ${JSON.stringify(body)}`, () => {
    const request = { ...v.parse(GenerateContentBody, body), model: "m" };
    assert.throws(() => geminiDialect.toChat(request, createOptions()), { status: 400, param });
  });
}

for (const body of [
  {},
  { contents: "Hello" },
  { ...hello, tools: "x" },
  { ...hello, generationConfig: { candidateCount: 9 } },
  { ...hello, generationConfig: { temperature: "warm" } },
]) {
  test(`GenerateContentBody does not take ${JSON.stringify(body)}`, () => {
    assert.equal(v.safeParse(GenerateContentBody, body).success, false);
  });
}

test("toChat() assigns a result without an id to the oldest open call of its name", () => {
  const calls = ["x", "y", "x", "x"].map((name, place) => ({ functionCall: { name, id: `id_${place}` } }));
  const results = [
    { name: "x", id: "id_0" },
    { name: "x" },
    { name: "y" },
    { name: "x" },
    { name: "x" },
    { name: "z" },
  ];
  const contents = [
    { role: "model", parts: calls },
    { role: "user", parts: results.map((functionResponse) => ({ functionResponse })) },
  ];
  const { messages } = geminiDialect.toChat({ model: "m-1", contents }, createOptions());
  const ids = messages.flatMap(({ role, tool_call_id: id }) => (role === "tool" ? [id] : []));
  assert.deepEqual(ids, ["id_0", "id_2", "id_1", "id_3", "call_1", "call_2"]);
});

test("toChat() refuses a conversation without turns", () => {
  const request = { ...v.parse(GenerateContentBody, { contents: [] }), model: "m" };
  assert.throws(() => geminiDialect.toChat(request, createOptions()), { status: 400, param: "contents" });
});

test("toChat() accepts whatever the schema accepts", () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant({}), fc.constant([]));
  const names = [
    "text",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
    "inline_data",
    "parts",
    "role",
    "contents",
    "tools",
    "toolConfig",
    "tool_config",
    "generation_config",
    "generationConfig",
    "system_instruction",
    "response",
    "args",
    "functionDeclarations",
    "function_declarations",
    "parameters",
    "responseSchema",
    "thinkingConfig",
    "name",
    "response_mime_type",
    "stop_sequences",
    "properties",
    "anyOf",
    "type",
    "nullable",
    "mimeType",
    "data",
  ];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie("tree"), { maxLength: 3 }), tie("members")),
    members: fc.dictionary(fc.constantFrom(...names), tie("tree"), { maxKeys: 5 }),
  }));
  const bodies = fc.record({ contents: tree, generation_config: tree, tools: tree, tool_config: tree });
  fc.assert(
    fc.property(bodies, (body) => {
      const checked = v.safeParse(GenerateContentBody, body);
      if (!checked.success) return;
      try {
        geminiDialect.toChat({ ...checked.output, model: "m" }, createOptions());
      } catch (error) {
        assert.equal(Reflect.get(error as object, "status"), 400, String(error));
      }
    }),
    { seed, numRuns: rounds(2_000) },
  );
});

for (const [given, wanted] of [
  [
    { type: "STRING", format: "date-time", nullable: true },
    { type: ["string", "null"], format: "date-time" },
  ],
  [
    { type: "STRING", enum: ["a"], nullable: true },
    { type: ["string", "null"], enum: ["a", null] },
  ],
  [
    { type: "ARRAY", items: { type: "NUMBER" }, min_items: "2" },
    { type: "array", items: { type: "number" }, minItems: 2 },
  ],
  [
    { anyOf: [{ type: "STRING" }, { type: "INTEGER" }], nullable: true },
    { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
  ],
  [{ type: "TYPE_UNSPECIFIED", description: "x" }, { description: "x" }],
  [
    { type: ["STRING", "NULL"], additionalProperties: { type: "BOOLEAN" } },
    { type: ["string", "null"], additionalProperties: { type: "boolean" } },
  ],
  [undefined, {}],
] as const) {
  test(`toJsonSchema() converts ${JSON.stringify(given)}`, () => {
    assert.deepEqual(toJsonSchema(given), wanted);
  });
}

const thoughtful = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
const answer: ChatResponse = {
  id: "chatcmpl-1",
  model: "upstream-model",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "It is high.",
        content_blocks: [
          { type: "thinking", thinking: "Let me see", signature: "EqQBSigA" },
          { type: "redacted_thinking", data: "d" },
          { type: "text", text: "It is high." },
        ],
        tool_calls: [call("a", "x", '{"port":"Brest"}', { thought_signature: "s" }), call("b", "y", "")],
      },
      logprobs: { content: [{ token: "It", logprob: -0.5, top_logprobs: [{ token: "It", logprob: -0.5 }] }] },
      finish_reason: "tool_calls",
    },
  ],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 30,
    total_tokens: 50,
    prompt_tokens_details: { cached_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 10 },
  },
};
const request = (members: object = {}): GenerateContentRequest => ({
  ...v.parse(GenerateContentBody, { ...hello, ...members }),
  model: "asked-model",
});
const calls = [
  {
    functionCall: { id: "a", name: "x", args: { port: "Brest" } },
    thoughtSignature: markSignature({ kind: "call", text: "s", id: "a" }),
  },
  {
    functionCall: { id: "b", name: "y", args: {} },
    thoughtSignature: markSignature({ kind: "call", text: "", id: "b" }),
  },
];

test("fromChat() includes reasoning if requested", () => {
  assert.deepEqual(geminiDialect.fromChat(answer, request(thoughtful), createOptions()), {
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            { text: "Let me see", thought: true, thoughtSignature: claudeSignature },
            { text: "", thought: true, thoughtSignature: markSignature({ kind: "redacted", text: "d" }) },
            { text: "It is high." },
            ...calls,
          ],
        },
        finishReason: "STOP",
        index: 0,
        avgLogprobs: -0.5,
        logprobsResult: {
          chosenCandidates: [{ token: "It", logProbability: -0.5 }],
          topCandidates: [{ candidates: [{ token: "It", logProbability: -0.5 }] }],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: 20,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 10,
      cachedContentTokenCount: 5,
      totalTokenCount: 50,
    },
    modelVersion: "upstream-model",
    responseId: "fx",
  });
});

test("fromChat() omits reasoning unless requested", () => {
  const [candidate] = geminiDialect.fromChat(answer, request(), createOptions()).candidates ?? [];
  assert.deepEqual(candidate?.content, { role: "model", parts: [{ text: "It is high." }, ...calls] });
});

for (const [reason, wanted] of [
  ["stop", "STOP"],
  ["length", "MAX_TOKENS"],
  ["content_filter", "SAFETY"],
  ["end_turn", "STOP"],
  [undefined, "STOP"],
] as const) {
  test(`fromChat() maps ${reason} to ${wanted}`, () => {
    const choices = [
      { index: 0, message: { content: "a" }, finish_reason: reason },
      { index: 1, message: { content: "b" }, finish_reason: reason },
    ];
    const { candidates = [] } = geminiDialect.fromChat({ choices }, request(), createOptions());
    assert.deepEqual(
      candidates?.map(({ finishReason, index, content }) => [finishReason, index, content]),
      [
        [wanted, 0, { role: "model", parts: [{ text: "a" }] }],
        [wanted, 1, { role: "model", parts: [{ text: "b" }] }],
      ],
    );
  });
}

test("fromChat() and its events survive malformed responses", () => {
  for (const value of [{}, { choices: null }, { choices: [null, 7, {}] }, { choices: [{ message: 7, delta: 8 }] }]) {
    // what an upstream may send in place of a response
    const { candidates } = geminiDialect.fromChat(value as unknown as ChatResponse, request(), createOptions());
    assert.ok(Array.isArray(candidates));
    const events = geminiDialect.createEvents(request(), createOptions());
    events.push(value);
    assert.equal(events.end(undefined).length, 1);
  }
});

const cited = { type: "url_citation", url_citation: { url: "https://host.example/a", title: "A" } };
const pictures = [
  { type: "image_url", image_url: { url: "data:image/webp;base64,UklG" } },
  { type: "image_url", image_url: { url: "https://host.example/a.png" } },
  { type: "image_url", image_url: { url: "nothing" } },
  { type: "image_url", image_url: { url: "data:image/png;base64,iVBO" }, thought: true },
];
const shown = [
  { inlineData: { mimeType: "image/webp", data: "UklG" } },
  { fileData: { fileUri: "https://host.example/a.png" } },
];
const grounding = { groundingChunks: [{ web: { uri: "https://host.example/a", title: "A" } }] };

for (const name of ["images", "content_blocks"]) {
  test(`images among the ${name} of a response, and its citations, are returned`, () => {
    const message = { content: "Here", [name]: pictures, annotations: [cited] };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const [candidate] = geminiDialect.fromChat({ choices }, request(), createOptions()).candidates ?? [];
    assert.deepEqual(candidate?.content, { role: "model", parts: [{ text: "Here" }, ...shown] });
    assert.deepEqual(candidate?.groundingMetadata, grounding);
    const events = geminiDialect.createEvents(request(), createOptions());
    const held = name === "images" ? pictures : pictures.map((one, index) => ({ index, delta: one }));
    const made = events.push(delta({ content: "Here", [name]: held, annotations: [cited] }));
    assert.deepEqual(made.map(toShort), [[[{ text: "Here" }, ...shown]]]);
    const [last] = events.end(undefined);
    assert.deepEqual(
      (last as { candidates: { groundingMetadata: unknown }[] }).candidates[0]?.groundingMetadata,
      grounding,
    );
  });
}

const samples = "audio/L16;codec=pcm;rate=24000";
const heard = (data: string, mimeType = samples) => ({ inlineData: { mimeType, data } });

for (const [name, modalities, message, wanted] of [
  ["sound alone", ["AUDIO"], { content: null, audio: { data: "AAAA", transcript: "Hi" } }, [heard("AAAA")]],
  [
    "sound and its words",
    ["TEXT", "AUDIO"],
    { content: null, audio: { data: "AAAA", transcript: "Hi" } },
    [{ text: "Hi" }, heard("AAAA")],
  ],
  [
    "sound beside its words",
    ["TEXT", "AUDIO"],
    { content: "Hi", audio: { data: "AAAA", transcript: "Hi" } },
    [{ text: "Hi" }, heard("AAAA")],
  ],
  ...[
    ["wav", "audio/wav"],
    ["mp3", "audio/mpeg"],
    ["opus", "audio/ogg"],
    ["new", samples],
  ].map(([format, type]) => [
    `sound in ${format}`,
    ["AUDIO"],
    { audio: { data: "AAAA", format } },
    [heard("AAAA", type)],
  ]),
  ["sound that is none", ["AUDIO"], { content: "Hi", audio: { data: 1, transcript: 2 } }, [{ text: "Hi" }]],
] as [string, string[], object, object[]][]) {
  test(`fromChat() and its events include ${name}`, () => {
    const asked = request({ generationConfig: { responseModalities: modalities } });
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const [candidate] = geminiDialect.fromChat({ choices }, asked, createOptions()).candidates ?? [];
    assert.deepEqual(candidate?.content, { role: "model", parts: wanted });
    const events = geminiDialect.createEvents(asked, createOptions());
    assert.deepEqual(events.push(delta(message)).map(toShort), [[wanted]]);
  });
}

/** An event without what is the same in all. */
function toShort(event: object): unknown {
  const { candidates, usageMetadata } = event as { candidates: Record<string, unknown>[]; usageMetadata?: object };
  const short = candidates.map(({ content, finishReason }) => [
    ...(isObject(content) ? (content.parts as unknown[]) : []), // each has parts
    ...(finishReason ? [finishReason] : []),
  ]);
  return usageMetadata ? [...short, usageMetadata] : short;
}

const delta = (members: object, finish: string | null = null, index = 0) => ({
  model: "upstream-model",
  choices: [{ index, delta: members, finish_reason: finish }],
});
const part = (index: number, text: string, more: object = {}) =>
  delta({ tool_calls: [{ index, ...more, function: { arguments: text, ...more } }] });

/** Chunks of chats, and the resulting events. */
const streams: Readonly<Record<string, { chunks: object[]; usage?: object; wanted: unknown[]; members?: object }>> = {
  "a text": {
    chunks: [delta({ role: "assistant", content: "" }), delta({ content: "Hel" }), delta({ content: "lo" }, "stop")],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
    wanted: [
      [[{ text: "Hel" }]],
      [[{ text: "lo" }]],
      [[{ text: "" }, "STOP"], { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }],
    ],
  },
  "calls whose arguments come in turn": {
    chunks: [
      part(0, "", { id: "a", name: "x" }),
      part(0, '{"por'),
      part(1, "{", { id: "b", name: "y" }),
      part(0, 't":1}'),
      part(1, "}"),
      delta({ content: "Done" }, "tool_calls"),
    ],
    wanted: [
      [
        [
          {
            functionCall: { id: "a", name: "x", args: { port: 1 } },
            thoughtSignature: markSignature({ kind: "call", text: "", id: "a" }),
          },
        ],
      ],
      [
        [
          {
            functionCall: { id: "b", name: "y", args: {} },
            thoughtSignature: markSignature({ kind: "call", text: "", id: "b" }),
          },
          { text: "Done" },
        ],
      ],
      [[{ text: "" }, "STOP"], { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }],
    ],
  },
  "thoughts that are not asked for": {
    chunks: [delta({ reasoning_content: "Hm" }), delta({ content: "Yes" }), delta({}, "length")],
    wanted: [
      [[{ text: "Yes" }]],
      [[{ text: "" }, "MAX_TOKENS"], { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }],
    ],
  },
  "thoughts that are": {
    members: thoughtful,
    chunks: [
      delta({ content_blocks: [{ index: 0, delta: { thinking: "Hm" } }] }),
      delta({ content_blocks: [{ index: 0, delta: { signature: "EqQBSigA" } }] }),
      delta({ content: "Yes" }, "stop"),
    ],
    wanted: [
      [[{ text: "Hm", thought: true }]],
      [[{ text: "", thought: true, thoughtSignature: claudeSignature }]],
      [[{ text: "Yes" }]],
      [[{ text: "" }, "STOP"], { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }],
    ],
  },
  "sound piece by piece": {
    members: { generationConfig: { responseModalities: ["AUDIO", "TEXT"] } },
    chunks: [
      delta({ role: "assistant", audio: { id: "a", transcript: "Hi" } }),
      delta({ audio: { data: "AAAA" } }),
      delta({ audio: { transcript: " you", data: "BBBB" } }),
      delta({ audio: { expires_at: 1 } }),
      delta({}, "stop"),
    ],
    wanted: [
      [[{ text: "Hi" }]],
      [[heard("AAAA")]],
      [[{ text: " you" }, heard("BBBB")]],
      [[{ text: "" }, "STOP"], { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }],
    ],
  },
  "two answers beside each other": {
    chunks: [delta({ content: "a" }), delta({ content: "b" }, null, 1), delta({}, "stop"), delta({}, "length", 1)],
    wanted: [
      [[{ text: "a" }]],
      [[{ text: "b" }]],
      [
        [{ text: "" }, "STOP"],
        [{ text: "" }, "MAX_TOKENS"],
        { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
      ],
    ],
  },
  nothing: {
    chunks: [],
    wanted: [[[{ text: "" }, "STOP"], { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }]],
  },
};

for (const [name, { chunks, usage, wanted, members }] of Object.entries(streams)) {
  test(`createEvents() writes ${name}`, () => {
    const events = geminiDialect.createEvents(request(members), createOptions());
    const made = [...chunks.flatMap((chunk) => events.push(chunk)), ...events.end(usage)];
    assert.deepEqual(made.map(toShort), wanted);
    for (const event of made) {
      assert.deepEqual(
        [event.responseId, event.modelVersion],
        ["fx", chunks.length === 0 ? "asked-model" : "upstream-model"],
      );
    }
  });
}

test("createEvents() reports a failure as the API does", () => {
  const [event] = geminiDialect.createEvents(request(), createOptions()).fail({
    message: "too many",
    type: "rate_limit_error",
    code: null,
    status: 429,
  });
  assert.deepEqual(event, {
    error: { code: 429, message: "too many", status: "RESOURCE_EXHAUSTED", type: "rate_limit_error" },
  });
});

/** Text the client gets of an upstream's bytes that come in these pieces. */
function relay(pieces: readonly Uint8Array[], observer: StreamObserver): string {
  const blocks = new EventBlocks();
  const decoder = new TextDecoder();
  let text = "";
  for (const piece of pieces) {
    const block = blocks.push(piece);
    const sent = block && observer.push(block);
    if (sent) text += decoder.decode(sent);
  }
  const ending = observer.end?.();
  return text + (ending ? decoder.decode(ending) : "");
}

const asked: ChatRequest = { model: "m", messages: [said], stream: true };
const upstreams = {
  openai: () => createPlainMapper("openai"),
  anthropic: () => createClaudeStream(asked, { strict: false, provider: "anthropic" }),
};

for (const [slug, createMapper] of Object.entries(upstreams)) {
  for (const name of ["stream.sse", "stream-tools.sse"]) {
    test(`any split of ${slug}/${name} gives the client the same (seed ${seed})`, () => {
      const bytes = new Uint8Array(readFileSync(join(repository, "tests/fixtures", slug, name)));
      const run = (cuts: readonly number[]) => {
        const places = [0, ...new Set(cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b)), bytes.length];
        const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        const events = geminiDialect.createEvents(request(thoughtful), createOptions());
        const { encode } = geminiDialect;
        return relay(pieces, new DialectObserver({ mapper: createMapper(), events, encode, provider: slug }));
      };
      const whole = run([]);
      const wanted = toSum(whole);
      assert.ok(JSON.stringify(wanted).includes("STOP"));
      fc.assert(
        fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
          assert.equal(run(cuts), whole);
        }),
        { seed, numRuns: rounds(300) },
      );
    });
  }
}

/** All parts of a stream with joined text, and how it ended. */
function toSum(text: string): unknown {
  const slices = readEvents(text).flatMap(({ data }) => JSON.parse(data).candidates);
  const parts: Record<string, unknown>[] = slices.flatMap(({ content }) => content.parts);
  const joined = parts.flatMap((one) => (typeof one.text === "string" ? [one.text] : [])).join("");
  const { finishReason } = slices.at(-1);
  return { joined, calls: parts.filter(({ functionCall }) => functionCall), finishReason };
}

test(`any split of text and arguments gives the parts of the non-streaming response (seed ${seed})`, () => {
  const cut = (text: string, cuts: readonly number[]) => {
    const places = [0, ...cuts.map((one) => one % (text.length + 1)).toSorted((a, b) => a - b), text.length];
    return places.slice(1).map((end, index) => text.slice(places[index], end));
  };
  const cuts = fc.array(fc.nat(1_000), { maxLength: 6 });
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.jsonValue(),
      cuts,
      cuts,
      (text, value, first, second) => {
        const args = JSON.stringify({ value });
        const message = { content: text, tool_calls: [call("a", "x", args)] };
        const whole = geminiDialect.fromChat(
          { choices: [{ index: 0, message, finish_reason: "stop" }] },
          request(),
          createOptions(),
        );
        const events = geminiDialect.createEvents(request(), createOptions());
        const chunks = [
          ...cut(text, first).map((content) => delta({ content })),
          part(0, "", { id: "a", name: "x" }),
          ...cut(args, second).map((one) => part(0, one)),
          delta({}, "stop"),
        ];
        const made = [...chunks.flatMap((chunk) => events.push(chunk)), ...events.end(undefined)];
        const written = [{ candidates: whole.candidates }].map(geminiDialect.encode).join("");
        assert.deepEqual(toSum(made.map(geminiDialect.encode).join("")), toSum(written));
      },
    ),
    { seed, numRuns: rounds(300) },
  );
});

test("toStreamForm() writes events as a list, however they are split, and skips comments", async () => {
  const encoder = new TextEncoder();
  const text = ': hi\n\ndata: {"a":"é"}\n\n: keep-alive\n\ndata: {"b":2}\n\ndata: {"error":{}}\n\n';
  const bytes = encoder.encode(text);
  for (let cut = 1; cut < bytes.length; cut++) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, cut));
        controller.enqueue(bytes.subarray(cut));
        controller.close();
      },
    });
    const reply = toStreamForm({ status: 200, headers: {}, body }, null);
    assert.equal(reply.headers["content-type"], "application/json");
    const sent = await new Response(reply.body as ReadableStream<Uint8Array<ArrayBuffer>>).text(); // of plain bytes
    assert.deepEqual(JSON.parse(sent), [{ a: "é" }, { b: 2 }, { error: {} }]);
  }
});

test("toStreamForm() makes one event of a non-streaming response", () => {
  const reply = { status: 200, headers: {}, body: '{\n"a": 1}' };
  assert.equal(toStreamForm({ ...reply }, "sse").body, 'data: {"a":1}\n\n');
  assert.deepEqual(JSON.parse(String(toStreamForm({ ...reply }, "json").body)), [{ a: 1 }]);
});

test("toCountedChat() counts turns, or a whole request", () => {
  const options = createOptions();
  assert.deepEqual(
    toCountedChat({ model: "m", contents: v.parse(GenerateContentBody, hello).contents }, options).messages,
    [said],
  );
  const whole = {
    ...v.parse(GenerateContentBody, hello),
    model: "models/other",
    systemInstruction: { parts: [{ text: "S" }] },
  };
  assert.deepEqual(toCountedChat({ model: "m", generateContentRequest: whole }, options), {
    model: "m",
    messages: [{ role: "system", content: "S" }, said],
  });
});

const content = (text: string) => ({ parts: [{ text }] });

test("toEmbedding() and toEmbeddings() make equivalent requests", () => {
  const options = createOptions();
  const one = { model: "m", content: content("a"), taskType: "RETRIEVAL_QUERY", outputDimensionality: 8 };
  assert.deepEqual(toEmbedding(one, options), { model: "m", input: "a", dimensions: 8 });
  assert.deepEqual(options.dropped, ["taskType"]);
  const requests = [one, { model: "models/m", content: content("b"), output_dimensionality: 8 }];
  assert.deepEqual(toEmbeddings({ model: "m", requests }, options), { model: "m", input: ["a", "b"], dimensions: 8 });
});

for (const [name, requests] of [
  ["contents of different sizes", [{ content: content("a"), outputDimensionality: 8 }, { content: content("b") }]],
  ["pictures", [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "iVBO" } }] } }]],
  ["nothing", [{ content: { parts: [] } }]],
] as const) {
  test(`toEmbeddings() refuses ${name}`, () => {
    const mutable = structuredClone(requests) as unknown as { content: { parts: [] } }[]; // read only above
    assert.throws(() => toEmbeddings({ model: "m", requests: mutable }, createOptions()), { status: 400 });
  });
}
