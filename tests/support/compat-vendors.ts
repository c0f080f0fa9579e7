import type { Provider } from "../../src/providers/core/types.ts";
import { builtInProviders } from "../../src/providers/registry.ts";

/** How a vendor's responses differ from OpenAI's, on the wire. */
export interface Vendor {
  /** Field with the reasoning. Absent: unknown. */
  thought?: "reasoning_content" | "reasoning";
  /** Further fields of a response, of its choice and of its message. */
  answer?: object;
  choice?: object;
  message?: object;
  /** Further fields of each chunk, of its choice and of its delta. */
  chunk?: object;
  chunkChoice?: object;
  delta?: object;
  /** Finish reason of a non-streaming response; the standard one is `stop`. */
  finish?: string;
  /** Usage fields in place of the common ones, and the resulting standard usage. */
  usage?: object;
  plainUsage?: object;
  /** Where a stream reports usage; default in a trailing chunk. */
  usageIn?: "finish" | "x_groq" | "choice" | "every";
  /** The stream has no `[DONE]`. */
  ends?: true;
  /** A block without data somewhere in the stream. */
  comment?: string;
  /** Body, status and message of a refusal; default OpenAI's. */
  error?: readonly [body: unknown, status: number, message: string, answered?: number];
}

/** Servers of open models that many hosts run, with their additional fields (https://docs.vllm.ai, https://docs.sglang.ai). */
const vllm: Vendor = {
  thought: "reasoning_content",
  answer: { prompt_logprobs: null, kv_transfer_params: null },
  choice: { stop_reason: null },
  chunkChoice: { stop_reason: null },
  usage: { prompt_tokens_details: null },
  plainUsage: { prompt_tokens_details: null },
  error: [
    { object: "error", message: "fixture: no such model", type: "NotFoundError", param: null, code: 404 },
    404,
    "fixture: no such model",
  ],
};
const sglang: Vendor = {
  thought: "reasoning_content",
  answer: { metadata: { weight_version: "default" } },
  choice: { matched_stop: 151_645 },
  chunkChoice: { matched_stop: null },
  usage: { reasoning_tokens: 2 },
  plainUsage: { completion_tokens_details: { reasoning_tokens: 2 } },
};
/** Hosts known only to speak OpenAI's format. */
const plain: Vendor = {};

const detail = "fixture: input is missing";
const zhipuError = [{ error: { code: "1214", message: detail } }, 400, detail] as const;

