import * as v from "valibot";
import {
  Description,
  Email,
  Flag,
  MetadataDefaults,
  Name,
  NoAutomaticRotation,
  OneUsageLimit,
  RateLimit,
  RateLimits,
  Reference,
  ShownBudget,
  Text,
  Time,
} from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf, ShownFlag } from "./objects.ts";
import { PriorityName, priorities } from "./queues.ts";
import { wholeFrom } from "./whole-number.ts";

/** Kinds of keys: whose they are, and whether a user holds them. */
export const keyKinds = ["organisation-service", "workspace-service", "workspace-user"] as const;
/** States of a stored key. Whether its budget is used up follows from what was counted. */
export const keyStatuses = ["active", "exhausted", "expired", "revoked"] as const;
/** Who made a key: a page of the console, a client, or the gateway. */
export const creationModes = ["ui", "api", "auto"] as const;

/** Shortest time a former secret keeps working, and the default. */
export const minTransitionMs = 1_800_000;
/** Longest time a former secret keeps working: a year. */
const maxTransitionMs = 31_536_000_000;

/** Fields that would grant permissions: a key's only permissions are its scopes. */
const refused = v.optional(v.never("must not be given: a key's only permissions are its scopes"));
const refusedMembers = {
  role: refused,
  roles: refused,
  org_role: refused,
  organisation_role: refused,
  permissions: refused,
  owner: refused,
  owner_id: refused,
  is_owner: refused,
  admin: refused,
  is_admin: refused,
  kind: refused,
};

/** Names of scopes; which ones a key may have depends on its kind. */
const Scopes = v.pipe(v.array(Text(255)), v.maxLength(500, "must have at most 500 entries"));

/** Defaults of a key for requests. `config_slug` is another name of `config_id`. */
const KeyDefaults = closedObject({
  metadata: v.nullish(
    v.pipe(
      MetadataDefaults,
      v.check((metadata) => Object.keys(metadata).length <= 64, "must have at most 64 members"),
    ),
  ),
  config_id: v.nullish(Reference),
  config_slug: v.nullish(Reference),
  allow_config_override: v.nullish(Flag),
});
export type KeyDefaults = v.InferOutput<typeof KeyDefaults>;

/** Fields that identify the key's owner. */
const identity = {
  type: v.optional(v.string()),
  // clients also send the two path parameters in the body
  "sub-type": v.optional(v.string()),
  user_id: v.nullish(v.pipe(v.string(), v.uuid("must be a UUID"), v.toLowerCase())),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
};

/** A name as requests write it in `model`: an alias, `@slug/model`, the slug of a config, or a pattern with `*`. */
const ModelName = v.pipe(Text(255), v.regex(/^\S+$/, "must not contain spaces"));

/** Names of models that a key may use; null allows all. */
const AllowedModels = v.pipe(
  v.array(ModelName),
  v.minLength(1, "must have an entry: null allows all models"),
  v.maxLength(500, "must have at most 500 entries"),
  v.transform((names) => [...new Set(names)]),
);

/** Fields of a key that can be changed. */
const settings = {
  description: Description,
  rate_limits: v.nullish(RateLimits),
  usage_limits: v.nullish(OneUsageLimit),
  defaults: v.nullish(KeyDefaults),
  priority: v.nullish(PriorityName),
  allowed_models: v.nullish(AllowedModels),
  alert_emails: v.nullish(v.pipe(v.array(Email), v.maxLength(50, "must have at most 50 entries"))),
  expires_at: v.nullish(Time),
  rotation_policy: NoAutomaticRotation,
};

/** A secret that clients have already: that of another gateway. It must be hard to guess, and be one value of a header. */
const ChosenKey = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9._~+/=-]{20,512}$/, "must be 20 to 512 letters, digits or any of . _ ~ + / = -"),
  v.check((key) => new Set(key).size >= 10, "must have at least 10 different characters"),
  v.check((key) => !key.startsWith("eyJ"), "must not look like a token"),
);

/** Body of `POST /api-keys/{type}/{subtype}`. */
export const CreateApiKey = closedObject({
  ...refusedMembers,
  ...identity,
  ...settings,
  name: Name,
  scopes: Scopes,
  /** Keys of services only. Absent: the gateway makes one. */
  key: v.nullish(ChosenKey),
});
export type CreateApiKey = v.InferOutput<typeof CreateApiKey>;

/** Body of `PUT /api-keys/{id}`. */
export const UpdateApiKey = changesOf(
  {
    ...refusedMembers,
    ...identity,
    ...settings,
    name: v.optional(Name),
    scopes: v.optional(Scopes),
    reset_usage: v.nullish(Flag),
  },
  {
    shown: [
      "id",
      "key",
      "status",
      "creation_mode",
      "last_reset_at",
      "next_usage_reset_at",
      "expiry_enforced",
      "allow_config_override",
      "api_key_defaults_id",
      "last_rotated_at",
      "created_at",
      "last_updated_at",
      "object",
    ],
  },
);
export type UpdateApiKey = v.InferOutput<typeof UpdateApiKey>;

/** Body of `POST /api-keys/{id}/rotate`. */
export const RotateApiKey = closedObject({
  key_transition_period_ms: v.nullish(wholeFrom(minTransitionMs, maxTransitionMs)),
  workspace_id: v.nullish(Reference),
});
export type RotateApiKey = v.InferOutput<typeof RotateApiKey>;

/** Defaults of a key for requests, in responses and as they are stored. */
const StoredKeyDefaults = v.object({
  metadata: v.nullable(v.record(v.string(), v.string())),
  config_id: v.nullable(v.string()),
  allow_config_override: v.boolean(),
});
export type StoredKeyDefaults = v.InferOutput<typeof StoredKeyDefaults>;

/** A key in responses. */
export const ApiKey = v.object({
  id: v.string(),
  /** Masked. */
  key: v.string(),
  name: v.string(),
  description: v.nullable(v.string()),
  type: v.picklist(keyKinds),
  organisation_id: v.string(),
  workspace_id: v.nullable(v.string()),
  user_id: v.nullable(v.string()),
  status: v.picklist(keyStatuses),
  creation_mode: v.picklist(creationModes),
  rate_limits: v.array(RateLimit),
  usage_limits: v.nullable(ShownBudget),
  reset_usage: v.null(),
  last_reset_at: v.nullable(IsoTime),
  next_usage_reset_at: v.nullable(IsoTime),
  expires_at: v.nullable(IsoTime),
  expiry_enforced: ShownFlag,
  alert_emails: v.nullable(v.array(v.string())),
  /** Highest class of its requests where they wait for room in a limit. */
  priority: v.picklist(priorities),
  /** Names of models that its requests may use; null for all. */
  allowed_models: v.nullable(v.array(v.string())),
  allow_config_override: v.nullable(ShownFlag),
  api_key_defaults_id: v.null(),
  scopes: v.array(v.string()),
  defaults: v.nullable(StoredKeyDefaults),
  /** Absent for keys that were never rotated. */
  last_rotated_at: v.optional(IsoTime),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("api-key"),
});
export type ApiKey = v.InferOutput<typeof ApiKey>;

/** Response of `GET /api-keys`. */
export const ApiKeyList = listOf(ApiKey);

/** Response of `POST /api-keys/{type}/{subtype}`: the only one that shows the key. */
export const CreatedApiKey = v.object({ id: v.string(), key: v.string(), object: v.literal("api-key") });

/** Response of `POST /api-keys/{id}/rotate`, with the new key. */
export const RotatedApiKey = v.object({ id: v.string(), key: v.string(), key_transition_expires_at: IsoTime });
