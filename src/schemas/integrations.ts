import * as v from "valibot";
import { isHeaderValue } from "../lib/headers.ts";
import {
  Description,
  Flag,
  Name,
  OneUsageLimit,
  RateLimit,
  RateLimitList,
  Reference,
  SecretMappings,
  ShownBudget,
  ShownSecretMapping,
  Slug,
  Text,
  Time,
  UsageLimitList,
} from "./control.ts";
import { Labels, ShownLabels } from "./labels.ts";
import { ModelFacts } from "./model-facts.ts";
import { changesOf, closedObject, IsoTime, JsonObject, listOf } from "./objects.ts";

/** A provider's key. An empty string counts as absent: some clients send it for providers without a key. */
const ProviderKey = v.nullish(
  v.pipe(
    v.string("must be a string"),
    v.maxLength(16_384, "must have at most 16384 characters"),
    v.check(isHeaderValue, "must not contain control characters"),
    v.transform((key) => (key === "" ? undefined : key)),
  ),
);

/** The id of a model provider, as used in requests. */
const ProviderId = v.pipe(
  v.string("must be a string"),
  v.regex(/^[a-z0-9-]{1,64}$/, "must be 1 to 64 lower-case letters, digits or hyphens"),
);

/** Settings of a provider by name; they depend on the provider. */
const Configurations = v.nullish(
  v.pipe(
    JsonObject,
    v.record(
      v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,255}$/, "names must be 1 to 255 letters, digits, _ or -")),
      v.unknown(),
      "must be an object",
    ),
  ),
);

const factor = v.nullish(
  v.pipe(v.number("must be a number"), v.finite("must be finite"), v.minValue(0, "must be at least 0")),
);
const pricedTokens = [
  ...(["default", "request_token", "response_token", "cache_read_input_token", "cache_write_input_token"] as const),
  ...(["cache_read_audio_input_token", "request_audio_token", "response_audio_token", "reasoning_token"] as const),
  ...(["prediction_accepted_token", "prediction_rejected_token", "request_image_token"] as const),
  ...(["response_image_token", "request_text_token", "response_text_token", "cache_read_image_input_token"] as const),
  ...(["cache_read_text_input_token", "cache_write_text_input_token", "cache_write_image_input_token"] as const),
];

const factors = {
  ...v.entriesFromList(pricedTokens, factor),
  image: v.nullish(v.strictObject({ default: factor }, "has no such field")),
};

/** Factors on the list price; 1 has no effect. */
const PricingAdjustments = v.nullish(
  v.strictObject(
    {
      multiplier: v.strictObject(
        { ...factors, additional_units: v.nullish(v.record(Text(255), factor)) },
        "has no such field",
      ),
    },
    "has no such field",
  ),
);

/** Body of `POST /integrations`. */
export const CreateIntegration = closedObject({
  name: Name,
  ai_provider_id: ProviderId,
  slug: v.optional(Slug),
  key: ProviderKey,
  description: Description,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
  configurations: Configurations,
  create_default_provider: v.nullish(Flag),
  default_provider_slug: v.nullish(Slug),
  secret_mappings: v.nullish(SecretMappings),
  pricing_adjustments: PricingAdjustments,
  labels: v.nullish(Labels),
});
export type CreateIntegration = v.InferOutput<typeof CreateIntegration>;

/** Body of `PUT /integrations/{slug}`. */
export const UpdateIntegration = changesOf({
  name: v.optional(Name),
  key: ProviderKey,
  description: Description,
  configurations: Configurations,
  secret_mappings: v.nullish(SecretMappings),
  pricing_adjustments: PricingAdjustments,
  labels: v.nullish(Labels),
  workspace_id: v.nullish(Reference),
});
export type UpdateIntegration = v.InferOutput<typeof UpdateIntegration>;

/** A boolean that some clients send as a string. */
const TextFlag = v.union(
  [
    Flag,
    v.pipe(
      v.picklist(["true", "false"]),
      v.transform((text) => text === "true"),
    ),
  ],
  "must be true or false",
);

const Price = changesOf({
  price: v.pipe(
    v.number("must be a number"),
    v.finite("must be finite"),
    v.minValue(0, "must be at least 0"),
    v.maxValue(1_000_000, "must be at most 1000000"),
  ),
});
type PriceTree = { readonly [name: string]: v.InferOutput<typeof Price> | PriceTree };

