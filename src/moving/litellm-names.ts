// Form: https://docs.litellm.ai/docs/providers, /docs/proxy/config_settings and /docs/completion/input

import { builtInProviders } from "../providers/registry.ts";
import type { Reasons } from "./draft.ts";

/** Our slugs of providers, by the prefix of `litellm_params.model`. Those with the same slug are left out. */
const slugs: Readonly<Record<string, string>> = {
  azure: "azure-openai",
  azure_text: "azure-openai",
  bedrock_converse: "bedrock",
  cohere_chat: "cohere",
  sagemaker_chat: "sagemaker",
  docker_model_runner: "openai",
  gemini: "google",
  hosted_vllm: "openai",
  infinity: "openai",
  jina_ai: "jina",
  litellm_proxy: "openai",
  llamafile: "openai",
  lm_studio: "openai",
  mistral: "mistral-ai",
  codestral: "mistral-ai",
  ollama_chat: "ollama",
  openai_like: "openai",
  custom_openai: "openai",
  perplexity: "perplexity-ai",
  "text-completion-openai": "openai",
  vertex_ai_beta: "vertex-ai",
  xai: "x-ai",
  novita: "novita-ai",
  lambda_ai: "lambda",
  zai: "z-ai",
  cloudflare: "workers-ai",
  snowflake: "cortex",
  xinference: "openai",
};

const builtIn = new Set(builtInProviders.map(({ slug }) => slug));

/** Our slug of a prefix; undefined for one of which nothing is known. */
export function slugOf(prefix: string): string | undefined {
  if (Object.hasOwn(slugs, prefix)) return slugs[prefix];
  const slug = prefix.replaceAll("_", "-");
  return builtIn.has(slug) ? slug : undefined;
}

/** Providers whose server runs at the address that the configuration names. */
export const needsNoKey = new Set([
  "docker_model_runner",
  "hosted_vllm",
  "infinity",
  "llamafile",
  "lm_studio",
  "ollama",
  "ollama_chat",
  "openai_like",
  "custom_openai",
  "xinference",
]);

/** Models without a prefix. */
export const bare: readonly [RegExp, string][] = [
  [/^(?:gpt|o\d|chatgpt|text-embedding|text-moderation|omni|whisper|tts|dall-e|ft:|davinci|babbage|sora)/, "openai"],
  [/^claude/, "anthropic"],
  [/^gemini/, "vertex_ai"],
  [/^(?:command|embed-|rerank)/, "cohere"],
  [/^deepseek/, "deepseek"],
  [/^mistral/, "mistral"],
  [/^(?:[a-z]{2}\.)?(?:anthropic|amazon|meta|cohere|mistral|ai21|stability)\./, "bedrock"],
];

/** Fields of requests that a deployment may state. */
export const requestFields: readonly string[] = (
  "temperature top_p top_k min_p max_tokens max_completion_tokens frequency_penalty presence_penalty repetition_penalty " +
  "seed stop n logprobs top_logprobs logit_bias user response_format tools tool_choice parallel_tool_calls functions " +
  "function_call reasoning reasoning_effort thinking verbosity modalities audio prediction service_tier store stream " +
  "stream_options web_search_options safety_identifier prompt_cache_key dimensions encoding_format input_type voice " +
  "response_format_type speed language size quality style truncate top_n safety_settings safe_prompt num_ctx keep_alive " +
  "num_predict provider models transforms chat_template_kwargs enable_thinking"
).split(" ");

/** Prices in dollars for a token, and what they are called in US cents. */
export const prices: Readonly<Record<string, string>> = {
  input_cost_per_token: "request_token",
  output_cost_per_token: "response_token",
  cache_read_input_token_cost: "cache_read_input_token",
  cache_creation_input_token_cost: "cache_write_input_token",
  input_cost_per_audio_token: "request_audio_token",
  output_cost_per_audio_token: "response_audio_token",
  input_cost_per_image_token: "request_image_token",
  output_cost_per_image_token: "response_image_token",
  output_cost_per_reasoning_token: "reasoning_token",
};

/** Strategies that choose by what they measure. */
export const choices: Readonly<Record<string, string>> = {
  "least-busy": "least_busy",
  "latency-based-routing": "lowest_latency",
  "cost-based-routing": "lowest_cost",
};

const spans = "send spans by OTLP: docs/observability.md";
const redis = "REDIS_URL: docs/configuration.md";
const keys = "set it on keys: docs/control-plane.md";
const signIn = "single sign-on: docs/single-sign-on.md";
const conditions = "conditions of a config on metadata: docs/routing.md";
const breakers = "circuit breakers of configs: docs/routing.md";
const logs = "what log rows hold: docs/logs.md";
const alerts = "alert rules: docs/observability.md, and alerts of budgets: docs/policies.md";
const health = "health checks of a load balancer: docs/routing.md";
const ownDatabase = "the gateway has its database: DATABASE_URL, docs/configuration.md";
const credentials = "give the integration another kind of credential: docs/providers.md";
const facts = "what models take is in a table: docs/model-facts.md";
const prompts = "save it as a prompt: docs/prompts.md";
const stores = "make vector stores: docs/vector-stores.md";
const rates = "rate limits of the provider: docs/policies.md";

