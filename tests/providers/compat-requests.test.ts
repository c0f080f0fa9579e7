import { createProviderRegistry } from "../../src/providers/registry.ts";
import { type ConformanceCase, testConformance } from "../conformance/suite.ts";

const registry = createProviderRegistry();
const messages = [{ role: "user", content: "When does the lock open?" }];
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const answer = { id: "fx-1", choices: [], usage };
const tools = [{ type: "function", function: { name: "tide", parameters: { type: "object" } } }];

/** The fields that are sent, and those reported as dropped. */
type Row = readonly [slug: string, given: object, sent: object, dropped?: readonly string[]];

const limits = { presence_penalty: 0.5, frequency_penalty: 0.5 };
const manyMembers = { ...limits, logit_bias: { "1": 2 }, user: "u", seed: 7, logprobs: true, top_p: 0.5 };
const legacy = { functions: [], function_call: "none" };
const withUsage = { stream: true, stream_options: { include_usage: true } };

const isOff = { thinking: { type: "disabled" } };
const isOn = { thinking: { type: "enabled" } };
/** As Claude Code asks current models. */
const isAdaptive = { thinking: { type: "adaptive", display: "summarized" } };
const other = { type: "function", function: { name: "other" } };
/** A model that reasons, at hosts of open models. */
const gptOss = "openai/gpt-oss-120b";