/** Prices by unit in US cents; prices of images and further units are nested one and two levels deeper. */
const Prices: v.GenericSchema<unknown, PriceTree> = v.record(
  Text(255),
  v.union(
    [Price, v.record(Text(255), v.union([Price, v.record(Text(255), Price)]))],
    "must be {price} with a number of at least 0",
  ),
  "must be an object",
);

const ShownPrice = v.object({ price: v.number() });

/** Prices in responses, in US cents. */
const ShownPrices: v.GenericSchema<PriceTree> = v.record(
  v.string(),
  v.union([ShownPrice, v.record(v.string(), v.union([ShownPrice, v.record(v.string(), ShownPrice)]))]),
);

/** Custom prices of a model. */
const PricingConfig = v.nullish(
  changesOf({ type: v.optional(v.literal("static", "must be static"), "static"), pay_as_you_go: Prices }),
);

/** Slug of a model, in its provider's spelling. */
const ModelSlug = Text(255);

/** Body of `PUT /integrations/{slug}/models`. */
export const UpdateModels = changesOf({
  models: v.pipe(
    v.array(
      changesOf({
        slug: ModelSlug,
        enabled: TextFlag,
        is_custom: v.nullish(TextFlag),
        is_finetune: v.nullish(TextFlag),
        base_model_slug: v.nullish(ModelSlug),
        configurations: Configurations,
        pricing_config: PricingConfig,
        model_facts: v.nullish(ModelFacts),
      }),
      "must be a list",
    ),
    v.maxLength(1_000, "must have at most 1000 entries"),
    v.check((models) => new Set(models.map(({ slug }) => slug)).size === models.length, "must name each slug once"),
  ),
  allow_all_models: v.optional(Flag),
  /** The integration's key, required again when a model gets a separate host; it replaces the stored one. */
  key: ProviderKey,
  /** The same for secret configurations. */
  configurations: Configurations,
  workspace_id: v.nullish(Reference),
});
export type UpdateModels = v.InferOutput<typeof UpdateModels>;

/** Body of `DELETE /integrations/{slug}/models`. */
export const RemoveModels = changesOf({
  models: v.optional(
    v.pipe(v.array(ModelSlug, "must be a list"), v.maxLength(1_000, "must have at most 1000 entries")),
  ),
});
export type RemoveModels = v.InferOutput<typeof RemoveModels>;

const workspaceAccess = {
  enabled: Flag,
  usage_limits: v.nullish(UsageLimitList),
  rate_limits: v.nullish(RateLimitList),
};
const defaultProvider = {
  create_default_provider: v.nullish(Flag),
  default_provider_slug: v.nullish(Slug),
};

/** Body of `PUT /integrations/{slug}/workspaces`. */
export const UpdateWorkspaceAccess = changesOf({
  workspaces: v.optional(
    v.pipe(
      v.array(
        changesOf({ id: Reference, ...workspaceAccess, ...defaultProvider, reset_usage: v.nullish(Flag) }),
        "must be a list",
      ),
      v.maxLength(1_000, "must have at most 1000 entries"),
    ),
  ),
  global_workspace_access: v.nullish(changesOf(workspaceAccess)),
  override_existing_workspace_access: v.nullish(Flag),
  override_existing_workspaces_access: v.nullish(Flag),
  ...defaultProvider,
});
export type UpdateWorkspaceAccess = v.InferOutput<typeof UpdateWorkspaceAccess>;

/** Fields of a provider that can be changed. */
const providerMembers = {
  note: Description,
  usage_limits: v.nullish(OneUsageLimit),
  /** One object, or a list of at most one. */
  rate_limits: v.nullish(
    v.union(
      [
        RateLimitList,
        v.pipe(
          RateLimit,
          v.transform((limit) => [limit]),
        ),
      ],
      "must be one rate limit, or a list of at most one",
    ),
  ),
  expires_at: v.nullish(Time),
  workspace_id: v.nullish(Reference),
};

/** Body of `POST /providers`. */
export const CreateProvider = closedObject({
  name: Name,
  integration_id: Reference,
  slug: v.nullish(Slug),
  organisation_id: v.nullish(v.string()),
  ...providerMembers,
});
export type CreateProvider = v.InferOutput<typeof CreateProvider>;

/** Body of `PUT /providers/{slug}`. */
export const UpdateProvider = changesOf({ name: v.optional(Name), reset_usage: v.nullish(Flag), ...providerMembers });
export type UpdateProvider = v.InferOutput<typeof UpdateProvider>;

