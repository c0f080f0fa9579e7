import * as v from "valibot";
import { namesSavedConfig } from "../lib/config-name.ts";
import {
  Flag,
  MetadataDefaults,
  OneUsageLimit,
  RateLimit,
  RateLimits,
  Reference,
  ShownBudget,
  Text,
} from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf } from "./objects.ts";

/**
 * What requests write as their model. Names with `@` are those of stored providers, and the slug or id of a saved config
 * names that config.
 */
const AliasName = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/+-]{0,254}$/,
    "must be 1 to 255 letters, digits or . _ : / + -, and begin with a letter or a digit",
  ),
  v.check((name) => !namesSavedConfig(name), "must not look like the slug or id of a saved config"),
);

/** A model of a stored provider: `@slug/model`. */
const TargetModel = v.pipe(
  Text(1_024),
  v.regex(
    /^@[A-Za-z0-9_-]{1,255}\/\S+$/,
    "must be a model of a stored provider, such as @openai/gpt-4o: an alias cannot lead to another one",
  ),
);

const poolModes = ["fallback", "loadbalance"] as const;
const weight = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be at least 0"),
  v.maxValue(1e12, "must be at most 1000000000000"),
);

/** Some models: each after the failure of those before it, or one by weight. */
const Pool = v.pipe(
  closedObject({
    mode: v.optional(v.picklist(poolModes, "must be fallback or loadbalance")),
    models: v.pipe(
      v.array(closedObject({ model: TargetModel, weight: v.optional(weight) })),
      v.minLength(2, "must have at least two models: one alone is target.model"),
      v.maxLength(50, "must have at most 50 models"),
    ),
  }),
  v.check(
    ({ mode, models }) => mode === "loadbalance" || models.every((one) => one.weight === undefined),
    "must have weights only with the mode loadbalance",
  ),
  v.check(({ models }) => models.some((one) => one.weight !== 0), "must have a model with weight"),
);

/** Where requests with the alias go: one of them. */
const Target = v.pipe(
  closedObject({ model: v.optional(TargetModel), config: v.optional(Reference), pool: v.optional(Pool) }),
  v.check(
    (target) => Object.values(target).filter((one) => one !== undefined).length === 1,
    "must have one of model, config and pool",
  ),
);

/** A pool as it is stored. */
export interface AliasPool {
  /** Default: fallback. */
  readonly mode?: (typeof poolModes)[number] | undefined;
  readonly models: readonly { readonly model: string; readonly weight?: number | undefined }[];
}

/** A target as it is stored; a config by its slug. */
export type AliasTarget = { readonly model: string } | { readonly config: string } | { readonly pool: AliasPool };

const aliasRoles = ["admin", "manager", "member"] as const;

const someOf = <Item extends v.GenericSchema>(item: Item, most: number) =>
  v.pipe(
    v.array(item),
    v.minLength(1, "must have at least one entry"),
    v.maxLength(most, `must have at most ${most} entries`),
  );

/** Who may use an alias. Without a list it is not restricted in this regard. */
const Access = closedObject({
  /** Ids of keys. A key in the list may use it whatever the role of its user. */
  api_keys: v.optional(someOf(Reference, 1_000)),
  /** Roles of the key's user in the workspace. Owners and admins of the organisation count as admin. */
  roles: v.optional(someOf(v.picklist(aliasRoles, "must be admin, manager or member"), aliasRoles.length)),
  /** Workspaces that may use an alias of the organisation. */
  workspaces: v.optional(someOf(Reference, 1_000)),
});

/** Access as it is stored: by ids. */
export interface AliasAccess {
  readonly api_keys?: readonly string[];
  readonly roles?: readonly string[];
  readonly workspaces?: readonly string[];
}

const Tags = v.pipe(v.array(Text(64)), v.maxLength(32, "must have at most 32 entries"));
const Metadata = v.pipe(MetadataDefaults, v.maxEntries(32, "must have at most 32 pairs"));

const optional = {
  metadata: v.nullish(Metadata),
  tags: v.nullish(Tags),
  access: v.nullish(Access),
  usage_limits: v.nullish(OneUsageLimit),
  rate_limits: v.nullish(RateLimits),
  enabled: v.optional(Flag),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
};

/** Body of `POST /model-aliases`. */
export const CreateModelAlias = closedObject({ name: AliasName, target: Target, ...optional });
export type CreateModelAlias = v.InferOutput<typeof CreateModelAlias>;

/** Body of `PUT /model-aliases/{id}`. */
export const UpdateModelAlias = changesOf(
  { name: v.optional(AliasName), target: v.optional(Target), ...optional, reset_usage: v.nullish(Flag) },
  { shown: ["id", "last_reset_at", "owner_id", "updated_by", "created_at", "last_updated_at", "object"] },
);
export type UpdateModelAlias = v.InferOutput<typeof UpdateModelAlias>;

/** An alias as responses show it. */
export const ModelAlias = v.object({
  id: v.string(),
  name: v.string(),
  target: v.object({
    model: v.optional(v.string()),
    config: v.optional(v.string()),
    pool: v.optional(
      v.object({
        mode: v.optional(v.picklist(poolModes)),
        models: v.array(v.object({ model: v.string(), weight: v.optional(v.number()) })),
      }),
    ),
  }),
  organisation_id: v.string(),
  /** Null for aliases of the organisation. */
  workspace_id: v.nullable(v.string()),
  metadata: v.record(v.string(), v.string()),
  tags: v.array(v.string()),
  access: v.nullable(
    v.object({
      api_keys: v.optional(v.array(v.string())),
      roles: v.optional(v.array(v.string())),
      workspaces: v.optional(v.array(v.string())),
    }),
  ),
  usage_limits: v.nullable(ShownBudget),
  rate_limits: v.nullable(v.array(RateLimit)),
  last_reset_at: v.nullable(IsoTime),
  enabled: v.boolean(),
  owner_id: v.string(),
  updated_by: v.nullable(v.string()),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("model_alias"),
});
export type ModelAlias = v.InferOutput<typeof ModelAlias>;

/** Response of `GET /model-aliases`. */
export const ModelAliasList = listOf(ModelAlias);

/** Response of a new or changed alias. */
export const SavedModelAlias = v.object({ id: v.string(), name: v.string(), object: v.literal("model_alias") });
