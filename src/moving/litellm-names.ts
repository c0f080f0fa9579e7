// Form: https://docs.litellm.ai/docs/providers and /docs/proxy/config_settings

/** Our slugs of providers, by the prefix of `litellm_params.model`. Those with the same slug are left out. */
export const slugs: Readonly<Record<string, string>> = {
  azure: "azure-openai",
  azure_ai: "azure-ai",
  azure_text: "azure-openai",
  cohere_chat: "cohere",
  fireworks_ai: "fireworks-ai",
  gemini: "google",
  github: "github",
  hosted_vllm: "openai",
  jina_ai: "jina",
  litellm_proxy: "openai",
  lm_studio: "openai",
  mistral: "mistral-ai",
  nvidia_nim: "nvidia-nim",
  ollama_chat: "ollama",
  openai_like: "openai",
  custom_openai: "openai",
  perplexity: "perplexity-ai",
  "text-completion-openai": "openai",
  together_ai: "together-ai",
  vertex_ai: "vertex-ai",
  vertex_ai_beta: "vertex-ai",
  xai: "x-ai",
  novita: "novita-ai",
  lambda_ai: "lambda",
  zai: "z-ai",
  cloudflare: "workers-ai",
  snowflake: "cortex",
};

/** Providers whose server runs at the address that the configuration names. */
export const needsNoKey = new Set([
  "hosted_vllm",
  "lm_studio",
  "ollama",
  "ollama_chat",
  "openai_like",
  "custom_openai",
]);

/** Models without a prefix. */
export const bare: readonly [RegExp, string][] = [
  [/^(?:gpt|o\d|chatgpt|text-embedding|text-moderation|omni|whisper|tts|dall-e|ft:|davinci|babbage|sora)/, "openai"],
  [/^claude/, "anthropic"],
  [/^gemini/, "vertex_ai"],
  [/^(?:command|embed-|rerank)/, "cohere"],
  [/^deepseek/, "deepseek"],
  [/^mistral/, "mistral"],
];

/** Parameters of a deployment that say where it is, how it is reached and how it is chosen. */
const placeParams = new Set(
  (
    "model api_key api_base base_url api_version organization custom_llm_provider weight order rpm " +
    "tpm timeout stream_timeout max_retries num_retries tags region_name extra_headers " +
    "input_cost_per_token output_cost_per_token mock_response drop_params use_in_pass_through " +
    "azure_ad_token tenant_id client_id client_secret configurable_clientside_auth_params " +
    "merge_reasoning_content_in_choices"
  ).split(" "),
);
export const isPlace = (name: string): boolean =>
  placeParams.has(name) || /^(?:aws|vertex|litellm|max_parallel|cooldown|s3|watsonx)_/.test(name);

/** Prefixes that are our slugs. */
export const knownSlugs = new Set(
  (
    "openai anthropic bedrock cohere groq deepseek openrouter ollama replicate huggingface databricks " +
    "deepinfra cerebras sambanova voyage sagemaker ai21 anyscale predibase triton moonshot dashscope " +
    "hyperbolic nebius nscale minimax deepgram elevenlabs meta"
  ).split(" "),
);

/** Settings that were read. */
export const carried = new Set(
  (
    "fallbacks default_fallbacks num_retries timeout request_timeout cache cache_params master_key " +
    "model_group_alias model_alias_map routing_strategy max_budget budget_duration drop_params " +
    "set_verbose json_logs"
  ).split(" "),
);

/** Settings without a counterpart, and what to do instead. */
export const unmoved: Readonly<Record<string, string>> = {
  callbacks: "send spans by OTLP: docs/observability.md",
  success_callback: "send spans by OTLP: docs/observability.md",
  failure_callback: "send spans by OTLP: docs/observability.md",
  guardrails: "save guardrails: docs/guardrails.md",
  context_window_fallbacks: "a fallback with on_error_codes: docs/routing.md",
  content_policy_fallbacks: "a fallback with on_error_codes: docs/routing.md",
  database_url: "the gateway has its database: DATABASE_URL, docs/configuration.md",
  redis_host: "REDIS_URL: docs/configuration.md",
  redis_port: "REDIS_URL: docs/configuration.md",
  redis_password: "REDIS_URL: docs/configuration.md",
  alerting: "alerts of budgets: docs/policies.md",
  pass_through_endpoints: "forwarded requests: docs/passthrough.md",
  store_model_in_db: "models are in the database always",
  allowed_fails: "circuit breakers of configs: docs/routing.md",
  cooldown_time: "circuit breakers of configs: docs/routing.md",
};
