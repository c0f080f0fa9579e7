import * as v from "valibot";

const text = v.nullish(v.string());
const count = v.nullish(v.number());
const names = v.nullish(v.array(v.string()));

/** Prices in US dollars as text: per token, and per request or search. Of the shortest prompts, where the length matters. */
const Pricing = v.looseObject({
  prompt: text,
  completion: text,
  input_cache_read: text,
  input_cache_write: text,
  audio: text,
  request: text,
  web_search: text,
});

/** A model. Beyond `id`, what is not known is absent. */
export const Model = v.looseObject({
  id: v.string(),
  object: text,
  created: count,
  owned_by: text,
  name: text,
  context_length: count,
  top_provider: v.nullish(v.looseObject({ context_length: count, max_completion_tokens: count })),
  architecture: v.nullish(v.looseObject({ modality: text, input_modalities: names, output_modalities: names })),
  pricing: v.nullish(Pricing),
  supported_parameters: names,
  expiration_date: text,
  shutdown_date: text,
});

/** Response of `GET /models`. `provider` is set when the list came from one provider. */
export const ModelList = v.looseObject({
  object: text,
  data: v.array(v.looseObject({ id: v.string() })),
  provider: text,
});
export type ModelList = v.InferOutput<typeof ModelList>;

/** Response of `GET /models`, whose models may have what is known of them. */
export const DescribedModelList = v.looseObject({ object: text, data: v.array(Model), provider: text });

const support = v.looseObject({ supported: v.boolean() });

/** What a model of the Anthropic API can do. */
const Capabilities = v.looseObject({
  batch: support,
  citations: support,
  code_execution: support,
  context_management: support,
  effort: v.looseObject({
    supported: v.boolean(),
    low: support,
    medium: support,
    high: support,
    xhigh: v.nullable(support),
    max: support,
  }),
  image_input: support,
  pdf_input: support,
  server_tools: support,
  structured_outputs: support,
  thinking: v.looseObject({
    supported: v.boolean(),
    types: v.looseObject({ adaptive: support, between_tools: support, disabled: support, enabled: support }),
  }),
});

/** A model in the format of the Anthropic API (https://platform.claude.com/docs/en/api/models/list). */
export const MessagesModel = v.looseObject({
  type: v.literal("model"),
  id: v.string(),
  display_name: v.string(),
  description: text,
  created_at: v.string(),
  max_input_tokens: v.nullable(v.number()),
  max_tokens: v.nullable(v.number()),
  capabilities: v.nullable(Capabilities),
  lifecycle: v.picklist(["active", "deprecated", "retired"]),
  deprecated_at: v.nullable(v.string()),
  retires_at: v.nullable(v.string()),
  line: v.nullable(v.string()),
});
export type MessagesModel = v.InferOutput<typeof MessagesModel>;

/** Response of `GET /models` to clients of the Anthropic API. */
export const MessagesModelList = v.looseObject({
  data: v.array(MessagesModel),
  has_more: v.boolean(),
  first_id: v.nullable(v.string()),
  last_id: v.nullable(v.string()),
});

const ability = v.nullish(v.boolean());

/** A model in the format of LiteLLM (https://docs.litellm.ai/docs/proxy/model_management). */
const ModelInfo = v.looseObject({
  model_name: v.string(),
  litellm_params: v.looseObject({ model: v.string() }),
  model_info: v.looseObject({
    id: v.string(),
    key: v.string(),
    litellm_provider: v.string(),
    mode: text,
    max_tokens: count,
    max_input_tokens: count,
    max_output_tokens: count,
    input_cost_per_token: count,
    output_cost_per_token: count,
    cache_read_input_token_cost: count,
    cache_creation_input_token_cost: count,
    supports_function_calling: ability,
    supports_tool_choice: ability,
    supports_reasoning: ability,
    supports_response_schema: ability,
    supports_vision: ability,
    supports_pdf_input: ability,
    supports_audio_input: ability,
    supports_audio_output: ability,
    supports_video_input: ability,
    supported_openai_params: names,
    deprecation_date: text,
  }),
});
export type ModelInfo = v.InferOutput<typeof ModelInfo>;

/** Response of `GET /model/info`. */
export const ModelInfoList = v.looseObject({ data: v.array(ModelInfo) });
