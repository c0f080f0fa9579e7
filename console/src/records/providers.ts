import { createElement } from "react";
import { gatewayUrl } from "@/api/base.ts";
import { partnerNames, providerNames } from "@/api/providers.gen.ts";
import type { Attribute } from "@/components/attribute.ts";
import { echoIntegration } from "@/lib/first-request.ts";
import { action, defineResource, optionsOf } from "@/resources/define.ts";
import { ofCredential, showHealth, showSlowest } from "@/resources/health.tsx";
import { IntegrationLink, showMappings } from "@/resources/names.tsx";
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
import type { Field } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofIntegrations = text.resources.integrations;
const ofProviders = text.resources.providers;

const services = [...providerNames, ...partnerNames];

const providerField: Field<"ai_provider_id"> = {
  name: "ai_provider_id",
  label: ofIntegrations.provider,
  kind: "select",
  required: true,
  placeholder: ofIntegrations.chooseProvider,
  options: [
    ...providerNames.map((name) => ({ value: name, label: name, group: ofIntegrations.modelProviders })),
    ...partnerNames.map((name) => ({ value: name, label: name, group: ofIntegrations.checkingServices })),
  ],
};

/** Settings by provider; those of others have what all have. */
const settings: readonly Field<"configurations">[] = [
  ...services.map((provider) => settingsFieldOf(provider, ({ ai_provider_id: chosen }) => chosen === provider)),
  settingsFieldOf("", ({ ai_provider_id: chosen }) => chosen !== undefined && !services.includes(String(chosen))),
];

const credentialFields = [
  { name: "key", label: ofIntegrations.key, help: ofIntegrations.keyHelp, kind: "secret", from: () => undefined },
  ...settings,
  secretMappingsField,
  { name: "labels", label: ofIntegrations.labels, help: ofIntegrations.labelsHelp, kind: "json" },
  {
    name: "pricing_adjustments",
    label: ofIntegrations.pricing,
    help: ofIntegrations.pricingHelp,
    kind: "own",
    input: async () => ({ default: (await import("@/resources/settings/price-input.tsx")).PriceInput }),
  },
] as const satisfies readonly Field[];

/** The same of a record, whose key is not shown. */
const changedCredentials = credentialFields.map((field) =>
  field.name === "key" ? { ...field, help: ofIntegrations.keyKept } : field,
);

/** How the records of a list did in the last hour. */
const healthColumns = <T>(kind: "provider" | "integration", nameOf: (row: T) => string): readonly Attribute<T>[] => [
  {
    label: ofProviders.lastHour,
    of: nameOf,
    track: "minmax(9rem, 1fr)",
    wide: true,
    render: (row) => showHealth(kind, nameOf(row)),
  },
  {
    label: ofProviders.p95,
    of: nameOf,
    kind: "duration",
    track: "5rem",
    wide: true,
    render: (row) => showSlowest(kind, nameOf(row)),
  },
];

/** The same of one record. */
const healthFacts = <T>(kind: "provider" | "integration", nameOf: (row: T) => string): readonly Attribute<T>[] => [
  { label: ofProviders.lastHour, of: nameOf, render: (row) => showHealth(kind, nameOf(row)) },
  { label: ofProviders.p95LastHour, of: nameOf, render: (row) => showSlowest(kind, nameOf(row)) },
];

