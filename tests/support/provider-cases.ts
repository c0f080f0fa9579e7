import assert from "node:assert/strict";
import { requireSigned } from "./aws.ts";
import type { Question, Tokens } from "./chat-sdks.ts";
import type { ReceivedRequest } from "./upstream.ts";

const awsKeys = { accessKeyId: "AKIAFAKEFAKEFAKE0000", secretAccessKey: "fake-secret-access-key-for-tests" };

/** The smallest bytes that look like an image. */
export const pixel = "iVBORw0KGgo=";
const pixelUrl = `data:image/png;base64,${pixel}`;

export const opening = {
  type: "object" as const,
  properties: { opens: { type: "string" as const }, berths: { type: "integer" as const } },
  required: ["opens", "berths"],
  additionalProperties: false as const,
};
const port = {
  type: "object" as const,
  properties: { port: { type: "string" as const } },
  required: ["port"],
  additionalProperties: false as const,
};
const nothing = {
  type: "object" as const,
  properties: {},
  required: [],
  additionalProperties: false as const,
};

const tide = { name: "tide_table", description: "Tides of a port", schema: port };
const wind = { name: "wind_speed", description: "Wind now", schema: nothing };

/** Requests of the SDKs in tests. */
export const questions = {
  text: { text: "When does it open?" },
  tools: {
    text: "How high is the tide, how strong the wind?",
    tools: [tide, wind],
  },
  object: { text: "When does it open?", object: { name: "opening", schema: opening } },
  image: { text: "What is this?", image: pixelUrl },
  reasoning: { text: "When does it open?", effort: "low" },
} satisfies Record<string, Question>;

/** Cases in which an upstream's request is compared, by the members of its body that say what was asked. */
export type Sent = Readonly<Record<keyof typeof questions, Readonly<Record<string, unknown>>>>;

/** What is known of a provider's protocol. */
export interface NativeCase {
  provider: string;
  model: string;
  /** Credential the SDK is given. */
  apiKey?: string;
  /** Further headers of the client. */
  headers?: Record<string, string>;
  /** How the upstream must see the credential. */
  identity: (request: ReceivedRequest) => void;
  sent: Sent;
  /** Ids of the two calls; a pattern where the provider has none. */
  callIds: readonly [string | RegExp, string | RegExp];
  /** Why the arguments of a call cannot arrive in pieces. */
  wholeArguments?: string;
  /** Why reasoning cannot be streamed; only usage reports it. */
  silentThoughts?: string;
  /** Usage after table 1 of the recorded responses: non-streaming, streamed, and streamed with reasoning. */
  tokens: Readonly<Record<"whole" | "streamed" | "reasoning", Tokens>>;
}

function tokens(input: number, output: number, details: { cached?: number; reasoning?: number } = {}): Tokens {
  return { input, output, total: input + output, cached: 0, reasoning: 0, ...details };
}

function hasHeader(name: string, value: string): NativeCase["identity"] {
  return ({ headers }) => {
    const names = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
    const found = Object.fromEntries(names.map((one) => [one, headers[one]]).filter(([, given]) => given));
    assert.deepEqual(found, { [name]: value });
  };
}

const { text, image, tools, reasoning } = questions;
const bearer = hasHeader("authorization", "Bearer fake-provider-key");
const say = (content: unknown) => ({ messages: [{ role: "user", content }] });

const openaiSent: Sent = {
  text: say(text.text),
  tools: {
    ...say(tools.text),
    tools: tools.tools.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
    tool_choice: "auto",
  },
  object: {
    response_format: { type: "json_schema", json_schema: { name: "opening", schema: opening, strict: true } },
  },
  image: say([
    { type: "text", text: image.text },
    { type: "image_url", image_url: { url: pixelUrl } },
  ]),
  reasoning: { ...say(reasoning.text), reasoning_effort: "low" },
};