const rows: readonly Row[] = [
  // fields a provider rejects
  [
    "groq",
    { ...manyMembers, top_logprobs: 2, n: 1 },
    { ...limits, user: "u", seed: 7, top_p: 0.5, n: 1 },
    ["logit_bias", "logprobs", "top_logprobs"],
  ],
  [
    "cerebras",
    { ...manyMembers, parallel_tool_calls: true, service_tier: "auto", max_completion_tokens: 9 },
    { user: "u", seed: 7, top_p: 0.5, max_completion_tokens: 9 },
    ["frequency_penalty", "logit_bias", "logprobs", "parallel_tool_calls", "presence_penalty", "service_tier"],
  ],
  [
    "sambanova",
    { ...manyMembers, ...legacy, tools },
    { top_p: 0.5, tools },
    ["presence_penalty", "frequency_penalty", "logit_bias", "user", "seed", "logprobs", ...Object.keys(legacy)],
  ],
  [
    "lemonfox-ai",
    {
      ...manyMembers,
      ...legacy,
      n: 1,
      tools: [],
      tool_choice: "auto",
      response_format: { type: "json_object" },
      stream: true,
    },
    { ...limits, top_p: 0.5, stream: true },
    ["logit_bias", "user", "seed", "logprobs", "n", "tools", "tool_choice", "response_format", ...Object.keys(legacy)],
  ],
  [
    "nscale",
    { ...manyMembers, ...legacy, tool_choice: "none", tools, ...withUsage },
    { ...limits, logit_bias: { "1": 2 }, logprobs: true, top_p: 0.5, stream: true },
    ["user", "seed", "tools", "tool_choice", "stream_options", ...Object.keys(legacy)],
  ],
  // null fields need no report
  ["groq", { logprobs: null, thinking: null }, {}],
  // small tables
  [
    "lingyi",
    { ...manyMembers, max_completion_tokens: 5, own: 1 },
    { top_p: 0.5, max_tokens: 5, own: 1 },
    ["presence_penalty", "frequency_penalty", "logit_bias", "user", "seed", "logprobs"],
  ],
  [
    "ncompass",
    { ...manyMembers, n: 1, stop: "x" },
    { ...limits, top_p: 0.5, n: 1, stop: "x" },
    ["logit_bias", "user", "seed", "logprobs"],
  ],
  [
    "anyscale",
    { ...manyMembers, tools, tool_choice: "auto", max_completion_tokens: 5, own: 1, top_logprobs: 2 },
    {
      ...limits,
      logit_bias: { "1": 2 },
      user: "u",
      logprobs: true,
      top_logprobs: 2,
      top_p: 0.5,
      tools,
      tool_choice: "auto",
      max_tokens: 5,
      own: 1,
    },
    ["seed"],
  ],
  [
    "monsterapi",
    { max_tokens: 9_000, temperature: 1.4, top_k: 50, beam_size: 2, repetition_penalty: 1.1, user: "u" },
    { max_length: 2_048, temperature: 1, top_k: 20, beam_size: 2, repetition_penalty: 1.1 },
    ["user"],
  ],
  [
    "perplexity-ai",
    {
      ...limits,
      n: 1,
      top_k: 5_000,
      max_completion_tokens: 5,
      search_domain_filter: ["a.example"],
      search_recency_filter: "day",
      web_search_options: { search_context_size: "low" },
      response_format: { type: "json_schema" },
      seed: 1,
    },
    {
      ...limits,
      n: 1,
      top_k: 2_048,
      max_tokens: 5,
      search_domain_filter: ["a.example"],
      search_recency_filter: "day",
      web_search_options: { search_context_size: "low" },
      response_format: { type: "json_schema" },
    },
    ["seed"],
  ],
  // renamed fields, and both names at once
  ...[
    "deepseek",
    "deepinfra",
    "zhipu",
    "z-ai",
    "moonshot",
    "siliconflow",
    "deepbricks",
    "lepton",
    "fireworks-ai",
  ].flatMap((slug): Row[] => [
    [slug, { max_completion_tokens: 5 }, { max_tokens: 5 }],
    [slug, { max_completion_tokens: 5, max_tokens: 6 }, { max_tokens: 5 }, ["max_tokens"]],
    [slug, { max_completion_tokens: null, own: 1 }, { own: 1 }],
  ]),
  ["nebius", { max_completion_tokens: 5, top_k: 4 }, { max_completion_tokens: 5, top_k: 4 }],
  // defaults and bounds
  ["together-ai", { max_completion_tokens: 0 }, { max_tokens: 1 }],
  ["together-ai", { max_tokens: 7 }, { max_tokens: 7 }],
  ["together-ai", {}, {}],
  ["novita-ai", {}, {}],
  ["novita-ai", { max_completion_tokens: 300, top_k: 3 }, { max_tokens: 300, top_k: 3 }],
  ["hyperbolic", { min_p: 1.5, top_k: -1 }, { min_p: 1, top_k: -1 }],
  [
    "fireworks-ai",
    { top_k: 500, n: 300, max_tokens: 0, context_length_exceeded_behavior: "error" },
    { top_k: 128, n: 128, max_tokens: 1, context_length_exceeded_behavior: "error" },
  ],
  ["deepseek", { top_logprobs: 40, logprobs: true, tools }, { top_logprobs: 20, logprobs: true, tools }],
  // usage of streams
  ["nebius", { stream: true }, withUsage],
  ["lingyi", { stream: true }, { stream: true }],
  ["openrouter", { stream: true }, { stream: true, usage: { include: true } }],
  ["openrouter", withUsage, { stream: true, usage: { include: true } }],
  // whether to think, and how much
  ["openai", { thinking: { type: "enabled" }, reasoning_effort: "low" }, { reasoning_effort: "low" }, []],
  ["openai", { thinking: { type: "enabled" } }, {}, ["thinking"]],
  ["openai", { model: "gpt-4o", reasoning_effort: "low" }, { model: "gpt-4o" }, ["reasoning_effort"]],
  [
    "groq",
    { model: gptOss, thinking: { type: "enabled" }, reasoning_effort: "low", include_reasoning: true },
    { model: gptOss, reasoning_effort: "low", include_reasoning: true },
  ],
  ["deepseek", { reasoning_effort: "high" }, { reasoning_effort: "high", thinking: { type: "enabled" } }],
  ["deepseek", { reasoning_effort: "none" }, { thinking: { type: "disabled" } }],
  [
    "deepseek",
    { thinking: { type: "disabled" }, reasoning_effort: "high" },
    { thinking: { type: "disabled" }, reasoning_effort: "high" },
  ],
  ...["z-ai", "zhipu"].flatMap((slug): Row[] => [
    // GLM-5.3 and later always think, by levels
    [slug, { reasoning_effort: "low" }, { thinking: { type: "enabled" }, reasoning_effort: "low" }],
    [slug, isOff, { ...isOn, reasoning_effort: "low" }, ["thinking"]],
    [slug, { model: "glm-4.6", ...isOff }, { model: "glm-4.6", ...isOff }],
    [slug, { model: "glm-4.6", reasoning_effort: "none" }, { model: "glm-4.6", ...isOff }],
    [slug, { model: "glm-4.6", reasoning_effort: "high" }, { model: "glm-4.6", ...isOn }, ["reasoning_effort"]],
    [slug, { model: "glm-4.6", ...isAdaptive }, { model: "glm-4.6", ...isOn }],
    [slug, { model: "glm-4-plus", thinking: { type: "enabled" } }, { model: "glm-4-plus" }, ["thinking"]],
    [slug, { temperature: 1.5, top_p: 0 }, { temperature: 1, top_p: 0.01 }],
    [slug, { tools, tool_choice: "none" }, {}],
    [slug, { tools, tool_choice: "auto" }, { tools, tool_choice: "auto" }],
  ]),
  // Kimi K3 always thinks, by levels
  ["moonshot", { reasoning_effort: "high" }, { reasoning_effort: "high" }],
  ["moonshot", { ...isAdaptive, reasoning_effort: "xhigh" }, { reasoning_effort: "high" }, ["reasoning_effort"]],
  ["moonshot", isAdaptive, {}],
  ["moonshot", isOff, { reasoning_effort: "low" }, ["thinking"]],
  ["moonshot", { reasoning_effort: "none" }, { reasoning_effort: "low" }, ["reasoning_effort"]],
  ["moonshot", { temperature: 0.2, ...limits }, {}, ["temperature", "presence_penalty", "frequency_penalty"]],
  ["moonshot", { tools, tool_choice: "required" }, { tools, tool_choice: "required" }],
  [
    "moonshot",
    { tools: [...tools, other], tool_choice: { type: "function", function: { name: "other" } } },
    { tools: [other], tool_choice: "required" },
  ],
  ["moonshot", { model: "kimi-k2.6", ...isOff }, { model: "kimi-k2.6", ...isOff }],
  ["moonshot", { model: "kimi-k2.6", reasoning_effort: "none" }, { model: "kimi-k2.6", ...isOff }],
  ["moonshot", { model: "kimi-k2.6", reasoning_effort: "low" }, { model: "kimi-k2.6", ...isOn }, ["reasoning_effort"]],
  [
    "moonshot",
    { model: "kimi-k2.6", tools, tool_choice: "required" },
    { model: "kimi-k2.6", tools, tool_choice: "required", ...isOff },
  ],
  ["moonshot", { model: "kimi-k2.7-code", ...isOff }, { model: "kimi-k2.7-code" }, ["thinking"]],
  [
    "moonshot",
    { model: "moonshot-v1-8k", temperature: 0.2, reasoning_effort: "low" },
    { model: "moonshot-v1-8k", temperature: 0.2 },
    ["reasoning_effort"],
  ],
  [
    "fireworks-ai",
    { thinking: { type: "enabled", budget_tokens: 2048 } },
    { thinking: { type: "enabled", budget_tokens: 2048 } },
  ],
  ["byteplus", { thinking: { type: "auto" } }, { thinking: { type: "auto" } }],
  ["dashscope", { reasoning_effort: "none" }, { enable_thinking: false }],
  ["dashscope", isOff, { enable_thinking: false }],
  ["dashscope", { ...isAdaptive, reasoning_effort: "high" }, { enable_thinking: true }, ["reasoning_effort"]],
  [
    "dashscope",
    { model: "qwen3-8b", stream: true, thinking: { type: "enabled", budget_tokens: 60_000 } },
    { model: "qwen3-8b", ...withUsage, enable_thinking: true, thinking_budget: 38_912 },
  ],
  [
    "dashscope",
    { model: "qwen3-8b", reasoning_effort: "high" },
    { model: "qwen3-8b", enable_thinking: false },
    ["reasoning_effort"],
  ],
  ["dashscope", { tools, tool_choice: "required" }, { tools, tool_choice: "required", enable_thinking: false }],
  ["dashscope", { model: "qwen2.5-72b", reasoning_effort: "high" }, { model: "qwen2.5-72b" }, ["reasoning_effort"]],
  ["siliconflow", { reasoning_effort: "low" }, { enable_thinking: true }],
  ["siliconflow", { temperature: 1 }, { temperature: 1 }],
  [
    "dashscope",
    { thinking: { type: "enabled", budget_tokens: 500 }, enable_search: true },
    { enable_thinking: true, thinking_budget: 500, enable_search: true },
  ],
  ["dashscope", { enable_thinking: true, thinking_budget: 9 }, { enable_thinking: true, thinking_budget: 9 }],
  ["dashscope", { model: "qwen3-235b-a22b" }, { model: "qwen3-235b-a22b", enable_thinking: false }],
  ["dashscope", { model: "qwen3-8b", stream: true }, { model: "qwen3-8b", ...withUsage }],
  ["dashscope", { model: "qwen-plus" }, { model: "qwen-plus" }],
  ["openrouter", { reasoning_effort: "high" }, { reasoning: { effort: "high" } }],
  ["openrouter", { thinking: { type: "enabled", budget_tokens: 2048 } }, { reasoning: { max_tokens: 2048 } }],
  ["openrouter", { thinking: { type: "disabled" } }, { reasoning: { enabled: false } }],
  ["openrouter", { ...isAdaptive, reasoning_effort: "high" }, { reasoning: { effort: "high" } }],
  ["openrouter", { ...isAdaptive, reasoning_effort: "max" }, { reasoning: { effort: "xhigh" } }, ["reasoning_effort"]],
  ["openrouter", isAdaptive, { reasoning: { enabled: true } }],
  [
    "openrouter",
    { thinking: { type: "enabled", budget_tokens: 2048 }, reasoning_effort: "low" },
    { reasoning: { max_tokens: 2048 } },
  ],
  ["openrouter", { reasoning: { exclude: true }, reasoning_effort: "low" }, { reasoning: { exclude: true } }],
  [
    "openrouter",
    { provider: { only: ["a"] }, models: ["b"], plugins: [], route: "fallback" },
    { provider: { only: ["a"] }, models: ["b"], plugins: [], route: "fallback" },
  ],
  // models that reject fields
  [
    "x-ai",
    { model: "grok-4-0709", ...limits, stop: "x", seed: 1 },
    { model: "grok-4-0709", seed: 1 },
    ["presence_penalty", "frequency_penalty", "stop"],
  ],
  ["x-ai", { model: "grok-3-mini", stop: null }, { model: "grok-3-mini" }],
  [
    "x-ai",
    { model: "grok-3", ...limits, stop: "x" },
    { model: "grok-3", frequency_penalty: limits.frequency_penalty, stop: "x" },
    ["presence_penalty"],
  ],
  ["x-ai", { model: "grok-4-fast-non-reasoning", stop: "x" }, { model: "grok-4-fast-non-reasoning", stop: "x" }],
];

