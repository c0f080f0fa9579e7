import { keyHeader } from "../../core/headers.ts";
import type { Provider } from "../../core/types.ts";
import { toQwenThinking } from "./adaptations.ts";
import { type CompatDeclaration, declareCompatible, oldTokenLimit } from "./declare.ts";
import { hyperbolicImages, siliconflowImages } from "./images.ts";

/**
 * Hosts of open models and resellers that accept OpenAI's fields with a few exceptions. Undocumented fields are
 * forwarded, because most of these hosts add fields.
 */
const declarations: readonly CompatDeclaration[] = [
  /** https://docs.sambanova.ai/cloud/api-reference/endpoints/chat */
  {
    slug: "sambanova",
    baseUrl: "https://api.sambanova.ai",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    model: "Meta-Llama-3.1-8B-Instruct",
    chat: {
      unsupported: [
        "functions",
        "function_call",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "user",
        "seed",
        "logprobs",
      ],
    },
    answers: { zeros: true },
    rarelyChanged: true,
  },
  /** https://docs.lemonfox.ai/apis/chat */
  {
    slug: "lemonfox-ai",
    baseUrl: "https://api.lemonfox.ai/v1",
    operations: ["chat", "generateImage", "transcribe"],
    media: {
      generateImage: { only: ["negative_prompt", "n", "size", "response_format"], bounds: { n: [1, 8] } },
    },
    model: "zephyr-chat",
    chat: {
      unsupported: [
        "functions",
        "function_call",
        "n",
        "logit_bias",
        "user",
        "seed",
        "tools",
        "tool_choice",
        "response_format",
        "logprobs",
        "stream_options",
      ],
    },
    answers: { zeros: true },
    rarelyChanged: true,
  },
  /** https://docs.nscale.com/docs/inference/chat */
  {
    slug: "nscale",
    baseUrl: "https://inference.api.nscale.com/v1",
    operations: ["chat", "models", "generateImage"],
    chat: { unsupported: ["functions", "function_call", "user", "seed", "tools", "tool_choice", "stream_options"] },
  },
  /** https://docs.hyperbolic.xyz/reference/create_chat_completion_v1_chat_completions_post */
  {
    slug: "hyperbolic",
    baseUrl: "https://api.hyperbolic.xyz",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    own: { generateImage: hyperbolicImages },
    chat: { bounds: { min_p: [0, 1] } },
  },
  /** https://docs.kluster.ai/api-reference/reference/ */
  {
    slug: "kluster-ai",
    baseUrl: "https://api.kluster.ai/v1",
    operations: ["chat", "embed", "models"],
    model: "klusterai/Meta-Llama-3.1-8B-Instruct-Turbo",
  },
  /** https://apidoc.cometapi.com/ */
  {
    slug: "cometapi",
    baseUrl: "https://api.cometapi.com/v1",
    operations: ["chat", "embed", "models"],
    model: "gpt-3.5-turbo",
  },
  /** https://docs.matterai.so/api-reference */
  { slug: "matterai", baseUrl: "https://api.matterai.so/v1", operations: ["chat"], model: "axon" },
  /** https://help.ovhcloud.com/csm/en-public-cloud-ai-endpoints-getting-started?id=kb_article_view&sysparm_article=KB0065401 */
  {
    slug: "ovhcloud",
    baseUrl: "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
    operations: ["chat", "models"],
  },
  /** https://aibadgr.com/docs */
  { slug: "aibadgr", baseUrl: "https://aibadgr.com/api/v1", operations: ["chat", "models"] },
  /** https://docs.io.net/reference/get-started-with-io-intelligence-api */
  {
    slug: "iointelligence",
    baseUrl: "https://api.intelligence.io.solutions/api/v1",
    operations: ["chat", "embed", "models"],
  },
  /** https://docs.inference.net/api-reference */
  {
    slug: "inference-net",
    baseUrl: "https://api.inference.net/v1",
    operations: ["chat", "models"],
    model: "llama3",
  },
  /** https://docs.lambda.ai/public-cloud/lambda-inference-api/ */
  {
    slug: "lambda",
    baseUrl: "https://api.lambdalabs.com/v1",
    operations: ["chat", "complete", "models"],
    model: "Liquid-AI-40B",
  },
  /** https://docs.nebius.com/studio/inference/api */
  {
    slug: "nebius",
    baseUrl: "https://api.studio.nebius.ai/v1",
    model: "Qwen/Qwen2.5-72B-Instruct-fast",
    embedModel: "BAAI/bge-en-icl",
  },
  /** https://www.nextbit256.com/docs */
  {
    slug: "nextbit",
    baseUrl: "https://api.nextbit256.com/v1",
    operations: ["chat", "complete"],
    model: "microsoft:phi-4",
  },
  /** https://cloud.olakrutrim.com/docs */
  {
    slug: "krutrim",
    baseUrl: "https://cloud.olakrutrim.com/v1",
    operations: ["chat"],
    model: "Llama-3.3-70B-Instruct",
  },
  /** https://featherless.ai/docs/completions */
  {
    slug: "featherless-ai",
    baseUrl: "https://api.featherless.ai/v1",
    operations: ["chat", "complete", "models"],
    model: "mistralai/Magistral-Small-2506",
  },
  /** https://console.upstage.ai/api/chat */
  {
    slug: "upstage",
    baseUrl: "https://api.upstage.ai/v1/solar",
    operations: ["chat", "embed"],
    model: "solar-pro",
    embedModel: "solar-embedding-1-large-query",
    embedsStringsOnly: true,
  },
  /** https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion */
  {
    slug: "novita-ai",
    // https://novita.ai/docs/api-reference/model-apis-llm-create-rerank
    baseUrl: (_settings, { path }) =>
      path.endsWith("/rerank") ? "https://api.novita.ai/openai" : "https://api.novita.ai/v3/openai",
    pathPrefix: "/v1",
    operations: ["chat", "complete", "models"],
    rerank: { top_n: "top_n" },
    model: "lzlv_70b",
    chat: { rename: oldTokenLimit },
    complete: { rename: oldTokenLimit },
  },
  /** https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions */
  {
    slug: "siliconflow",
    baseUrl: "https://api.siliconflow.cn/v1",
    operations: ["chat", "embed", "models"],
    // https://docs.siliconflow.cn/cn/api-reference/rerank/create-rerank
    rerank: { top_n: "top_n", return_documents: "return_documents", max_chunks_per_doc: "max_chunks_per_doc" },
    own: { generateImage: siliconflowImages },
    model: "deepseek-ai/DeepSeek-V2-Chat",
    embedsStringsOnly: true,
    chat: { rename: oldTokenLimit, thinking: true, adapt: toQwenThinking },
    answers: {},
  },
  /** https://302.ai/en/apis/ */
  {
    slug: "302ai",
    baseUrl: "https://api.302.ai",
    pathPrefix: "/v1",
    operations: ["chat", "models"],
    model: "gpt-3.5-turbo",
  },
  /** https://deepbricks.ai/api-docs */
  {
    slug: "deepbricks",
    baseUrl: "https://api.deepbricks.ai/v1",
    operations: ["chat", "models", "generateImage"],
    model: "gpt-3.5-turbo",
    chat: { rename: oldTokenLimit },
  },
  /** https://www.lepton.ai/docs/public_models/model_apis */
  {
    slug: "lepton",
    baseUrl: "https://api.lepton.ai",
    pathPrefix: "/api/v1",
    operations: ["chat", "complete", "transcribe"],
    chat: { rename: oldTokenLimit },
  },
  /** https://lightning.ai/docs/litai/home/api */
  { slug: "lightning-ai", baseUrl: "https://lightning.ai/api/v1", operations: ["chat"] },
  /** https://llama.developer.meta.com/docs/features/compatibility */
  { slug: "meta", baseUrl: "https://api.llama.com/compat/v1", operations: ["chat", "models"] },
  /** https://docs.api.nvidia.com/nim/reference/llm-apis */
  {
    slug: "nvidia-nim",
    baseUrl: "https://integrate.api.nvidia.com/v1",
    operations: ["chat", "complete", "embed", "models"],
    chat: { rename: oldTokenLimit },
    answers: {},
  },
  /** https://fal.ai/models/openrouter/router/openai/v1/chat/completions/api */
  {
    slug: "fal-ai",
    baseUrl: "https://fal.run/openrouter/router/openai/v1",
    operations: ["chat"],
    authenticate: keyHeader("authorization", "Key "),
    // requests go to OpenRouter
    chat: { replay: "reasoning", details: true },
    answers: { demandsBack: ["reasoning_details"] },
    rarelyChanged: true,
  },
];

/** Providers of the table. */
export const hosts: readonly Provider[] = declarations.map(declareCompatible);
