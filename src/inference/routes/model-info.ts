import type { KeyAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import { defineKeyEndpoint, type Endpoint } from "../../endpoint.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { PriceTiers, TokenKind } from "../../pricing/prices.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { type ModelInfo, ModelInfoList } from "../../schemas/models.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { namesProvider } from "../target/target.ts";
import { isChat, type ListedModel, supportedParameters, takesSchemas, tokenPricesOf } from "./listed-model.ts";
import { listOwnModels } from "./model-lists.ts";

const readAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] };

/** LiteLLM's names of prices per token. */
const priceNames: readonly (readonly [name: string, kind: TokenKind])[] = [
  ["input_cost_per_token", "request_token"],
  ["output_cost_per_token", "response_token"],
  ["cache_read_input_token_cost", "cache_read_input_token"],
  ["cache_creation_input_token_cost", "cache_write_input_token"],
  ["input_cost_per_audio_token", "request_audio_token"],
  ["output_cost_per_audio_token", "response_audio_token"],
];

/** Prices by LiteLLM's names, those of long prompts with the length above which they hold. */
function toCosts({ bounds, prices }: PriceTiers, facts: ModelFacts): Record<string, number> {
  const costs = prices.flatMap((price, index) => {
    const bound = index === 0 ? undefined : bounds[index - 1];
    const end = bound === undefined ? "" : `_above_${bound / 1_000}k_tokens`;
    const tokens = tokenPricesOf(price, facts);
    return priceNames.flatMap(([name, kind]): [string, number][] => {
      const dollars = tokens.get(kind);
      return dollars === undefined ? [] : [[name + end, dollars]];
    });
  });
  return Object.fromEntries(costs);
}

function toAbilities(facts: ModelFacts): Record<string, boolean> {
  const { inputs, outputs, takesTools, reasons } = facts;
  const schemas = takesSchemas(facts);
  return {
    ...(takesTools !== undefined && { supports_function_calling: takesTools, supports_tool_choice: takesTools }),
    ...(reasons !== undefined && { supports_reasoning: reasons }),
    ...(schemas !== undefined && { supports_response_schema: schemas }),
    ...(inputs && {
      supports_vision: inputs.includes("image"),
      supports_pdf_input: inputs.includes("file"),
      supports_audio_input: inputs.includes("audio"),
      supports_video_input: inputs.includes("video"),
    }),
    ...(outputs && { supports_audio_output: outputs.includes("audio") }),
  };
}

function modeOf(facts: ModelFacts): string | undefined {
  if (facts.outputs?.includes("embeddings")) return "embedding";
  return isChat(facts) ? "chat" : undefined;
}

/** A model in LiteLLM's form (https://docs.litellm.ai/docs/proxy/model_management). */
function toModelInfo({ id, name, served = name, service, facts, prices }: ListedModel): ModelInfo {
  const { contextWindow, maxInputTokens = contextWindow, maxOutputTokens, retiredOn } = facts;
  const mode = modeOf(facts);
  const parameters = supportedParameters(facts);
  return {
    model_name: id,
    litellm_params: { model: `${service}/${served}` },
    model_info: {
      id,
      key: served,
      litellm_provider: service,
      ...(mode !== undefined && { mode }),
      ...(maxInputTokens !== undefined && { max_input_tokens: maxInputTokens }),
      ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens, max_tokens: maxOutputTokens }),
      ...(prices && toCosts(prices, facts)),
      ...toAbilities(facts),
      ...(parameters && { supported_openai_params: parameters }),
      ...(retiredOn !== undefined && { deprecation_date: retiredOn }),
    },
  };
}

/** The models of the workspace, or the one that `litellm_model_id` names. */
async function listModelInfo(context: CallerContext): Promise<Reply> {
  const id = context.url.searchParams.get("litellm_model_id");
  const models = await listOwnModels(context);
  return jsonReply({ data: models.filter((model) => id === null || model.id === id).map(toModelInfo) });
}

const shared = {
  method: "GET",
  operation: "models",
  tag: "Models",
  access: readAccess,
  response: ModelInfoList,
  query: [{ name: "litellm_model_id", description: "Only the model of this id" }],
} as const;

/** Endpoints that clients of LiteLLM read models from. A request below `/v1` that names a provider reaches the provider's. */
export const modelInfoEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    ...shared,
    path: "/model/info",
    summary: "List models with limits, prices and abilities, in the shape of LiteLLM",
    handle: listModelInfo,
  }),
  defineKeyEndpoint({
    ...shared,
    path: "/v1/model/info",
    summary: "List models with limits, prices and abilities, in the shape of LiteLLM",
    handle: (context: CallerContext) => (namesProvider(context) ? runPassthrough(context) : listModelInfo(context)),
  }),
];