/** What is said of names that are not read. */
export const reasons: Reasons = {
  left: {
    callbacks: spans,
    success_callback: spans,
    failure_callback: spans,
    service_callbacks: spans,
    callback_settings: spans,
    forward_traceparent_to_llm_provider: spans,
    guardrails: "save guardrails: docs/guardrails.md",
    policies: "save guardrails, and name them in configs: docs/guardrails.md",
    policy_attachments: "save guardrails, and name them in configs: docs/guardrails.md",
    prompts,
    prompt_id: prompts,
    vector_store_registry: stores,
    vector_store_ids: stores,
    files_settings: "files go to the provider that requests name: docs/batches.md",
    finetune_settings: "fine-tuning goes to the provider that requests name: docs/passthrough.md",
    assistant_settings: "assistants go to the provider that requests name: docs/passthrough.md",
    agent_list: "agents have no counterpart",
    search_tools: "web search of the gateway: docs/server-tools.md",
    pass_through_endpoints: "forwarded requests: docs/passthrough.md",
    use_in_pass_through: "forwarded requests name the provider: docs/passthrough.md",
    database_url: ownDatabase,
    database_connection_pool_limit: ownDatabase,
    database_connection_timeout: ownDatabase,
    redis_host: redis,
    redis_port: redis,
    redis_password: redis,
    redis_url: redis,
    redis_db: redis,
    host: redis,
    port: redis,
    password: redis,
    namespace: "the cache is one for each workspace; requests may name a part of it: docs/cache.md",
    supported_call_types: "set cache in the configs of those models alone: docs/cache.md",
    similarity_threshold: "threshold of semantic_cache: docs/semantic-cache.md",
    json_logs: "LOG_FORMAT=json: docs/configuration.md",
    alerting: alerts,
    alerting_threshold: alerts,
    alerting_args: alerts,
    alert_types: alerts,
    alert_to_webhook_url: alerts,
    allowed_fails_policy: breakers,
    cooldown_time: breakers,
    retry_policy: "retry.on_status_codes of a config: docs/routing.md",
    model_group_retry_policy: "retry.on_status_codes of a config: docs/routing.md",
    enable_tag_filtering: conditions,
    tag_filtering_match_any: conditions,
    tag_regex: conditions,
    tpm: rates,
    rpm: rates,
    retry_after: "retries wait longer each time: docs/routing.md",
    cache_responses: "cache of configs: docs/cache.md",
    custom_provider_map: "a provider of an integration with another address: docs/providers.md",
    websearch_interception_params: "web search of the gateway: docs/server-tools.md",
    mcp_semantic_tool_filter: "tools that are searched for: docs/mcp.md",
    coordination_redis: redis,
    use_redis_transaction_buffer: redis,
    otel: spans,
    disable_prisma_schema_update: ownDatabase,
    s3_bucket_name: "files of batches: docs/batches.md",
    s3_region_name: "files of batches: docs/batches.md",
    s3_access_key_id: "files of batches: docs/batches.md",
    s3_secret_access_key: "files of batches: docs/batches.md",
    aws_batch_role_arn: "files of batches: docs/batches.md",
    region_name: "labels of integrations choose by region: docs/routing.md",
    hidden: "lists of models have every alias that the key may use: docs/model-aliases.md",
    provider_budget_config: "budgets of providers: docs/policies.md",
    max_parallel_requests: rates,
    default_max_parallel_requests: rates,
    global_max_parallel_requests: rates,
    max_budget: "budgets of providers, keys and workspaces: docs/policies.md",
    budget_duration: "budgets reset by days: docs/policies.md",
    max_end_user_budget: "a usage limit policy by metadata: docs/policies.md",
    upperbound_key_generate_params: keys,
    default_internal_user_params: keys,
    default_team_settings: keys,
    key_generation_settings: keys,
    health_check_model: health,
    background_health_checks: health,
    health_check_interval: health,
    turn_off_message_logging: logs,
    store_prompts_in_spend_logs: logs,
    maximum_spend_logs_retention_period: logs,
    redact_user_api_key_info: logs,
    enable_jwt_auth: signIn,
    litellm_jwtauth: signIn,
    custom_sso: signIn,
    ui_access_mode: signIn,
    custom_auth: "keys, and tokens of an identity provider: docs/single-sign-on.md",
    key_management_system: "secret references: docs/control-plane.md",
    key_management_settings: "secret references: docs/control-plane.md",
    mock_response: "the provider echo answers without a call: docs/providers.md",
    merge_reasoning_content_in_choices: "responses have reasoning apart from the text: docs/chat.md",
    configurable_clientside_auth_params: "requests with a credential: docs/control-plane.md",
    azure_username: credentials,
    azure_password: credentials,
    aws_profile_name: credentials,
    aws_web_identity_token: credentials,
    aws_sts_endpoint: credentials,
    forward_client_headers_to_llm_api: "forward_headers of a config: docs/routing.md",
    user_header_name: "metadata of the request: docs/control-plane.md",
    default_litellm_params: "default_params of configs: docs/routing.md",
    supports_assistant_prefill: facts,
  },
  made: {
    drop_params: "fields that a model does not take are left out: docs/model-facts.md",
    enable_pre_call_checks: "models that lack what a request needs are skipped: docs/routing.md",
    store_model_in_db: "models are in the database always",
    set_verbose: "LOG_LEVEL says how much the process prints: docs/configuration.md",
    debug_level: "LOG_LEVEL says how much the process prints: docs/configuration.md",
    mode: "every endpoint takes every model",
    modify_params: "requests are made to fit the model: docs/model-facts.md",
    supports_function_calling: facts,
    supports_tool_choice: facts,
    supports_parallel_function_calling: facts,
    supports_system_messages: facts,
    supports_prompt_caching: facts,
    supports_response_schema: facts,
    supports_native_streaming: facts,
  },
};
