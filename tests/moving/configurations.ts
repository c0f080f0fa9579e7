// Configurations of other gateways with the features of public ones. No secret is real.

import { moveBifrost } from "../../src/moving/bifrost.ts";
import type { Moved } from "../../src/moving/draft.ts";
import { moveLitellm } from "../../src/moving/litellm.ts";
import { moveEnvironment, moveOpenrouter } from "../../src/moving/openrouter.ts";
import { movePortkey } from "../../src/moving/portkey.ts";
import { readTable } from "../../src/moving/table.ts";

/** A configuration, and what must become of it. */
export interface Configuration {
  readonly name: string;
  /** YAML or JSON. */
  readonly text: string;
  move(value: unknown): Moved;
  /** Names of models that clients use, each with the host and model that it must reach. */
  readonly reaches: Readonly<Record<string, readonly [host: string, model: string]>>;
  /** What clients send besides. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Parts that cannot be carried over. */
  readonly left: readonly string[];
}

const litellm = (value: unknown) => moveLitellm(value, "default");
const bifrost = (value: unknown) => moveBifrost(value, "default");
const portkey = (value: unknown) => movePortkey(value, "default");

const keyTable = `token,key_name,key_alias,spend,max_budget,budget_duration,models,rpm_limit,expires,blocked
88dc28d0f030c55ed4ab77ed8faf098196cb1c05,sk-...AbCd,team-search,3.25,10,,{},60,2099-01-01 00:00:00+00,f
99dc28d0f030c55ed4ab77ed8faf098196cb1c05,sk-...EfGh,"team, ""chat""",1,50,30d,"{gpt-4o,claude}",,,f
aadc28d0f030c55ed4ab77ed8faf098196cb1c05,sk-...IjKl,spent,10,10,,{},,,f
`;