/** By slug: formats that the vendors document, or of the servers they run. Text and numbers are invented. */
export const compatVendors: Readonly<Record<string, Vendor>> = {
  // https://docs.together.ai/reference/chat-completions-1
  "together-ai": {
    thought: "reasoning",
    answer: { prompt: [] },
    choice: { seed: 7 },
    finish: "eos",
    usageIn: "finish",
    chunkChoice: { text: "At six.", seed: null },
    chunk: { usage: null },
    error: [{ id: "fx", error: { message: detail, type: "invalid_request_error", param: null } }, 422, detail],
  },
  // https://console.groq.com/docs/api-reference
  groq: {
    thought: "reasoning",
    answer: { x_groq: { id: "req_fx" }, usage_breakdown: null },
    usageIn: "x_groq",
    usage: { queue_time: 0.01, prompt_time: 0.02, completion_time: 0.03, total_time: 0.05 },
    error: [{ error: { message: detail, type: "invalid_request_error", code: "tool_use_failed" } }, 400, detail],
  },
  // https://api-docs.deepseek.com/api/create-chat-completion
  deepseek: {
    thought: "reasoning_content",
    finish: "insufficient_system_resource",
    usageIn: "finish",
    comment: ": keep-alive\n\n",
    usage: { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 3 },
    plainUsage: { prompt_tokens_details: { cached_tokens: 4 } },
  },
  // https://docs.x.ai/docs/api-reference
  "x-ai": {
    thought: "reasoning_content",
    answer: { citations: ["https://harbour.example"] },
    usageIn: "finish",
    usage: {
      completion_tokens: 1,
      num_sources_used: 1,
      prompt_tokens_details: { text_tokens: 7, audio_tokens: 0, image_tokens: 0, cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 },
    },
    plainUsage: {
      prompt_tokens_details: { audio_tokens: 0, cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 },
    },
    error: [{ code: "invalid_argument", error: detail }, 400, detail],
  },
  // https://docs.fireworks.ai/api-reference/post-chatcompletions
  "fireworks-ai": {
    thought: "reasoning_content",
    answer: { perf_metrics: { "server-ttft": 0.1 } },
    choice: { raw_output: null },
    chunk: { perf_metrics: null },
    usageIn: "finish",
    error: [{ fault: { faultstring: detail, detail: { errorcode: "x.y" } } }, 401, detail],
  },
  // https://inference-docs.cerebras.ai/api-reference/chat-completions
  cerebras: {
    thought: "reasoning",
    answer: { time_info: { queue_time: 0.1, created: 1 } },
    usageIn: "finish",
    error: [{ message: detail, type: "invalid_request_error", param: "x", code: "wrong_api_format" }, 400, detail],
  },
  // https://deepinfra.com/docs/openai_api
  deepinfra: {
    thought: "reasoning_content",
    usage: { estimated_cost: 0.00001 },
    comment: 'event: ping\ndata: {"a":1}\n\n',
    error: [{ detail: { error: detail } }, 404, `{"detail":{"error":"${detail}"}}`],
  },
  // https://www.alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api
  dashscope: {
    thought: "reasoning_content",
    chunk: { system_fingerprint: null },
    usage: { prompt_tokens_details: { cached_tokens: 2, cache_creation_input_tokens: 3, cache_type: "ephemeral" } },
    plainUsage: { prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 } },
    error: [{ error: { message: detail, type: "invalid_request_error", code: "x" }, request_id: "fx" }, 400, detail],
  },
  // https://docs.z.ai/api-reference/llm/chat-completion
  "z-ai": {
    thought: "reasoning_content",
    answer: { request_id: "fx" },
    finish: "network_error",
    usageIn: "finish",
    error: zhipuError,
  },
  // https://docs.bigmodel.cn/api-reference
  zhipu: {
    thought: "reasoning_content",
    usageIn: "finish",
    error: zhipuError,
    answer: { request_id: "fx", web_search: [{ title: "Harbour", link: "https://harbour.example" }] },
  },
  // https://platform.moonshot.ai/docs/api/chat
  moonshot: {
    thought: "reasoning_content",
    usageIn: "choice",
    usage: { cached_tokens: 5 },
    plainUsage: { prompt_tokens_details: { cached_tokens: 5 } },
  },
  // https://platform.minimax.io/docs/api-reference/text-post
  minimax: {
    thought: "reasoning_content",
    message: { name: "MiniMax AI", audio_content: "" },
    usageIn: "finish",
    answer: {
      input_sensitive: false,
      output_sensitive: false,
      input_sensitive_type: 0,
      output_sensitive_type: 0,
      base_resp: { status_code: 0, status_msg: "" },
    },
    usage: { total_characters: 0, completion_tokens_details: { reasoning_tokens: 2 } },
    plainUsage: { completion_tokens_details: { reasoning_tokens: 2 } },
    error: [{ base_resp: { status_code: 1008, status_msg: detail } }, 200, detail, 402],
  },
  // https://openrouter.ai/docs/api-reference/overview
  openrouter: {
    thought: "reasoning",
    comment: ": OPENROUTER PROCESSING\n\n",
    answer: { provider: "Harbour" },
    chunk: { provider: "Harbour" },
    choice: { native_finish_reason: "STOP" },
    chunkChoice: { native_finish_reason: null },
    delta: { reasoning_details: [] },
    message: { reasoning_details: [{ type: "reasoning.text", text: "Check hours.", signature: "fx" }] },
    usage: {
      cost: 0.001,
      is_byok: false,
      cost_details: { upstream_inference_cost: null },
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0, video_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2, image_tokens: 0 },
    },
    plainUsage: {
      prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    error: [{ error: { code: 402, message: detail, metadata: {} }, user_id: "fx" }, 402, detail],
  },
  // https://docs.byteplus.com/en/docs/ModelArk/1494384
  byteplus: {
    thought: "reasoning_content",
    answer: { service_tier: "default" },
    choice: { moderation_hit_type: null },
    usage: { prompt_tokens_details: { cached_tokens: 2 }, completion_tokens_details: { reasoning_tokens: 2 } },
    plainUsage: { prompt_tokens_details: { cached_tokens: 2 }, completion_tokens_details: { reasoning_tokens: 2 } },
  },
  // https://modal.com/docs/examples/vllm_inference
  modal: vllm,
  // https://docs.endpoints.anyscale.com/text-generation/query-a-model
  anyscale: { usageIn: "finish", error: [{ detail }, 400, detail] },
  // https://platform.lingyiwanwu.com/docs/api-reference
  lingyi: { usageIn: "finish", chunk: { content: "At six.", lastOne: false }, answer: { quota: 0 } },
  monsterapi: { choice: { stop_reason: null } },
  ncompass: vllm,
  // https://docs.perplexity.ai/api-reference/chat-completions-post
  "perplexity-ai": {
    ends: true,
    usageIn: "every",
    comment: ": ping\n\n",
    answer: { citations: ["https://harbour.example"], search_results: [{ title: "Harbour" }], images: [] },
    chunk: { citations: ["https://harbour.example"], search_results: [{ title: "Harbour" }] },
    chunkChoice: { message: { role: "assistant", content: "At six." } },
    usage: { citation_tokens: 3, num_search_queries: 1, reasoning_tokens: 2, search_context_size: "low" },
    plainUsage: { completion_tokens_details: { reasoning_tokens: 2 } },
  },
  // https://docs.sambanova.ai/cloud/api-reference/endpoints/chat
  sambanova: {
    thought: "reasoning",
    usage: { time_to_first_token: 0.1, completion_tokens_per_sec: 9, is_last_response: true },
    error: [{ error: { message: detail, type: "invalid_request_error" }, request_id: "fx" }, 400, detail],
  },
  "lemonfox-ai": plain,
  nscale: vllm,
  hyperbolic: sglang,
  "kluster-ai": vllm,
  // resellers forward what their upstreams report, Claude's counts among them
  cometapi: {
    thought: "reasoning_content",
    usage: { cache_read_input_tokens: 2, cache_creation_input_tokens: 3 },
    plainUsage: { prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 } },
  },
  matterai: plain,
  ovhcloud: vllm,
  aibadgr: plain,
  iointelligence: vllm,
  "inference-net": sglang,
  lambda: vllm,
  // https://docs.nebius.com/studio/inference/api
  nebius: { ...vllm, error: [{ detail: [{ loc: ["body", "x"], msg: "wrong", type: "t" }] }, 422, "body.x: wrong"] },
  nextbit: plain,
  // errors are plain text, not JSON
  krutrim: { error: ["<html>fixture: gone</html>", 502, "<html>fixture: gone</html>"] },
  "featherless-ai": vllm,
  // https://console.upstage.ai/api/chat
  upstage: {
    thought: "reasoning",
    usage: { completion_tokens_details: { reasoning_tokens: 2 } },
    plainUsage: { completion_tokens_details: { reasoning_tokens: 2 } },
  },
  // https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion
  "novita-ai": {
    ...sglang,
    choice: { content_filter_results: { hate: { filtered: false } } },
    chunkChoice: { content_filter_results: { hate: { filtered: false } } },
    error: [{ code: 400, reason: "INVALID_REQUEST_BODY", message: detail, metadata: {} }, 400, detail],
  },
  // https://docs.siliconflow.cn/en/api-reference/chat-completions/chat-completions
  siliconflow: {
    thought: "reasoning_content",
    usageIn: "every",
    usage: { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 3 },
    plainUsage: { prompt_tokens_details: { cached_tokens: 4 } },
    error: [{ code: 20_012, message: detail, data: null }, 400, detail],
  },
  "302ai": { thought: "reasoning_content", error: [{ error: { err_code: -1, message: detail } }, 401, detail] },
  deepbricks: plain,
  lepton: vllm,
  "lightning-ai": { thought: "reasoning_content", error: [{ detail }, 401, detail] },
  // https://llama.developer.meta.com/docs/features/compatibility
  meta: { error: [{ title: "Bad Request", detail, status: 400 }, 400, detail] },
  // https://docs.api.nvidia.com/nim/reference/llm-apis
  "nvidia-nim": { ...vllm, error: [{ status: 404, title: "Not Found", detail }, 404, detail] },
  // https://fal.ai/models/openrouter/router/openai/v1/chat/completions/api
  "fal-ai": {
    thought: "reasoning",
    answer: { provider: "Harbour" },
    chunk: { provider: "Harbour" },
    usage: { cost: 0.001 },
    error: [{ detail }, 401, detail],
  },
};

/** The providers with an entry above. */
export const compatProviders: readonly Provider[] = builtInProviders.filter(({ slug }) =>
  Object.hasOwn(compatVendors, slug),
);