/** Accounts at model providers: `/v1/integrations`. */
export const integrations = defineResource({
  name: "integrations",
  text: { ...ofIntegrations, emptyHint: ofIntegrations.empty, emptyCommand: echoIntegration(gatewayUrl) },
  workspace: "optional",
  list: { path: "/v1/integrations", paging: numbered },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id", wide: true },
    { label: fields.provider, of: ({ ai_provider_id }) => ai_provider_id, track: "minmax(8rem, 1fr)" },
    { label: fields.belongsTo, of: ({ type }) => type, kind: "word", track: "8rem", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
    ...healthColumns<{ id: string }>("integration", ({ id }) => id),
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    ...healthFacts<{ id: string }>("integration", ({ id }) => id),
    { label: fields.description, of: ({ description }) => description },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.provider, of: ({ ai_provider_id }) => ai_provider_id },
    { label: fields.belongsTo, of: ({ type }) => type, kind: "word" },
    { label: ofIntegrations.key, of: ({ masked_key }) => masked_key, kind: "code" },
    {
      label: ofIntegrations.configurations,
      of: ({ configurations }) => configurations,
      render: ({ configurations }) => showSettings(configurations ?? {}),
    },
    { label: fields.secretMappings, of: ({ secret_mappings }) => secret_mappings, render: showMappings },
    { label: ofIntegrations.labels, of: ({ labels }) => labels, kind: "json", empty: fields.none },
    {
      label: ofIntegrations.pricing,
      of: ({ pricing_adjustments: pricing }) => pricing?.multiplier,
      render: ({ pricing_adjustments: pricing }) => showFactors(pricing?.multiplier ?? {}),
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/integrations/{slug}",
  shared: true,
  create: {
    rows: ["POST /v1/integrations"],
    made: ({ slug }) => slug,
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
    others: ["ai_provider_id"],
    fields: [nameField, { ...providerField, isFixed: true }, descriptionField, ...changedCredentials],
    when: isOwn,
  },
  remove: { row: "DELETE /v1/integrations/{slug}", when: isOwn },
  actions: [
    action({ label: ofProviders.test, icon: "check", row: "POST /v1/integrations/{slug}/test", done: ofCredential }),
  ],
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
});

const limits = [
  { name: "note", label: fields.description, kind: "long" },
  usageLimitsField,
  oneRateLimitField,
  { name: "expires_at", label: fields.expires, kind: "time" },
] as const satisfies readonly Field[];

/** Integrations as a workspace uses them: `/v1/providers`. */
export const providers = defineResource({
  name: "providers",
  text: { ...ofProviders, emptyHint: ofProviders.empty },
  workspace: "required",
  list: { path: "/v1/providers", paging: numbered },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 2fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    {
      label: fields.integration,
      of: ({ integration_name }) => integration_name,
      wide: true,
      track: "minmax(8rem, 1fr)",
    },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
    ...healthColumns<{ slug: string }>("provider", ({ slug }) => slug),
    {
      label: fields.expires,
      of: ({ expires_at }) => expires_at,
      kind: "ago",
      track: "7rem",
      wide: true,
      empty: fields.never,
    },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    ...healthFacts<{ slug: string }>("provider", ({ slug }) => slug),
    { label: fields.description, of: ({ note }) => note },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    {
      label: fields.integration,
      of: ({ integration_id }) => integration_id,
      render: ({ integration_id: slug, integration_name: name }) =>
        slug && createElement(IntegrationLink, { kind: "integrations", slug, name }),
    },
    { label: fields.usageLimits, of: ({ usage_limits }) => usage_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.rateLimits, of: ({ rate_limits }) => rate_limits, kind: "settings", empty: fields.noLimit },
    { label: fields.expires, of: ({ expires_at }) => expires_at, kind: "time", empty: fields.never },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
  ],
  read: "/v1/providers/{slug}",
  create: {
    rows: ["POST /v1/providers"],
    made: ({ slug }) => slug,
    fields: [
      nameField,
      {
        name: "integration_id",
        label: fields.integration,
        kind: "select",
        required: true,
        placeholder: fields.chooseIntegration,
        options: optionsOf("/v1/integrations", ({ name, slug }) => ({ value: slug, label: name })),
      },
      { ...slugField, help: ofProviders.slugHelp },
      ...limits,
    ],
  },
  update: { rows: ["PUT /v1/providers/{slug}"], fields: [nameField, ...limits] },
  remove: { row: "DELETE /v1/providers/{slug}" },
  actions: [
    action({ label: ofProviders.test, icon: "check", row: "POST /v1/providers/{slug}/test", done: ofCredential }),
  ],
});
