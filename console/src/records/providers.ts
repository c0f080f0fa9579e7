import { partnerNames, providerNames } from "@/api/providers.gen.ts";
import type { Attribute } from "@/components/attribute.ts";
import { healthOf, ofCredential, slowestOf } from "@/resources/health.tsx";
import { integrationAt, showMappings } from "@/resources/names.tsx";
import {
  changedFact,
  descriptionField,
  isOwn,
  nameField,
  numbered,
  oneRateLimitField,
  secretMappingsField,
  slugField,
  usageLimitsField,
} from "@/resources/options.ts";
import { settingsFieldOf, showFactors, showSettings } from "@/resources/settings/settings-field.ts";
import type { Field, Resource } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofIntegrations = text.resources.integrations;
const ofProviders = text.resources.providers;

const services = [...providerNames, ...partnerNames];

const providerField: Field = {
  name: "ai_provider_id",
  label: ofIntegrations.provider,
  kind: "select",
  required: true,
  placeholder: ofIntegrations.chooseProvider,
  options: services.map((name) => ({ value: name, label: name })),
};

/** Settings by provider; those of others have what all have. */
const settings: readonly Field[] = [
  ...services.map((provider) => settingsFieldOf(provider, ({ ai_provider_id: chosen }) => chosen === provider)),
  settingsFieldOf("", ({ ai_provider_id: chosen }) => chosen !== undefined && !services.includes(String(chosen))),
];

const credentialFields: readonly Field[] = [
  { name: "key", label: ofIntegrations.key, help: ofIntegrations.keyHelp, kind: "secret", from: "none" },
  ...settings,
  secretMappingsField,
  {
    name: "pricing_adjustments",
    label: ofIntegrations.pricing,
    help: ofIntegrations.pricingHelp,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/settings/price-input.tsx")).PriceInput }),
  },
];

/** The same of a record, whose key is not shown. */
const changedCredentials = credentialFields.map((field) =>
  field.name === "key" ? { ...field, help: ofIntegrations.keyKept } : field,
);

/** How the records of a list did in the last hour. */
const healthColumns = (kind: "provider" | "integration"): readonly Attribute[] => [
  { label: ofProviders.lastHour, path: "slug", track: "minmax(9rem, 1fr)", wide: true, render: healthOf(kind) },
  { label: ofProviders.p95, path: "slug", kind: "duration", track: "5rem", wide: true, render: slowestOf(kind) },
];

/** The same of one record. */
const healthFacts = (kind: "provider" | "integration"): readonly Attribute[] => [
  { label: ofProviders.lastHour, path: "slug", render: healthOf(kind) },
  { label: ofProviders.p95LastHour, path: "slug", render: slowestOf(kind) },
];

/** Accounts at model providers: `/v1/integrations`. */
export const integrations: Resource = {
  name: "integrations",
  group: "connect",
  icon: "integrations",
  text: { ...ofIntegrations, emptyHint: ofIntegrations.empty, emptyCommand: ofIntegrations.command(location.origin) },
  workspace: "optional",
  list: { path: "/v1/integrations", paging: numbered },
  id: "slug",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.slug, path: "slug", kind: "code", wide: true },
    { label: fields.provider, path: "ai_provider_id", track: "minmax(8rem, 1fr)" },
    { label: fields.belongsTo, path: "type", kind: "word", track: "8rem", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
    ...healthColumns("integration"),
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    ...healthFacts("integration"),
    { label: fields.description, path: "description" },
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.provider, path: "ai_provider_id" },
    { label: fields.belongsTo, path: "type", kind: "word" },
    { label: ofIntegrations.key, path: "masked_key", kind: "code" },
    { label: ofIntegrations.configurations, path: "configurations", render: showSettings },
    { label: fields.secretMappings, path: "secret_mappings", render: showMappings },
    { label: ofIntegrations.pricing, path: "pricing_adjustments.multiplier", render: showFactors },
    { label: fields.created, path: "created_at", kind: "time" },
    changedFact,
  ],
  read: "/v1/integrations/{slug}",
  shared: true,
  create: {
    rows: ["POST /v1/integrations"],
    fields: [
      nameField,
      providerField,
      slugField,
      descriptionField,
      // above what is loaded when a provider is chosen, so that it stays in its place
      { name: "create_default_provider", label: ofIntegrations.createProvider, kind: "switch", initial: true },
      ...credentialFields,
    ],
  },
  update: {
    rows: ["PUT /v1/integrations/{slug}"],
    fields: [nameField, { ...providerField, isFixed: true }, descriptionField, ...changedCredentials],
    when: isOwn,
  },
  remove: { row: "DELETE /v1/integrations/{slug}", when: isOwn },
  actions: [{ label: ofProviders.test, icon: "check", row: "POST /v1/integrations/{slug}/test", done: ofCredential }],
  sections: [
    {
      title: ofIntegrations.models,
      row: "GET /v1/integrations/{slug}/models",
      when: isOwn,
      load: () => import("@/resources/sections/models.tsx"),
    },
    {
      title: ofIntegrations.access,
      row: "GET /v1/integrations/{slug}/workspaces",
      when: isOwn,
      load: () => import("@/resources/sections/integration-access.tsx"),
    },
  ],
};

const limits: readonly Field[] = [
  { name: "note", label: fields.description, kind: "long" },
  usageLimitsField,
  oneRateLimitField,
  { name: "expires_at", label: fields.expires, kind: "time" },
];

/** Integrations as a workspace uses them: `/v1/providers`. */
export const providers: Resource = {
  name: "providers",
  group: "connect",
  icon: "providers",
  text: { ...ofProviders, emptyHint: ofProviders.empty },
  workspace: "required",
  list: { path: "/v1/providers", paging: numbered },
  id: "slug",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 2fr)" },
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.integration, path: "integration_name", wide: true, track: "minmax(8rem, 1fr)" },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
    ...healthColumns("provider"),
    { label: fields.expires, path: "expires_at", kind: "ago", track: "7rem", wide: true, empty: fields.never },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    ...healthFacts("provider"),
    { label: fields.description, path: "note" },
    { label: fields.slug, path: "slug", kind: "code" },
    {
      label: fields.integration,
      path: "integration_id",
      render: integrationAt("integrations", "integration_id", "integration_name"),
    },
    { label: fields.usageLimits, path: "usage_limits", kind: "settings", empty: fields.noLimit },
    { label: fields.rateLimits, path: "rate_limits", kind: "settings", empty: fields.noLimit },
    { label: fields.expires, path: "expires_at", kind: "time", empty: fields.never },
    { label: fields.created, path: "created_at", kind: "time" },
  ],
  read: "/v1/providers/{slug}",
  create: {
    rows: ["POST /v1/providers"],
    fields: [
      nameField,
      {
        name: "integration_id",
        label: fields.integration,
        kind: "select",
        required: true,
        placeholder: fields.chooseIntegration,
        options: { path: "/v1/integrations", value: "slug", label: "name" },
      },
      { ...slugField, help: ofProviders.slugHelp },
      ...limits,
    ],
  },
  update: { rows: ["PUT /v1/providers/{slug}"], fields: [nameField, ...limits] },
  remove: { row: "DELETE /v1/providers/{slug}" },
  actions: [{ label: ofProviders.test, icon: "check", row: "POST /v1/providers/{slug}/test", done: ofCredential }],
};