const geminiSay = (...parts: unknown[]) => ({ contents: [{ role: "user", parts }] });
const geminiSent = (thinkingConfig: object): Sent => ({
  text: geminiSay({ text: text.text }),
  tools: {
    ...geminiSay({ text: tools.text }),
    tools: [
      {
        functionDeclarations: [
          {
            name: tide.name,
            description: tide.description,
            parameters: { type: "object", properties: { port: { type: "string" } }, required: ["port"] },
          },
          // an object without members is refused there
          { name: wind.name, description: wind.description },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: "AUTO" } },
  },
  object: { generationConfig: { responseMimeType: "application/json", responseJsonSchema: opening } },
  image: geminiSay({ text: image.text }, { inlineData: { mimeType: "image/png", data: pixel } }),
  reasoning: { ...geminiSay({ text: reasoning.text }), generationConfig: { thinkingConfig } },
});

const converseSay = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

/** Providers and what their upstreams see and answer. */
export const cases: readonly NativeCase[] = [
  {
    provider: "openai",
    model: "gpt-5.1",
    identity: bearer,
    sent: openaiSent,
    callIds: ["call_fxA1", "call_fxA2"],
    silentThoughts: "its chat API tells how many tokens were thought, never the thoughts",
    tokens: {
      whole: tokens(1240, 71, { cached: 1024, reasoning: 64 }),
      streamed: tokens(21, 9),
      reasoning: tokens(1240, 71, { cached: 1024, reasoning: 64 }),
    },
  },
  {
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    identity: hasHeader("x-api-key", "fake-provider-key"),
    sent: {
      text: say(text.text),
      tools: {
        ...say(tools.text),
        tools: tools.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
        tool_choice: { type: "auto" },
      },
      object: { output_config: { format: { type: "json_schema", schema: opening } } },
      image: say([
        { type: "text", text: image.text },
        { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
      ]),
      reasoning: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    },
    callIds: ["toolu_01FxA1", "toolu_01FxA2"],
    // input, cache reads and cache writes are counted separately: 18 + 2048, 402 + 2048, 31 + 1200
    tokens: {
      whole: tokens(2066, 11, { cached: 2048 }),
      streamed: tokens(2450, 12, { cached: 2048 }),
      reasoning: tokens(1231, 96, { reasoning: 84 }),
    },
  },
  {
    provider: "google",
    model: "gemini-3-flash",
    identity: hasHeader("x-goog-api-key", "fake-provider-key"),
    sent: geminiSent({ includeThoughts: true, thinkingLevel: "LOW" }),
    callIds: ["fc_fx_1", "fc_fx_2"],
    wholeArguments: "a functionCall part holds the arguments as one object",
    // candidates do not count reasoning: 7 + 96, 9 + 40, 6 + 84
    tokens: {
      whole: tokens(1290, 103, { cached: 1024, reasoning: 96 }),
      streamed: tokens(21, 49, { reasoning: 40 }),
      reasoning: tokens(31, 90, { cached: 16, reasoning: 84 }),
    },
  },
  {
    provider: "vertex-ai",
    model: "gemini-2.5-flash",
    apiKey: "ya29.fake-access-token",
    headers: { "x-gateway-vertex-project-id": "fake-project", "x-gateway-vertex-region": "us-central1" },
    identity: hasHeader("authorization", "Bearer ya29.fake-access-token"),
    sent: geminiSent({ includeThoughts: true, thinkingBudget: 1024 }),
    callIds: [/^call_/, /^call_/],
    wholeArguments: "a functionCall part holds the arguments as one object",
    // candidates do not count reasoning: 6 + 84
    tokens: {
      whole: tokens(17, 7),
      streamed: tokens(21, 9),
      reasoning: tokens(31, 90, { cached: 16, reasoning: 84 }),
    },
  },
  {
    provider: "bedrock",
    model: "anthropic.claude-sonnet-4-6-v1:0",
    headers: {
      "x-gateway-aws-access-key-id": awsKeys.accessKeyId,
      "x-gateway-aws-secret-access-key": awsKeys.secretAccessKey,
      "x-gateway-aws-region": "eu-west-3",
    },
    identity({ method, path, headers, body }) {
      const { scope } = requireSigned({ method, url: path, headers, body }, awsKeys);
      assert.deepEqual([scope.region, scope.service], ["eu-west-3", "bedrock"]);
    },
    sent: {
      text: converseSay({ text: text.text }),
      tools: {
        ...converseSay({ text: tools.text }),
        toolConfig: {
          tools: tools.tools.map(({ name, description, schema }) => ({
            toolSpec: { name, description, inputSchema: { json: schema } },
          })),
          toolChoice: { auto: {} },
        },
      },
      object: {
        outputConfig: {
          textFormat: {
            type: "json_schema",
            structure: { jsonSchema: { name: "opening", schema: JSON.stringify(opening) } },
          },
        },
      },
      image: converseSay({ text: image.text }, { image: { format: "png", source: { bytes: pixel } } }),
      reasoning: {
        additionalModelRequestFields: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
      },
    },
    callIds: ["tooluse_FxA1", "tooluse_FxA2"],
    // input, cache reads and cache writes are counted separately: 18 + 2048, 31 + 1200; reasoning is not counted separately
    tokens: {
      whole: tokens(2066, 11, { cached: 2048 }),
      streamed: tokens(2066, 12, { cached: 2048 }),
      reasoning: tokens(1231, 96),
    },
  },
  {
    provider: "azure-openai",
    model: "gpt-5.1",
    headers: {
      "x-gateway-azure-deployment-id": "fake-deployment",
      "x-gateway-azure-api-version": "2024-10-21",
      "x-gateway-azure-resource-name": "fake-resource",
    },
    identity: hasHeader("api-key", "fake-provider-key"),
    sent: openaiSent,
    callIds: ["call_fxA1", "call_fxA2"],
    silentThoughts: "as at OpenAI: tokens that were thought are counted, never told",
    tokens: {
      whole: tokens(17, 7),
      streamed: tokens(21, 9),
      reasoning: tokens(1240, 71, { cached: 1024, reasoning: 64 }),
    },
  },
  {
    provider: "cohere",
    model: "command-a-reasoning-08-2025",
    identity: bearer,
    sent: {
      ...openaiSent,
      tools: { ...say(tools.text), tools: openaiSent.tools.tools },
      object: { response_format: { type: "json_object", json_schema: opening } },
      reasoning: { ...say(reasoning.text), thinking: { type: "enabled" } },
    },
    callIds: ["tide_table_fx1", "wind_speed_fx2"],
    // what was counted, not what is billed; reasoning is not counted separately
    tokens: {
      whole: tokens(74, 9, { cached: 32 }),
      streamed: tokens(71, 11),
      reasoning: tokens(510, 22, { cached: 480 }),
    },
  },
  {
    provider: "mistral-ai",
    model: "magistral-medium-latest",
    identity: bearer,
    sent: openaiSent,
    callIds: ["fxAbC1234", "fxAbC5678"],
    wholeArguments: "its events hold calls whole, all of them in one",
    // reasoning is not counted separately
    tokens: { whole: tokens(14, 7), streamed: tokens(12, 9), reasoning: tokens(14, 61) },
  },
];