/** Settings of a provider under the names of virtual keys. Their limits are those of `configurations`. */
const virtualKeySettings = {
  custom_host: v.nullish(v.string("must be a string")),
  apiVersion: v.nullish(Text(30)),
  resourceName: v.nullish(Text(255)),
  deploymentName: v.nullish(Text(255)),
  deploymentConfig: v.nullish(
    v.pipe(
      v.array(
        closedObject({
          apiVersion: Text(30),
          deploymentName: Text(255),
          alias: v.nullish(Text(255)),
          is_default: v.nullish(Flag),
        }),
        "must be a list",
      ),
      v.maxLength(100, "must have at most 100 entries"),
    ),
  ),
  ...v.entriesFromList(
    ["awsAccessKeyId", "awsSecretAccessKey", "awsRegion", "vertexProjectId", "vertexRegion", "workersAiAccountId"],
    v.nullish(v.string("must be a string")),
  ),
};

/** Body of `POST /virtual-keys`. */
export const CreateVirtualKey = closedObject({
  name: Name,
  provider: ProviderId,
  key: ProviderKey,
  slug: v.nullish(Slug),
  secret_mappings: v.nullish(SecretMappings),
  organisation_id: v.nullish(v.string()),
  ...virtualKeySettings,
  ...providerMembers,
});
export type CreateVirtualKey = v.InferOutput<typeof CreateVirtualKey>;

/** Body of `PUT /virtual-keys/{slug}`. */
export const UpdateVirtualKey = changesOf({
  name: v.optional(Name),
  key: ProviderKey,
  secret_mappings: v.nullish(SecretMappings),
  reset_usage: v.nullish(Flag),
  ...virtualKeySettings,
  ...providerMembers,
});
export type UpdateVirtualKey = v.InferOutput<typeof UpdateVirtualKey>;

/** Response of `POST /providers/{slug}/test`. */
export const ProviderTest = v.object({
  object: v.literal("provider_test"),
  /** Slug of the provider that was asked. */
  provider: v.string(),
  /** Null where the provider has no list of models, so that nothing was asked. */
  success: v.nullable(v.boolean()),
  /** Of the provider's response; null without one. */
  status_code: v.nullable(v.number()),
  /** Models it listed. */
  models: v.nullable(v.number()),
  /** What the provider said, or why it could not be asked. */
  error: v.nullable(v.string()),
  message: v.string(),
  response_time_ms: v.number(),
});
export type ProviderTest = v.InferOutput<typeof ProviderTest>;

/** Settings of a provider in responses: secrets are masked, each as `masked_<name>`. */
const ShownConfigurations = v.record(v.string(), v.unknown());

const ShownMappings = v.nullable(v.array(ShownSecretMapping));
const ShownBudgets = v.nullable(v.array(ShownBudget));
const ShownRateLimits = v.nullable(v.array(RateLimit));

/** Who may be the owner of an integration: a workspace, or the organisation, which shares it. */
export const integrationLevels = ["workspace", "organisation"] as const;
export const integrationStatuses = ["active", "archived"] as const;

/** An integration as lists show it. */
export const IntegrationSummary = v.object({
  id: v.string(),
  organisation_id: v.string(),
  /** Null for integrations of the organisation. */
  workspace_id: v.nullable(v.string()),
  type: v.picklist(integrationLevels),
  ai_provider_id: v.string(),
  name: v.string(),
  slug: v.string(),
  description: v.nullable(v.string()),
  status: v.picklist(integrationStatuses),
  tags: v.null(),
  /** Labels by which configs and policies choose; null without any. */
  labels: v.nullable(ShownLabels),
  created_at: IsoTime,
  /** Null if it never changed. */
  last_updated_at: v.nullable(IsoTime),
  object: v.literal("integration"),
});
export type IntegrationSummary = v.InferOutput<typeof IntegrationSummary>;

/** Response of `GET /integrations`. */
export const IntegrationList = listOf(IntegrationSummary);

/** Access of workspaces that are created later. */
export const ShownAccess = v.object({
  enabled: v.boolean(),
  usage_limits: ShownBudgets,
  rate_limits: ShownRateLimits,
});

/** Factors on the list price in responses. */
const ShownAdjustments = v.object({
  multiplier: v.object({ ...factors, additional_units: v.nullish(v.record(v.string(), factor)) }),
});
export type ShownAdjustments = v.InferOutput<typeof ShownAdjustments>;

/** Response of `GET /integrations/{slug}`. */
export const IntegrationRecord = v.object({
  ...IntegrationSummary.entries,
  masked_key: v.nullable(v.string()),
  configurations: ShownConfigurations,
  global_workspace_access_settings: ShownAccess,
  allow_all_models: v.boolean(),
  /** Workspaces that may use it. */
  workspace_count: v.number(),
  secret_mappings: ShownMappings,
  pricing_adjustments: v.nullable(ShownAdjustments),
});

