// What the schemas of the settings do not say about their inputs.

import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { optionsOf } from "@/resources/define.ts";
import { allScopes, choices } from "@/resources/options.ts";
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { metadataColumns, readMetadataSchema, toMetadataSchema } from "./metadata-schema.ts";

const words = text.settings;
const { noLimit, never } = text.resources.fields;

const labelled = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

const hasFallback = ({ unpriced_models: mode }: JsonObject): boolean => mode === "fallback";

const price = { required: true, when: hasFallback } as const;

/** Guardrails as they are chosen: the API answers with id and slug, and takes slugs. */
const guardrails: Partial<Field> = {
  kind: "multi",
  options: optionsOf("/v1/admin/v2/guardrails", ({ slug, name }) => ({ value: slug, label: name }), {
    idAs: "workspace_id",
  }),
  read: (stored) => (Array.isArray(stored) ? stored.map((one) => (isJsonObject(one) ? one.slug : one)) : stored),
};

const metadata: Partial<Field> = {
  kind: "rows",
  add: words.addMetadata,
  columns: metadataColumns,
  read: readMetadataSchema,
  toMember: toMetadataSchema,
};

/** Public keys as their set has them (RFC 7517), for completion. */
const keySetSchema: JsonObject = {
  type: "object",
  required: ["keys"],
  properties: {
    keys: {
      type: "array",
      items: {
        type: "object",
        required: ["kty", "kid"],
        properties: Object.fromEntries(
          ["kty", "kid", "alg", "use", "crv", "x", "y", "n", "e"].map((name) => [name, { type: "string" }]),
        ),
      },
    },
  },
};

/** How settings are entered that a plain input of their type does not suit, by their path. */
export const ownFields: Readonly<Record<string, Partial<Field>>> = {
  allowed_domains: { placeholder: words.anyValue },
  user_api_key_count: { none: -1, placeholder: noLimit },
  user_api_key_ttl: { none: 0, placeholder: never, unit: text.durations.days },
  user_api_key_max_ttl: { none: 0, placeholder: noLimit, unit: text.durations.days },
  log_retention_days: { placeholder: words.operators, unit: text.durations.days },
  "session_settings.max_session_ttl": { kind: "duration", placeholder: words.halfDay, unit: "hours" },
  default_cache_ttl: { kind: "duration", placeholder: noLimit },
  max_token_age: { kind: "duration", placeholder: noLimit },
  clock_tolerance: { kind: "duration", placeholder: words.operators },
  unpriced_models: { required: true, kind: "select", options: labelled(words.unpriced) },
  "fallback_price.input": price,
  "fallback_price.output": price,
  workspace_override: { kind: "multi", options: labelled(words.overrides) },
  api_key_metadata_schema: metadata,
  workspace_metadata_schema: metadata,
  security_settings: {
    kind: "own",
    input: async () => ({ default: (await import("@/resources/permissions-input.tsx")).PermissionsInput }),
    isMerged: true,
  },
  jwks_url: {
    kind: "tags",
    read: (stored) => (typeof stored === "string" ? stored.split(",").map((one) => one.trim()) : stored),
    toMember: (urls) => (Array.isArray(urls) && urls.length > 0 ? urls.join(",") : undefined),
  },
  jwks: { kind: "json", schema: keySetSchema },
  default_scopes: { kind: "multi", options: allScopes },
  "oidc.token_endpoint_auth_method": {
    kind: "select",
    options: choices("client_secret_basic", "client_secret_post", "none"),
  },
  input_guardrails: guardrails,
  output_guardrails: guardrails,
};
