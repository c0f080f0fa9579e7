import * as v from "valibot";
import { OidcSettings, tokenAlgorithms } from "./auth-settings.ts";
import { Flag, Name, Reference, Text } from "./control.ts";
import { exportedFields } from "./log-exports.ts";
import { changesOf, IsoTime, listOf, NoContent } from "./objects.ts";
import {
  DataPlaneSecuritySettings,
  SecuritySettings,
  ShownDataPlaneSettings,
  ShownSecuritySettings,
  ShownSettings,
  sharedSettings,
} from "./settings.ts";
import { wholeFrom } from "./whole-number.ts";
import { GuardrailNames } from "./workspaces.ts";

/** Body of `PUT /admin/organisation/defaults`. */
export const OrganisationDefaults = changesOf({ input_guardrails: GuardrailNames, output_guardrails: GuardrailNames });
export type OrganisationDefaults = v.InferOutput<typeof OrganisationDefaults>;

/** Body of `PUT /workspace-exclusions/{direction}-guardrails`. */
export const UpdateExclusions = changesOf({
  organisation_id: v.nullish(v.string()),
  workspaces: v.pipe(
    v.array(changesOf({ workspace_id: Reference, excluded: v.optional(Flag, true) })),
    v.maxLength(1_000, "must have at most 1000 entries"),
  ),
  override_existing: v.optional(Flag, false),
});
export type UpdateExclusions = v.InferOutput<typeof UpdateExclusions>;

/** Response of `GET /workspace-exclusions/{direction}-guardrails`. */
export const ExclusionList = listOf(
  v.object({
    workspace_id: v.string(),
    slug: v.string(),
    name: v.string(),
    excluded: v.literal(true),
    created_at: IsoTime,
  }),
);

/** A domain of e-mail addresses, in lower case. */
const Domain = v.pipe(
  v.string(),
  v.maxLength(253, "must have at most 253 characters"),
  v.transform((domain) => domain.toLowerCase()),
  v.regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/, "must be a domain name"),
);

/** An address that is displayed, never called. */
const ShownUrl = v.pipe(
  v.string(),
  v.maxLength(2_048, "must have at most 2048 characters"),
  v.regex(/^https?:\/\/[^\s/<>"\\]+[^\s<>"\\]*$/, "must be an http or https address"),
);

/** A JSON schema for metadata; the handler validates it. */
const MetadataSchema = v.nullish(v.record(v.string(), v.unknown()));

/** US dollars per million tokens. */
const TokenPrice = v.pipe(
  v.number("must be a number"),
  v.finite("must be finite"),
  v.minValue(0, "must be at least 0"),
  v.maxValue(1_000_000, "must be at most 1000000"),
);

/** A field that log rows do not show. Organisations may have others from earlier versions, which hide nothing. */
const DeniedField = v.picklist(exportedFields, `must be of ${exportedFields.join(", ")}`);

/** What an organisation does with models that have no price. */
const unpricedModes = ["block", "allow", "fallback"] as const;

const settings = {
  ...sharedSettings,
  enforce_debug_log_setting: v.nullish(Flag),
  default_workspace_user_api_key_auto_create: v.nullish(Flag),
  security_settings: v.nullish(SecuritySettings),
  data_plane_security_settings: v.nullish(DataPlaneSecuritySettings),
  workspace_override: v.nullish(v.pipe(v.array(Text(64)), v.maxLength(50, "must have at most 50 entries"))),
  api_key_metadata_schema: MetadataSchema,
  workspace_metadata_schema: MetadataSchema,
  session_settings: v.nullish(changesOf({ max_session_ttl: v.nullish(wholeFrom(900)) })),
  allowed_domains: v.nullish(v.pipe(v.array(Domain), v.maxLength(100, "must have at most 100 entries"))),
  allow_subdomains: v.nullish(Flag),
  disable_auto_provision_user: v.nullish(Flag),
  gateway_url: v.nullish(ShownUrl),
  mcp_gateway_url: v.nullish(ShownUrl),
  alert_webhook: v.nullish(Text(2_048)),
  alert_webhook_secret: v.nullish(Text(512)),
  default_cache_ttl: v.nullish(wholeFrom(1)),
  /** What makes embeddings for semantic caches; absent fields are the operator's. */
  semantic_cache: v.nullish(
    changesOf({
      provider: v.nullish(Text(256)),
      model: v.nullish(Text(256)),
      dimensions: v.nullish(wholeFrom(1, 16_384)),
      threshold: v.nullish(
        v.pipe(v.number("must be a number"), v.minValue(0, "must be at least 0"), v.maxValue(1, "must be at most 1")),
      ),
    }),
  ),
  /** Days to keep log rows, if that is shorter than the operator's time. */
  log_retention_days: v.nullish(v.pipe(wholeFrom(1), v.maxValue(36_500))),
  /** Keys of the metadata that the log is often asked for: the index of the log has a column for each of them. */
  log_metadata_keys: v.nullish(v.pipe(v.array(Text(128)), v.maxLength(32, "must have at most 32 entries"))),
  /** Key of the metadata that names the session of a request. */
  session_metadata_key: v.nullish(Text(128)),
  unpriced_models: v.nullish(v.picklist(unpricedModes, "must be block, allow or fallback")),
  fallback_price: v.nullish(changesOf({ input: TokenPrice, output: TokenPrice })),
  export_settings: v.nullish(
    changesOf({
      deniedFields: v.nullish(v.pipe(v.array(DeniedField), v.maxLength(200, "must have at most 200 entries"))),
    }),
  ),
};