/** Response of `POST /integrations`. */
export const CreatedIntegration = v.object({
  id: v.string(),
  slug: v.string(),
  /** The provider that was created with it. */
  provider_slug: v.optional(v.string()),
});

/** Custom prices of a model in responses. */
const ShownPricing = v.object({ type: v.literal("static"), pay_as_you_go: ShownPrices });
export type ShownPricing = v.InferOutput<typeof ShownPricing>;

/** A model of an integration. */
const IntegrationModel = v.object({
  slug: v.string(),
  name: v.string(),
  ai_provider_id: v.string(),
  enabled: v.boolean(),
  is_custom: v.boolean(),
  is_finetune: v.boolean(),
  base_model_slug: v.nullable(v.string()),
  configurations: v.nullable(ShownConfigurations),
  pricing_config: v.nullable(ShownPricing),
  model_facts: v.nullable(ModelFacts),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});
export type IntegrationModel = v.InferOutput<typeof IntegrationModel>;

/** Response of `GET /integrations/{slug}/models`: models with settings. */
export const IntegrationModelList = v.object({
  total: v.number(),
  models: v.array(IntegrationModel),
  /** Whether models without settings may be used, too. */
  allow_all_models: v.boolean(),
});

/** A workspace, and its access to an integration. */
const IntegrationWorkspace = v.object({
  id: v.string(),
  name: v.string(),
  slug: v.string(),
  enabled: v.boolean(),
  usage_limits: ShownBudgets,
  rate_limits: ShownRateLimits,
  last_reset_at: v.nullable(IsoTime),
});
export type IntegrationWorkspace = v.InferOutput<typeof IntegrationWorkspace>;

/** Response of `GET /integrations/{slug}/workspaces`. */
export const IntegrationWorkspaceList = v.object({ total: v.number(), workspaces: v.array(IntegrationWorkspace) });

/** Names of a provider on the paths that show it. */
const providerObjects = ["provider", "virtual-key"] as const;
export type ProviderObject = (typeof providerObjects)[number];

/** Response of `GET /providers/{slug}` and `GET /virtual-keys/{slug}`. */
export const ProviderRecord = v.object({
  id: v.string(),
  name: v.string(),
  slug: v.string(),
  organisation_id: v.string(),
  workspace_id: v.string(),
  /** Slug of its integration; null, as is the name, for virtual keys with their own credentials. */
  integration_id: v.nullable(v.string()),
  integration_name: v.nullable(v.string()),
  ai_provider_name: v.string(),
  /** Empty if the integration is the organisation's. */
  model_config: ShownConfigurations,
  masked_api_key: v.nullable(v.string()),
  key: v.literal(""),
  secret_mappings: ShownMappings,
  note: v.nullable(v.string()),
  status: v.picklist(["active", "exhausted", "expired"]),
  usage_limits: v.nullable(ShownBudget),
  rate_limits: ShownRateLimits,
  reset_usage: v.null(),
  last_reset_at: v.nullable(IsoTime),
  expires_at: v.nullable(IsoTime),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.picklist(providerObjects),
});
export type ProviderRecord = v.InferOutput<typeof ProviderRecord>;

/** Response of `GET /providers` and `GET /virtual-keys`. */
export const ProviderList = listOf(ProviderRecord);

/** Response of `POST /providers`. */
export const CreatedProvider = v.object({ id: v.string(), slug: v.string(), object: v.literal("provider") });

/** Response of `PUT /providers/{slug}`. */
export const UpdatedProvider = v.object({ id: v.string(), slug: v.string() });

/** Response of `POST /virtual-keys`. */
export const CreatedVirtualKey = v.object({ success: v.literal(true), data: v.object({ slug: v.string() }) });

/** Response of `GET /model-configs/pricing/{provider}/{model}`: US cents per token or unit. */
export const ModelPricing = v.object({
  currency: v.literal("USD"),
  /** Kinds of tokens; further units under `additional_units`, images by quality and size under `image`. */
  pay_as_you_go: ShownPrices,
  batch: v.optional(v.record(v.string(), ShownPrice)),
});

/** Response of `GET /model-configs/general/{provider}/{model}`. */
export const PricedModel = v.object({
  object: v.literal("model"),
  id: v.string(),
  name: v.string(),
  provider: v.string(),
  /** What the price list has a price for. */
  priced: v.array(v.string()),
  /** Whether batches have their own price. */
  batch: v.boolean(),
});
