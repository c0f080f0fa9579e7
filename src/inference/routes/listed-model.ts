import type { Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { shiftDecimal, toPlainText } from "../../pricing/decimals.ts";
import type { ModelPrice, PriceTiers, TokenKind } from "../../pricing/prices.ts";
import { toLimits } from "../../providers/shared/model-limits.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { priceListOf } from "../target/stored-provider.ts";
import type { CatalogueModel } from "./catalogue.ts";

/** A model of a list before it takes the form of a dialect. What is not known is absent. */
export interface ListedModel {
  id: string;
  /** Name to show. */
  name: string;
  /** Unix seconds; 0 if it is not known. */
  created: number;
  /** Slug of the service, or who owns the model. */
  service: string;
  facts: ModelFacts;
  prices?: PriceTiers | undefined;
  /** The model that an alias leads to; absent for models, and for aliases of configs. */
  served?: string;
  /** The model in Anthropic's form, where its provider lists it so. */
  asMessages?: Record<string, unknown>;
}

/** A model of the catalogue with what the tables, the operator and the integration say of it, the last first. */
export function describeModel(
  model: Pick<CatalogueModel, "id" | "slug" | "provider" | "created">,
  view: WorkspaceView,
  { providers, providerRules }: Pick<Services, "providers" | "providerRules">,
): ListedModel {
  const { id, slug, created } = model;
  const stored = view.providers.get(model.provider ?? "");
  const service = stored?.integration.aiProviderId ?? "";
  const entry = stored?.models.get(slug);
  const facts = {
    ...providers.get(service)?.describe(entry?.baseModelSlug ?? slug),
    ...providerRules.operatorFacts?.(service, slug),
    ...entry?.modelFacts,
  };
  return { id, name: slug, created, service, facts, prices: stored && priceListOf(stored)(slug) };
}

/** Decimal places from dollars per million tokens to dollars per token. */
const perToken = -6;

/**
 * Prices in dollars per token, by kind. Prices of models without text are left out: theirs may be prices of characters,
 * pages or searches.
 */
export function tokenPricesOf({ tokens }: ModelPrice, { outputs }: ModelFacts): ReadonlyMap<TokenKind, number> {
  const countsTokens = tokens.has("response_token") || outputs?.includes("embeddings") === true;
  if (!countsTokens) return new Map();
  return new Map(Array.from(tokens, ([kind, price]) => [kind, shiftDecimal(price, perToken)]));
}

/** Members of `pricing`, and the kind of token whose price each of them is. */
const pricedMembers: readonly (readonly [member: string, kind: TokenKind])[] = [
  ["prompt", "request_token"],
  ["completion", "response_token"],
  ["input_cache_read", "cache_read_input_token"],
  ["input_cache_write", "cache_write_input_token"],
  ["audio", "request_audio_token"],
];

/** Prices in OpenRouter's form: dollars as text, per token and per call. Long prompts may cost more. */
function toPricing({ prices = [] as readonly ModelPrice[] }: Partial<PriceTiers>, facts: ModelFacts) {
  const [price] = prices;
  if (!price) return undefined;
  const ofTokens = tokenPricesOf(price, facts);
  const ofCalls = [
    ["request", price.fixed && price.fixed.length > 0 ? price.fixed.reduce((sum, one) => sum + one, 0) : undefined],
    ["web_search", price.units.get("web_search")],
  ] as const;
  const listed = [...pricedMembers.map(([member, kind]) => [member, ofTokens.get(kind)] as const), ...ofCalls];
  const known = listed.flatMap(([member, dollars]) =>
    dollars === undefined ? [] : [[member, toPlainText(dollars)] as const],
  );
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

/** Whether a model is known to be one for chats. */
export const isChat = ({ takesTools, reasons }: ModelFacts): boolean => takesTools !== undefined || reasons === true;

/** Whether a model takes JSON schemas of responses. Undefined: it is not known, or a beta decides. */
export function takesSchemas({ responseSchemas }: ModelFacts): boolean | undefined {
  return responseSchemas === undefined || responseSchemas === "beta" ? undefined : responseSchemas !== "none";
}

/** Fields of chat completions that a model is known to take, as OpenRouter names them. */
export function supportedParameters(facts: ModelFacts): string[] | undefined {
  if (!isChat(facts)) return undefined;
  const { takesTools, reasons, efforts, sampling = "any", refusedFields = [] } = facts;
  const fields = [
    "max_tokens",
    ...(sampling === "none" ? [] : ["temperature", "top_p"]),
    ...(takesTools ? ["tools", "tool_choice"] : []),
    ...(reasons ? ["reasoning", "include_reasoning"] : []),
    ...(reasons && efforts?.length !== 0 ? ["reasoning_effort"] : []),
    ...(takesSchemas(facts) ? ["response_format", "structured_outputs"] : []),
  ];
  return fields.filter((field) => !refusedFields.includes(field));
}

function toArchitecture({ inputs, outputs }: ModelFacts) {
  if (!inputs && !outputs) return undefined;
  return {
    ...(inputs && { input_modalities: inputs }),
    ...(outputs && { output_modalities: outputs }),
    ...(inputs && outputs && { modality: `${inputs.join("+")}->${outputs.join("+")}` }),
  };
}

/**
 * What is known of a model in the fields of OpenRouter's list (https://openrouter.ai/docs/guides/overview/models), and
 * OpenAI's field for the day of its shutdown (https://developers.openai.com/api/docs/deprecations).
 */
export function toListedFields({ name, facts, prices }: ListedModel) {
  const { contextWindow, maxOutputTokens, retiredOn } = facts;
  const architecture = toArchitecture(facts);
  const pricing = toPricing(prices ?? {}, facts);
  const parameters = supportedParameters(facts);
  return {
    name,
    ...toLimits(contextWindow, maxOutputTokens),
    ...(architecture && { architecture }),
    ...(pricing && { pricing }),
    ...(parameters && { supported_parameters: parameters }),
    ...(retiredOn !== undefined && { expiration_date: retiredOn, shutdown_date: retiredOn }),
  };
}