export const configurations: readonly Configuration[] = [
  {
    name: "LiteLLM, two models with variables",
    text: `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
  - model_name: claude-sonnet
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_key: os.environ/ANTHROPIC_API_KEY
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY }
`,
    move: litellm,
    reaches: {
      "gpt-4o": ["api.openai.com", "gpt-4o"],
      "claude-sonnet": ["api.anthropic.com", "claude-sonnet-4-5"],
    },
    left: [],
  },
  {
    name: "LiteLLM, a pool on Azure with fallbacks",
    text: `
model_list:
  - model_name: gpt-4
    litellm_params: { model: azure/gpt-4-eu, api_base: https://contoso-eu.openai.azure.com/, api_key: os.environ/AZURE_EU, api_version: "2024-10-21", rpm: 6 }
    model_info: { base_model: azure/gpt-4 }
  - model_name: gpt-4
    litellm_params: { model: azure/gpt-4-eu-2, api_base: https://contoso-eu.openai.azure.com/, api_key: os.environ/AZURE_EU, api_version: "2024-10-21", rpm: 6 }
  - model_name: cheap
    litellm_params: { model: gpt-4o-mini, api_key: os.environ/OPENAI_API_KEY, temperature: 0.2, max_tokens: 100 }
router_settings:
  routing_strategy: usage-based-routing-v2
  num_retries: 2
  timeout: 30
  fallbacks: [{ gpt-4: [cheap] }]
  redis_host: os.environ/REDIS_HOST
`,
    move: litellm,
    reaches: { "gpt-4": ["contoso-eu.openai.azure.com", "gpt-4-eu"], cheap: ["api.openai.com", "gpt-4o-mini"] },
    left: ["router_settings.redis_host"],
  },
  {
    name: "LiteLLM, servers of the operator",
    text: `
model_list:
  - model_name: llama
    litellm_params: { model: hosted_vllm/meta-llama/Llama-3.3-70B-Instruct, api_base: https://vllm.example.com/v1 }
  - model_name: local/qwen
    litellm_params: { model: ollama_chat/qwen3, api_base: "https://ollama.example.com" }
  - model_name: custom
    litellm_params: { model: my-finetune, api_base: https://models.example.com/v1, api_key: sk-an-obvious-fake-0123456789 }
`,
    move: litellm,
    reaches: {
      llama: ["vllm.example.com", "meta-llama/Llama-3.3-70B-Instruct"],
      "local/qwen": ["ollama.example.com", "qwen3"],
      custom: ["models.example.com", "my-finetune"],
    },
    left: [],
  },
  {
    name: "LiteLLM, groups, cache, budget and Bedrock",
    text: `
model_list:
  - model_name: claude
    litellm_params: { model: bedrock/anthropic.claude-3-5-haiku-20241022-v1:0, aws_access_key_id: os.environ/AWS_ID, aws_secret_access_key: os.environ/AWS_SECRET, aws_region_name: eu-central-1 }
  - model_name: gemini-flash
    litellm_params: { model: gemini/gemini-2.5-flash, api_key: os.environ/GEMINI_API_KEY }
  - model_name: groq-llama
    litellm_params: { model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_API_KEY }
litellm_settings: { drop_params: true, num_retries: 9, cache: true, cache_params: { type: redis, ttl: 120 }, max_budget: 100, budget_duration: 30d, success_callback: [langfuse] }
router_settings: { model_group_alias: { haiku: claude, hidden: { model: groq-llama, hidden: true } } }
`,
    move: litellm,
    reaches: {
      claude: ["bedrock-runtime.eu-central-1.amazonaws.com", "anthropic.claude-3-5-haiku-20241022-v1"],
      haiku: ["bedrock-runtime.eu-central-1.amazonaws.com", "anthropic.claude-3-5-haiku-20241022-v1"],
      "gemini-flash": ["generativelanguage.googleapis.com", "gemini-2.5-flash"],
      "groq-llama": ["api.groq.com", "llama-3.3-70b-versatile"],
      hidden: ["api.groq.com", "llama-3.3-70b-versatile"],
    },
    left: ["litellm_settings.success_callback", "router_settings.model_group_alias.hidden.hidden"],
  },
  {
    name: "LiteLLM, wildcards, prices, guardrails and tools",
    text: `
model_list:
  - model_name: "openai/*"
    litellm_params: { model: "openai/*", api_key: os.environ/OPENAI_API_KEY }
  - model_name: deepseek-chat
    litellm_params: { model: deepseek/deepseek-chat, api_key: os.environ/DEEPSEEK_API_KEY, input_cost_per_token: 0.00000027 }
    model_info: { output_cost_per_token: 1.1e-06 }
  - model_name: "or/claude"
    litellm_params: { model: openrouter/anthropic/claude-sonnet-4.5, api_key: os.environ/OPENROUTER_API_KEY }
  - model_name: odd
    litellm_params: { model: nobody/knows }
guardrails: [{ guardrail_name: pii, litellm_params: { guardrail: presidio, mode: pre_call } }]
mcp_servers: { deepwiki: { url: https://mcp.example.com/mcp } }
`,
    move: litellm,
    reaches: {
      "deepseek-chat": ["api.deepseek.com", "deepseek-chat"],
      "or/claude": ["openrouter.ai", "anthropic/claude-sonnet-4.5"],
    },
    left: ["model_list.3 odd", "guardrails"],
  },
  {
    name: "LiteLLM, virtual keys of an export",
    text: `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: gpt-4o, api_key: os.environ/OPENAI_API_KEY }
  - model_name: spare
    litellm_params: { model: mistral/mistral-small-latest, api_key: os.environ/MISTRAL_API_KEY }
litellm_settings: { default_fallbacks: [spare] }
general_settings: { master_key: sk-1234, database_url: os.environ/DATABASE_URL }
`,
    move: (value) => moveLitellm(value, "default", { keys: readTable(keyTable, () => undefined) }),
    reaches: { "gpt-4o": ["api.openai.com", "gpt-4o"], spare: ["api.mistral.ai", "mistral-small-latest"] },
    left: ["general_settings.master_key", "general_settings.database_url", "keys.2 spent"],
  },
  {
    name: "LiteLLM, shared credentials and settings of deployments",
    text: `
credential_list:
  - credential_name: eu
    credential_values: { api_key: os.environ/AZURE_EU, api_base: "https://contoso-eu.openai.azure.com/", api_version: "2024-10-21" }
    credential_info: { description: Europe, custom_llm_provider: azure }
  - credential_name: unused
    credential_values: { api_key: os.environ/UNUSED }
    credential_info: {}
model_list:
  - model_name: gpt-4
    litellm_params: { model: azure/gpt-4-eu, litellm_credential_name: eu, order: 1, timeout: 20, stream_timeout: 5, max_retries: 2, tags: [paid] }
    model_info: { id: one, mode: chat, base_model: azure/gpt-4, access_groups: [beta], supports_vision: true, max_input_tokens: 8192, max_output_tokens: 4096 }
  - model_name: gpt-4
    litellm_params: { model: gpt-4, api_key: os.environ/OPENAI_API_KEY, organization: [org-1, org-2], order: 2, tags: [paid, spare], max_budget: 10, budget_duration: 1d, additional_drop_params: [user] }
    model_info: { health_check_model: gpt-4o-mini, cache_read_input_token_cost: 1e-6 }
  - model_name: bare
    litellm_params: { model: own-deployment, litellm_credential_name: eu, use_in_pass_through: true, mock_response: hi, merge_reasoning_content_in_choices: true }
  - model_name: lost
    litellm_params: { model: mistral/mistral-small-latest, litellm_credential_name: nobody, extra_body: { safe_prompt: true }, num_ctx: 10, unheard_of: 1 }
assistant_settings: {}
files_settings: [{ custom_llm_provider: openai }]
`,
    move: litellm,
    reaches: {
      "gpt-4": ["contoso-eu.openai.azure.com", "gpt-4-eu"],
      bare: ["contoso-eu.openai.azure.com", "own-deployment"],
      lost: ["api.mistral.ai", "mistral-small-latest"],
    },
    left: [
      "assistant_settings",
      "credential_list.1.credential_info",
      "credential_list.1.credential_values",
      "files_settings",
      "model_list.1.model_info.health_check_model",
      "model_list.2.litellm_params.merge_reasoning_content_in_choices",
      "model_list.2.litellm_params.mock_response",
      "model_list.2.litellm_params.use_in_pass_through",
      "model_list.3.litellm_params.litellm_credential_name",
      "model_list.3.litellm_params.unheard_of",
    ],
  },
  {
    name: "LiteLLM, a router that measures, and fallbacks by kind of failure",
    text: `
model_list:
  - model_name: chat
    litellm_params: { model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_API_KEY }
  - model_name: chat
    litellm_params: { model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_SPARE }
  - model_name: long
    litellm_params: { model: gemini/gemini-2.5-pro, api_key: os.environ/GEMINI_API_KEY }
  - model_name: variable
    litellm_params: { model: azure/gpt-4o, api_key: os.environ/AZURE_API_KEY, api_base: os.environ/AZURE_API_BASE, api_version: os.environ/AZURE_API_VERSION }
  - model_name: edge
    litellm_params: { model: cloudflare/@cf/meta/llama-3.3-70b-instruct-fp8-fast, api_key: os.environ/CLOUDFLARE_API_TOKEN }
  - model_name: relayed
    litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY, api_base: "https://relay.example.com" }
  - model_name: converse
    litellm_params: { model: bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1:0, aws_region_name: us-east-1, tpm: 20_000 }
  - model_name: vertex
    litellm_params: { model: vertex_ai/gemini-2.5-pro, vertex_project: my-project, vertex_location: global }
  - model_name: chosen
    litellm_params: { model: auto_router/complexity_router }
  - model_name: video
    litellm_params: { model: my-handler/video }
    model_info: { input_cost_per_second: 0.07 }
router_settings:
  routing_strategy: latency-based-routing
  num_retries: 6
  retry_after: 1
  allowed_fails: 1
  cooldown_time: 15
  timeout: 35
  stream_timeout: 90
  enable_pre_call_checks: true
  context_window_fallbacks: [{ chat: [long] }, { gone: [long] }]
  content_policy_fallbacks: [{ chat: [relayed] }]
litellm_settings:
  json_logs: true
  cache: true
  cache_params: { type: redis, host: os.environ/REDIS_HOST, ttl: 18000, namespace: n, supported_call_types: [acompletion], similarity_threshold: 0.8 }
  custom_provider_map: [{ provider: my-handler, custom_handler: handler.mine }]
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, database_url: null, custom_auth: auth.check }
mcp_servers:
  deepwiki: { url: https://mcp.example.com/mcp, auth_type: bearer_token, auth_value: an-obvious-fake-token, description: pages }
  files: { transport: stdio, command: npx }
environment_variables: { LANGFUSE_HOST: https://traces.example.com }
`,
    move: litellm,
    reaches: {
      chat: ["api.groq.com", "llama-3.3-70b-versatile"],
      long: ["generativelanguage.googleapis.com", "gemini-2.5-pro"],
      edge: ["api.cloudflare.com", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"],
      variable: ["contoso.openai.azure.com", "gpt-4o"],
      relayed: ["relay.example.com", "/v1/messages"],
      converse: ["bedrock-runtime.us-east-1.amazonaws.com", "/model/us.anthropic.claude-haiku-4-5-20251001-v1"],
      vertex: ["oauth2.googleapis.com", "/token"], // of the service account
    },
    left: [
      "general_settings.custom_auth",
      "litellm_settings.cache_params.host",
      "litellm_settings.cache_params.namespace",
      "litellm_settings.cache_params.similarity_threshold",
      "litellm_settings.cache_params.supported_call_types",
      "litellm_settings.custom_provider_map",
      "litellm_settings.json_logs",
      "mcp_servers.files files",
      "model_list.8 chosen",
      "model_list.9 video",
      "router_settings.context_window_fallbacks.1.gone",
      "router_settings.retry_after",
    ],
  },
  {
    name: "LiteLLM, names by pattern",
    text: `
model_list:
  - model_name: "claude-*"
    litellm_params: { model: "anthropic/claude-*", api_key: os.environ/ANTHROPIC_API_KEY }
  - model_name: "*"
    litellm_params: { model: "openai/*", api_key: os.environ/OPENAI_API_KEY }
  - model_name: "groq/*"
    litellm_params: { model: "groq/*", api_key: os.environ/GROQ_API_KEY }
  - model_name: "azure/*"
    litellm_params: { model: "azure/*", api_key: os.environ/AZURE_API_KEY, api_base: "https://contoso.openai.azure.com" }
litellm_settings: { cache: true, cache_params: { type: local, mode: default_off } }
`,
    move: litellm,
    reaches: {
      "claude-sonnet-4-5": ["api.anthropic.com", "claude-sonnet-4-5"],
      "gpt-4o": ["api.openai.com", "gpt-4o"],
    },
    left: ["model_list.3 azure/*"],
  },
  {
    name: "Bifrost, keys with weights and governance",
    text: JSON.stringify({
      $schema: "https://www.getbifrost.ai/schema",
      providers: {
        openai: {
          keys: [
            { name: "a", value: "env.OPENAI_A", models: ["gpt-4o", "gpt-4o-mini"], weight: 0.7 },
            { name: "b", value: "env.OPENAI_B", models: ["gpt-4o"], weight: 0.3 },
          ],
          network_config: { default_request_timeout_in_seconds: 30, max_retries: 1 },
        },
        anthropic: { keys: [{ name: "c", value: "env.ANTHROPIC_API_KEY", models: ["claude-sonnet-4-5"], weight: 1 }] },
      },
      governance: {
        virtual_keys: [
          {
            id: "vk-1",
            name: "Team",
            value: "sk-bf-an-obvious-fake-0123456789",
            budget_id: "b1",
            rate_limit_id: "r1",
            is_active: true,
          },
        ],
        budgets: [{ id: "b1", max_limit: 50, reset_duration: "1M" }],
        rate_limits: [
          {
            id: "r1",
            request_max_limit: 100,
            request_reset_duration: "1m",
            token_max_limit: 5000,
            token_reset_duration: "30s",
          },
        ],
        routing_rules: [],
      },
      client: { enable_logging: true },
    }),
    move: bifrost,
    reaches: {
      "openai/gpt-4o": ["api.openai.com", "gpt-4o"],
      "openai/gpt-4o-mini": ["api.openai.com", "gpt-4o-mini"],
      "anthropic/claude-sonnet-4-5": ["api.anthropic.com", "claude-sonnet-4-5"],
    },
    left: ["client", "governance.routing_rules", "key Team: tokens"],
  },
  {
    name: "Bifrost, Azure, a server of the operator and MCP",
    text: JSON.stringify({
      providers: {
        azure: {
          keys: [
            {
              name: "eu",
              value: "env.AZURE_EU",
              models: ["gpt-4o"],
              azure_key_config: {
                endpoint: "https://contoso-eu.openai.azure.com",
                api_version: "2024-10-21",
                deployments: { "gpt-4o": "gpt-4o-eu" },
              },
            },
          ],
        },
        vllm: {
          keys: [{ value: "env.VLLM_KEY", models: ["qwen3"] }],
          network_config: { base_url: "https://vllm.example.com/v1" },
        },
        groq: { keys: [{ value: "env.GROQ_API_KEY", models: ["*"], aliases: { fast: "llama-3.3-70b-versatile" } }] },
      },
      mcp: {
        client_configs: [
          { name: "Files", connection_type: "stdio", stdio_config: { command: "npx" } },
          {
            name: "Wiki",
            connection_type: "http",
            connection_string: "https://mcp.example.com/mcp",
            headers: { Authorization: "env.WIKI_TOKEN" },
          },
        ],
      },
    }),
    move: bifrost,
    reaches: {
      "azure/gpt-4o": ["contoso-eu.openai.azure.com", "gpt-4o-eu"],
      "vllm/qwen3": ["vllm.example.com", "qwen3"],
      "groq/fast": ["api.groq.com", "llama-3.3-70b-versatile"],
    },
    left: ["mcp.client_configs.0 Files"],
  },
  {
    name: "Bifrost, keys of many providers and restricted virtual keys",
    text: JSON.stringify({
      providers: {
        azure: {
          keys: [
            {
              id: "us",
              name: "us",
              value: "env.AZURE_US",
              models: ["*"],
              use_for_batch_api: true,
              azure_key_config: { endpoint: "env.AZURE_ENDPOINT", deployments: { "gpt-4.1": "gpt-4.1-us" } },
            },
          ],
        },
        bedrock_mantle: {
          keys: [
            {
              name: "m",
              models: ["claude-haiku-4-5"],
              bedrock_mantle_key_config: {
                access_key: "env.AWS_ID",
                secret_key: "env.AWS_SECRET",
                region: "env.AWS_REGION",
              },
            },
          ],
        },
        openai: { keys: [{ name: "o", value: "env.OPENAI_API_KEY", models: ["gpt-4o"], blacklisted_models: ["o1"] }] },
        house: {
          custom_provider_config: { base_provider_type: "openai" },
          network_config: { base_url: "https://house.example.com", retry_backoff_initial: 500 },
          keys: [{ name: "h", value: "env.HOUSE_KEY", models: ["own"] }],
        },
        runway: { keys: [{ name: "r", value: "env.RUNWAY_API_KEY" }] },
      },
      governance: {
        auth_config: { admin_password: "env.ADMIN_PASSWORD" },
        virtual_keys: [
          {
            id: "vk-1",
            name: "portal",
            description: "Portal",
            value: "env.BIFROST_VK",
            is_active: true,
            provider_configs: [{ provider: "openai", allowed_models: ["*"], key_ids: ["*"], weight: 1 }],
            mcp_configs: [{ mcp_client_name: "Weather", tools_to_execute: ["*"] }],
          },
          { id: "vk-2", name: "retired", value: "env.BIFROST_OLD", is_active: false },
        ],
      },
      mcp: {
        client_configs: [
          {
            id: "w",
            name: "Weather",
            connection_type: "http",
            http_url: "https://mcp.example.com/mcp",
            is_enabled: true,
          },
        ],
      },
      plugins: [{ name: "governance", enabled: true }],
      config_store: { enabled: false },
    }),
    move: bifrost,
    reaches: {
      "azure/gpt-4.1": ["contoso.openai.azure.com", "gpt-4.1-us"],
      "openai/gpt-4o": ["api.openai.com", "gpt-4o"],
      "house/own": ["house.example.com", "/v1/chat/completions"],
      "bedrock_mantle/claude-haiku-4-5": ["bedrock-mantle.eu-central-1.api.aws", "claude-haiku-4-5"],
    },
    left: [
      "governance.auth_config",
      "governance.virtual_keys.0.mcp_configs",
      "governance.virtual_keys.0.provider_configs.0.weight",
      "governance.virtual_keys.1 retired",
      "plugins",
      "providers.azure.keys.0.use_for_batch_api",
      "providers.house.network_config.retry_backoff_initial",
      "providers.openai.keys.0.blacklisted_models",
      "providers.runway",
    ],
  },
  {
    name: "Portkey, virtual keys and configs",
    text: JSON.stringify({
      virtual_keys: {
        object: "list",
        total: 2,
        data: [
          {
            slug: "main-258f4d",
            name: "Main",
            ai_provider_name: "openai",
            note: "shared",
            usage_limits: { credit_limit: 10, periodic_reset: "monthly", alert_threshold: 8 },
            rate_limits: [{ type: "requests", unit: "rpd", value: 123 }],
            status: "active",
            model_config: {},
            expires_at: null,
          },
          {
            slug: "claude-1",
            name: "Claude",
            ai_provider_name: "anthropic",
            model_config: {},
            usage_limits: null,
            rate_limits: null,
          },
        ],
      },
      configs: {
        data: [
          {
            slug: "pc-main-1a2b3c",
            name: "Main",
            is_default: 1,
            config:
              '{"retry":{"attempts":3},"strategy":{"mode":"fallback"},"targets":[{"virtual_key":"main-258f4d"},{"virtual_key":"claude-1","override_params":{"model":"claude-sonnet-4-5"}}]}',
          },
          { slug: "pc-empty-1a2b3c", name: "Without its content" },
          {
            slug: "pc-inline-1a2b3c",
            name: "With a credential, and a member that nobody reads",
            config: { provider: "openai", api_key: "sk-an-obvious-fake-0123456789", base_url: "https://example.com" },
          },
          { slug: "pc-broken-1a2b3c", name: "Of another form", config: { strategy: "fallback", targets: [] } },
        ],
      },
      feedback: [],
    }),
    move: portkey,
    reaches: {
      "gpt-4o": ["api.openai.com", "gpt-4o"],
    },
    headers: { "x-portkey-config": "pc-main-1a2b3c" },
    left: [
      "config pc-empty-1a2b3c",
      "configs.data.2 pc-inline-1a2b3c: base_url",
      "configs.data.3 pc-broken-1a2b3c",
      "feedback",
    ],
  },
  {
    name: "Portkey, integrations, prompts and keys",
    text: JSON.stringify({
      integrations: {
        data: [{ slug: "groq-main", name: "Groq", ai_provider_id: "groq", configurations: { masked_key: "gs***" } }],
      },
      providers: { data: [{ slug: "fast", name: "Fast", integration_id: "groq-main" }] },
      prompts: {
        data: [
          {
            slug: "pp-hello-1a2b3c",
            name: "Hello",
            string: "Hello {{name}}",
            parameters: { max_tokens: 10 },
            model: "llama-3.3-70b-versatile",
            virtual_key: "fast",
          },
          { slug: "pp-list-only" },
        ],
      },
      api_keys: {
        data: [
          { name: "Website", type: "workspace-service", rate_limits: [{ type: "requests", unit: "rpm", value: 60 }] },
        ],
      },
    }),
    move: portkey,
    reaches: { "@fast/llama-3.3-70b-versatile": ["api.groq.com", "llama-3.3-70b-versatile"] },
    left: ["prompt pp-list-only"],
  },
  {
    name: "OpenRouter, keys with limits",
    text: JSON.stringify({
      data: [
        {
          hash: "f01d52606dc8f0a8",
          name: "Production",
          limit: 100,
          limit_remaining: 74.5,
          limit_reset: "monthly",
          disabled: false,
        },
        { hash: "a01d52606dc8f0a8", name: "Trial", limit: 5, limit_remaining: 2.5, limit_reset: null, disabled: false },
        { hash: "b01d52606dc8f0a8", name: "Old", disabled: true },
      ],
    }),
    move: (value) => moveOpenrouter(value, "default"),
    reaches: {
      "anthropic/claude-sonnet-4.5": ["openrouter.ai", "anthropic/claude-sonnet-4.5"],
      "openai/gpt-4o:nitro": ["openrouter.ai", "openai/gpt-4o:nitro"],
    },
    left: ["data.2 Old", "presets"],
  },
  {
    name: "the environment of a program",
    text: "{}",
    move: () =>
      moveEnvironment(
        {
          OPENAI_API_KEY: "an-obvious-fake",
          OPENAI_BASE_URL: "https://models.example.com/v1",
          GROQ_API_KEY: "another",
        },
        "default",
      ),
    reaches: {
      "gpt-4o": ["models.example.com", "gpt-4o"],
    },
    left: [],
  },
];