for (const [slug, given, sent, dropped = []] of rows) {
  const provider = registry.get(slug);
  if (!provider) throw new Error(`no ${slug}`);
  const text = JSON.stringify(given);
  testConformance(provider, [
    {
      name: text.length > 100 ? `${text.slice(0, 100)}...` : text,
      request: { model: "m", messages, ...given },
      sent: { body: { model: "m", messages, ...sent } },
      dropped,
      answer,
      wanted: answer,
    },
  ]);
}

const refusals: readonly (readonly [slug: string, given: object, refused: RegExp])[] = [
  ...["z-ai", "zhipu"].map(
    (slug) => [slug, { tools, tool_choice: "required" }, /require a call of this model: it decides/] as const,
  ),
  ["moonshot", { model: "kimi-k2.7-code", tools, tool_choice: "required" }, /require a call .*: it always thinks/],
  ["lemonfox-ai", { tools }, /tools to lemonfox-ai/],
  ["lemonfox-ai", { functions: [{ name: "a" }] }, /functions to lemonfox-ai/],
  ["lemonfox-ai", { tools: [], tool_choice: "required" }, /tool_choice to lemonfox-ai/],
  ["lemonfox-ai", { response_format: { type: "json_schema", json_schema: {} } }, /response_format to lemonfox-ai/],
  ["lemonfox-ai", { n: 2 }, /n above 1 to lemonfox-ai/],
  ["lingyi", { tools }, /tools to lingyi/],
  ["nscale", { tools, tool_choice: "auto" }, /tools to nscale/],
  ...["groq", "deepinfra", "perplexity-ai", "ncompass"].map((slug) => [slug, { n: 3 }, /n above 1/] as const),
];

