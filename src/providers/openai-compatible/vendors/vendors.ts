import type { Provider } from "../../core/types.ts";
import { cerebrasFacts } from "../facts/cerebras.ts";
import { deepseekFacts } from "../facts/deepseek.ts";
import { glmFacts } from "../facts/glm.ts";
import { groqFacts } from "../facts/groq.ts";
import { moonshotFacts } from "../facts/moonshot.ts";
import { qwenFacts } from "../facts/qwen.ts";
import { xaiFacts } from "../facts/x-ai.ts";
import { textOperations } from "../mod.ts";
import { addThinking, checkMinimax, toQwenThinking } from "./adaptations.ts";
import { type CompatDeclaration, declareCompatible, oldTokenLimit } from "./declare.ts";
import { deepinfraRerank } from "./deepinfra.ts";
import { gptImageMembers, toTogetherImage, withTime } from "./images.ts";
import { minimaxSpeech } from "./speech.ts";

const glmBounds = { temperature: [0, 1], top_p: [0.01, 1] } as const;
const glmReasons = { sensitive: "content_filter", network_error: "stop" } as const;

/** Providers whose responses have fields beyond OpenAI's, such as reasoning, or have them in other places. */
const declarations: readonly CompatDeclaration[] = [
  /** https://docs.together.ai/reference/chat-completions-1 */
  {
    slug: "together-ai",
    nativeGroups: ["videos_v2"],
    baseUrl: "https://api.together.xyz",
    pathPrefix: "/v1",
    // https://docs.together.ai/reference/rerank-1
    rerank: { top_n: "top_n", return_documents: "return_documents", rank_fields: "rank_fields" },
    embedsStringsOnly: true,
    operations: ["chat", "complete", "embed", "generateImage"],
    media: {
      generateImage: {
        unsupported: ["quality", "style", "background", "moderation", "output_compression", "partial_images", "user"],
        adapt: toTogetherImage,
      },
    },
    readImages: withTime,
    model: "meta-llama/Llama-3.2-11B-Vision-Instruct-Turbo",
    chat: {
      rename: oldTokenLimit,
      bounds: { max_tokens: [1, Infinity] },
      replay: "reasoning",
    },
    complete: { rename: oldTokenLimit, bounds: { max_tokens: [1, Infinity] } },
    answers: { finishReasons: { eos: "stop" } },
  },
  /** https://console.groq.com/docs/openai#currently-unsupported-openai-features */
  {
    slug: "groq",
    baseUrl: "https://api.groq.com/openai/v1",
    operations: ["chat", "models", "responses", "speak", "transcribe", "translate"],
    facts: groqFacts,
    chat: { unsupported: ["logprobs", "top_logprobs", "logit_bias"], bounds: { n: [1, 1] }, replay: "reasoning" },
    answers: {},
  },
  /** https://api-docs.deepseek.com/api/create-chat-completion */
  {
    slug: "deepseek",
    hasLogprobs: true,
    baseUrl: "https://api.deepseek.com",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    model: "deepseek-chat",
    facts: deepseekFacts,
    chat: {
      rename: oldTokenLimit,
      bounds: { top_logprobs: [0, 20] },
      thinking: true,
      replay: "calls",
      adapt: addThinking,
    },
    answers: { finishReasons: { insufficient_system_resource: "stop" }, demandsBack: ["reasoning_content"] },
  },
  /** https://docs.x.ai/docs/api-reference#chat-completions */
  {
    slug: "x-ai",
    baseUrl: "https://api.x.ai/v1",
    operations: [...textOperations, "responses", "generateImage"],
    media: { generateImage: { unsupported: [...gptImageMembers, "size"] } },
    model: "grok-beta",
    embedModel: "v1",
    facts: xaiFacts,
    // https://docs.x.ai/docs/guides/tools/search-tools
    searches: (operation) => operation === "responses",
    answers: { reasoningApart: true },
  },
  /** https://inference-docs.cerebras.ai/api-reference/chat-completions */
  {
    slug: "cerebras",
    baseUrl: "https://api.cerebras.ai/v1",
    operations: ["chat", "models"],
    facts: cerebrasFacts,
    chat: {
      unsupported: [
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "presence_penalty",
        "parallel_tool_calls",
        "service_tier",
      ],
      replay: "reasoning",
    },
    answers: {},
  },
  /** https://deepinfra.com/docs/openai_api */
  {
    slug: "deepinfra",
    baseUrl: (_settings, { path }) =>
      path.startsWith("/inference/") ? "https://api.deepinfra.com/v1" : "https://api.deepinfra.com/v1/openai",
    operations: ["chat", "embed", "models"],
    rerank: deepinfraRerank,
    models: { inPath: (path) => /(?:^|\/)inference\/(.+)$/i.exec(path)?.[1] },
    model: "deepinfra/airoboros-70b",
    chat: { rename: oldTokenLimit, bounds: { n: [1, 1] } },
    answers: {},
  },
  /** https://www.alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api */
  {
    slug: "dashscope",
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    operations: ["chat", "embed", "models"],
    model: "qwen-turbo",
    embedModel: "text-embedding-v1",
    embedsStringsOnly: true,
    embedsAtMost: 10,
    facts: qwenFacts,
    chat: { thinking: true, adapt: toQwenThinking },
    answers: {},
  },
  /** https://docs.z.ai/api-reference/llm/chat-completion */
  {
    slug: "z-ai",
    baseUrl: "https://api.z.ai/api/paas/v4",
    operations: ["chat", "models"],
    model: "glm-4.6",
    facts: glmFacts,
    chat: { rename: oldTokenLimit, bounds: glmBounds, thinking: true, systemText: true, adapt: addThinking },
    // https://docs.z.ai/guides/capabilities/thinking-mode: to be returned together with the tool results
    answers: { finishReasons: glmReasons, demandsBack: ["reasoning_content"] },
  },
  /** https://docs.bigmodel.cn/api-reference */
  {
    slug: "zhipu",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    operations: ["chat", "embed", "models"],
    model: "glm-3-turbo",
    embedModel: "embedding-2",
    embedsStringsOnly: true,
    facts: glmFacts,
    chat: { rename: oldTokenLimit, bounds: glmBounds, thinking: true, systemText: true, adapt: addThinking },
    answers: { finishReasons: glmReasons, demandsBack: ["reasoning_content"] },
  },
  /** https://platform.moonshot.ai/docs/api/chat */
  {
    slug: "moonshot",
    baseUrl: "https://api.moonshot.cn",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    model: "moonshot-v1-8k",
    facts: moonshotFacts,
    chat: { rename: oldTokenLimit, thinking: true },
    answers: { demandsBack: ["reasoning_content"] },
  },
  /** https://platform.minimax.io/docs/api-reference/text-openai-api */
  {
    slug: "minimax",
    baseUrl: "https://api.minimax.io",
    pathPrefix: "/v1",
    operations: ["chat"],
    own: { speak: minimaxSpeech },
    answers: { check: checkMinimax },
  },
];

/** Providers of the table. */
export const vendors: readonly Provider[] = declarations.map(declareCompatible);