/** Settings of an organisation; null restores the default. */
const OrganisationSettings = changesOf(settings);

/** Body of `PUT /organisations/{id}`: settings at the top level or under `settings`; the top level wins. */
export const UpdateOrganisation = changesOf({
  ...settings,
  name: v.optional(Name),
  settings: v.nullish(OrganisationSettings),
});
export type UpdateOrganisation = v.InferOutput<typeof UpdateOrganisation>;

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds, or a string such as `12h`; parsed to seconds. */
const Duration = (maximum: number, minimum = 0) =>
  v.pipe(
    v.union(
      [
        v.number(),
        v.pipe(
          v.string(),
          v.regex(/^\d{1,9}[smhd]?$/),
          v.transform((text) => {
            const unit = /[smhd]$/.exec(text)?.[0] ?? "s";
            return Number.parseInt(text, 10) * secondsOf[unit as keyof typeof secondsOf]; // the pattern allows only these four
          }),
        ),
      ],
      "must be a number of seconds, or a string such as 90s, 30m, 12h or 1d",
    ),
    wholeFrom(minimum, maximum),
  );

/** One string, or several of which a token must have one. */
const OneOrMore = v.union(
  [Text(2_048), v.pipe(v.array(Text(2_048)), v.minLength(1), v.maxLength(50))],
  "must be a string, or a list of 1 to 50 strings",
);

/** The identity provider at which users sign in with a browser. */
const UpdateOidc = changesOf({
  issuer: Text(2_048),
  client_id: Text(512),
  /** Write-only. Absent: the stored one stays. */
  client_secret: v.nullish(Text(4_096)),
  scope: v.nullish(Text(512)),
  token_endpoint_auth_method: v.nullish(
    v.picklist(
      ["client_secret_basic", "client_secret_post", "none"],
      "must be client_secret_basic, client_secret_post or none",
    ),
  ),
});

/** Body of `PUT /organisations/{id}/auth-settings`; null clears a field. */
export const UpdateAuthSettings = changesOf({
  jwt_enabled: v.nullish(Flag),
  jwks_url: v.nullish(Text(8_192)),
  jwks: v.nullish(v.record(v.string(), v.unknown())),
  algorithms: v.nullish(
    v.pipe(
      v.array(v.picklist(tokenAlgorithms, `must be one of ${tokenAlgorithms.join(", ")}`)),
      v.maxLength(tokenAlgorithms.length, `must have at most ${tokenAlgorithms.length} entries`),
    ),
  ),
  issuer: v.nullish(OneOrMore),
  audience: v.nullish(OneOrMore),
  default_scopes: v.nullish(v.pipe(v.array(Text(255)), v.maxLength(200, "must have at most 200 entries"))),
  max_token_age: v.nullish(Duration(31_536_000, 1)),
  clock_tolerance: v.nullish(Duration(60)),
  oidc: v.nullish(UpdateOidc),
});
export type UpdateAuthSettings = v.InferOutput<typeof UpdateAuthSettings>;

const ShownNames = v.nullable(v.union([v.string(), v.array(v.string())]));