for (const [slug, given, refused] of refusals) {
  const provider = registry.get(slug);
  if (!provider) throw new Error(`no ${slug}`);
  const name = `refuses ${JSON.stringify(given)}`;
  testConformance(provider, [{ name, request: { model: "m", messages, ...given }, refused }]);
}

const thought = { reasoning_content: "Check hours.", content_blocks: [{ type: "thinking", thinking: "Check hours." }] };
const call = { id: "call_1", type: "function", function: { name: "tide", arguments: "{}" } };
const signedCall = {
  ...call,
  function: { ...call.function, thought_signature: "c2ln" },
  cache_control: { type: "ephemeral" },
};
const result = { role: "tool", tool_call_id: "call_1", content: "3 m" };

/** A conversation with fields that only the gateway or other providers know. */
const conversation = [
  { role: "developer", content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
  {
    role: "system",
    content: [
      { type: "text", text: "One." },
      { type: "text", text: "Two." },
    ],
  },
  { role: "user", content: "Hours?" },
  { role: "assistant", content: "Six.", ...thought },
  { role: "user", content: [{ type: "text", text: "Tide?" }], cache_control: { type: "ephemeral" } },
  { role: "assistant", content: null, tool_calls: [signedCall], ...thought },
  result,
];

/** The conversation as a provider gets it, except for these fields. */
function converted(options: { first?: object; second?: object; old?: object; current?: object } = {}) {
  const { old = { reasoning_content: "Check hours." }, current = old } = options;
  return [
    options.first ?? { role: "system", content: "Be brief." },
    options.second ?? conversation[1],
    conversation[2],
    { role: "assistant", content: "Six.", ...old },
    { role: "user", content: [{ type: "text", text: "Tide?" }] },
    { role: "assistant", content: null, tool_calls: [call], ...current },
    result,
  ];
}

const cachedTool = { ...tools[0], cache_control: { type: "ephemeral" } };
const dropped = ["cache_control", "content_blocks", "thought_signature"];

function conversationCase(
  wanted: readonly unknown[],
  change: Partial<ConformanceCase> = {},
  model = "m",
): ConformanceCase {
  return {
    name: "a conversation with fields of other shapes",
    request: { model, messages: conversation, tools: [cachedTool] },
    sent: { body: { model, messages: wanted, tools } },
    dropped,
    answer,
    wanted: answer,
    ...change,
  };
}

const developer = { role: "developer", content: "Be brief." };
const flat = { first: { role: "system", content: "Be brief." }, second: { role: "system", content: "One.\nTwo." } };
const cases: Readonly<Record<string, ConformanceCase>> = {
  openai: conversationCase(converted({ first: developer, old: {} }), { dropped: [...dropped, "reasoning_content"] }),
  nebius: conversationCase(converted()),
  groq: conversationCase(converted({ old: { reasoning: "Check hours." } }), {}, gptOss),
  cerebras: conversationCase(converted({ old: { reasoning: "Check hours." } })),
  deepseek: conversationCase(converted({ old: {}, current: { reasoning_content: "Check hours." } })),
  "z-ai": conversationCase(converted(flat)),
  zhipu: conversationCase(converted(flat)),
  openrouter: conversationCase([], {
    sent: {
      body: {
        model: "m",
        tools: [cachedTool],
        messages: [
          conversation[0],
          conversation[1],
          conversation[2],
          { role: "assistant", content: "Six.", reasoning: "Check hours." },
          conversation[4],
          {
            role: "assistant",
            content: null,
            reasoning: "Check hours.",
            tool_calls: [{ ...call, cache_control: { type: "ephemeral" } }],
          },
          result,
        ],
      },
    },
    dropped: ["content_blocks", "thought_signature"],
  }),
};

for (const [slug, one] of Object.entries(cases)) {
  const provider = registry.get(slug);
  if (!provider) throw new Error(`no ${slug}`);
  const model = provider.slug === "groq" ? gptOss : "m";
  testConformance(provider, [
    one,
    {
      name: "thinking parts, and text that is only in blocks",
      request: {
        model,
        messages: [
          ...messages,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "a", signature: "b" },
              { type: "text", text: "c" },
            ],
          },
          { role: "assistant", content: [{ type: "redacted_thinking", data: "a" }], tool_calls: [call] },
          {
            role: "assistant",
            content: null,
            content_blocks: [
              { type: "thinking", thinking: "a" },
              { type: "text", text: "d" },
            ],
          },
        ],
      },
      sent: {
        body: {
          model,
          messages: [
            ...messages,
            { role: "assistant", content: [{ type: "text", text: "c" }] },
            // https://api-docs.deepseek.com/guides/thinking_mode: calls need the reasoning they came with
            {
              role: "assistant",
              content: null,
              tool_calls: [call],
              ...(provider.slug === "deepseek" && { reasoning_content: "" }),
            },
            { role: "assistant", content: "d" },
          ],
        },
      },
      dropped: ["thinking", "content_blocks"],
      answer,
      wanted: answer,
    },
  ]);
}