/** How tokens are verified. */
const ShownAuthSettings = v.object({
  jwt_enabled: v.boolean(),
  /** Addresses of key sets, separated by commas. */
  jwks_url: v.nullable(v.string()),
  jwks: v.nullable(v.record(v.string(), v.unknown())),
  algorithms: v.array(v.picklist(tokenAlgorithms)),
  issuer: ShownNames,
  audience: ShownNames,
  default_scopes: v.array(v.string()),
  /** Seconds. */
  max_token_age: v.nullable(v.number()),
  /** Seconds. */
  clock_tolerance: v.nullable(v.number()),
  oidc: v.nullable(OidcSettings),
});
export type ShownAuthSettings = v.InferOutput<typeof ShownAuthSettings>;

/** The same as it is stored: what was never set is absent. */
export type StoredAuthSettings = {
  [Name in keyof ShownAuthSettings]?: NonNullable<ShownAuthSettings[Name]>;
};

/** Response of `GET` and `PUT /organisations/{id}/auth-settings`. */
export const AuthSettingsReply = v.object({ success: v.literal(true), data: ShownAuthSettings });

const ShownMetadataSchema = v.nullable(v.record(v.string(), v.unknown()));

/** Settings of an organisation in responses: the stored ones, and defaults of the others. */
const ShownOrganisationSettings = v.object({
  ...ShownSettings.entries,
  security_settings: ShownSecuritySettings,
  data_plane_security_settings: ShownDataPlaneSettings,
  enforce_debug_log_setting: v.boolean(),
  default_workspace_user_api_key_auto_create: v.boolean(),
  /** Groups of settings that workspaces may change. */
  workspace_override: v.array(v.string()),
  api_key_metadata_schema: ShownMetadataSchema,
  workspace_metadata_schema: ShownMetadataSchema,
  /** Seconds. */
  session_settings: v.nullable(v.object({ max_session_ttl: v.optional(v.number()) })),
  allowed_domains: v.array(v.string()),
  allow_subdomains: v.boolean(),
  disable_auto_provision_user: v.boolean(),
  gateway_url: v.nullable(v.string()),
  mcp_gateway_url: v.nullable(v.string()),
  /** Masked, as is its secret: its host, without what follows. */
  alert_webhook: v.nullable(v.string()),
  alert_webhook_secret: v.nullable(v.string()),
  /** Seconds. */
  default_cache_ttl: v.nullable(v.number()),
  semantic_cache: v.nullable(
    v.object({
      provider: v.nullish(v.string()),
      model: v.nullish(v.string()),
      dimensions: v.nullish(v.number()),
      threshold: v.nullish(v.number()),
    }),
  ),
  unpriced_models: v.picklist(unpricedModes),
  /** US dollars per million tokens. */
  fallback_price: v.nullable(v.object({ input: v.number(), output: v.number() })),
  log_retention_days: v.nullable(v.number()),
  log_metadata_keys: v.array(v.string()),
  session_metadata_key: v.nullable(v.string()),
  export_settings: v.object({ deniedFields: v.optional(v.array(v.string())) }),
});
export type ShownOrganisationSettings = v.InferOutput<typeof ShownOrganisationSettings>;

/** The same as they are stored: what was never set is absent. */
export type StoredOrganisationSettings = {
  [Name in Exclude<keyof ShownOrganisationSettings, "data_plane_security_settings">]?: NonNullable<
    ShownOrganisationSettings[Name]
  >;
} & { data_plane_security_settings?: Partial<ShownOrganisationSettings["data_plane_security_settings"]> };

/** Response of `GET /organisations/{id}` and `GET /organisations/self`. */
export const OrganisationReply = v.object({
  success: v.literal(true),
  data: v.object({
    id: v.string(),
    name: v.string(),
    slug: v.string(),
    object: v.literal("organisation"),
    ...ShownOrganisationSettings.entries,
    /** The same settings once more. */
    settings: ShownOrganisationSettings,
    created_at: IsoTime,
    last_updated_at: IsoTime,
  }),
});

/** Response of `PUT /organisations/{id}`. */
export const UpdatedOrganisation = v.object({ success: v.literal(true), data: NoContent });

const ShownGuardrails = v.array(v.object({ id: v.string(), slug: v.string() }));

/** Response of `GET /admin/organisation/defaults`. */
export const ShownOrganisationDefaults = v.object({
  input_guardrails: ShownGuardrails,
  output_guardrails: ShownGuardrails,
});
