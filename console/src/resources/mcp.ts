import { text } from "@/text/text.ts";
import { integrationAt, showMappings } from "./names.tsx";
import { choices, descriptionField, isOwn, nameField, numbered, secretMappingsField, slugField } from "./options.ts";
import { settingsFieldOf, showSettings } from "./settings/settings-field.ts";
import type { Field, Resource } from "./types.ts";

const fields = text.resources.fields;
const ofIntegrations = text.resources.mcpIntegrations;
const ofServers = text.resources.mcpServers;
const ofClients = text.resources.mcpClients;

const isOpenApi = (values: Readonly<Record<string, unknown>>) => values.transport === "openapi";

const connectionFields: readonly Field[] = [
  { name: "url", label: fields.url, kind: "text", required: true, placeholder: "https://tools.example/mcp" },
  {
    name: "auth_type",
    label: ofIntegrations.authType,
    kind: "select",
    required: true,
    initial: "none",
    options: choices("none", "headers", "oauth_auto", "oauth_client_credentials", "external"),
  },
  {
    name: "transport",
    label: ofIntegrations.transport,
    kind: "select",
    required: true,
    initial: "http",
    options: choices("http", "sse", "openapi"),
  },
  { name: "openapi", label: ofIntegrations.openapi, kind: "json", when: isOpenApi },
  descriptionField,
  settingsFieldOf("mcp"),
  secretMappingsField,
];

/** Tool servers an organisation knows: `/v1/mcp-integrations`. */
export const mcpIntegrations: Resource = {
  name: "mcp-integrations",
  group: "connect",
  icon: "plug",
  text: { ...ofIntegrations, emptyHint: ofIntegrations.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-integrations", paging: numbered },
  id: "slug",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 1fr)" },
    { label: fields.slug, path: "slug", kind: "code", wide: true },
    { label: fields.url, path: "url", kind: "code", track: "minmax(12rem, 2fr)", wide: true },
    { label: ofIntegrations.authType, path: "auth_type", kind: "word", track: "11rem", wide: true },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: fields.description, path: "description" },
    { label: fields.slug, path: "slug", kind: "code" },
    { label: fields.url, path: "url", kind: "code" },
    { label: ofIntegrations.transport, path: "transport", kind: "word" },
    { label: ofIntegrations.authType, path: "auth_type", kind: "word" },
    { label: ofIntegrations.configurations, path: "configurations", render: showSettings },
    { label: fields.secretMappings, path: "secret_mappings", render: showMappings },
    { label: fields.created, path: "created_at", kind: "time" },
    { label: text.common.changed, path: "last_updated_at", kind: "time", empty: fields.never },
  ],
  read: "/v1/mcp-integrations/{slug}",
  shared: true,
  create: {
    rows: ["POST /v1/mcp-integrations"],
    fields: [nameField, slugField, ...connectionFields],
  },
  update: {
    rows: ["PUT /v1/mcp-integrations/{slug}"],
    fields: [nameField, ...connectionFields],
    when: isOwn,
  },
  remove: { row: "DELETE /v1/mcp-integrations/{slug}", when: isOwn },
  actions: [
    {
      label: ofIntegrations.test,
      icon: "check",
      row: "POST /v1/mcp-integrations/{slug}/test",
      showAnswer: true,
      when: isOwn,
    },
    {
      label: ofIntegrations.sync,
      icon: "refresh",
      row: "POST /v1/mcp-integrations/{slug}/sync",
      showAnswer: true,
      when: isOwn,
    },
  ],
  sections: [
    {
      title: ofIntegrations.capabilities,
      row: "GET /v1/mcp-integrations/{slug}/capabilities",
      when: isOwn,
      load: async () => ({ default: (await import("./sections/capabilities.tsx")).IntegrationCapabilities }),
    },
  ],
};

const serverFields: readonly Field[] = [
  { name: "aggregate", label: ofServers.aggregate, help: ofServers.aggregateHelp, kind: "json" },
  descriptionField,
  { name: "settings", label: ofServers.settings, help: ofServers.settingsHelp, kind: "json" },
];

/** Tool servers as a workspace offers them: `/v1/mcp-servers`. */
export const mcpServers: Resource = {
  name: "mcp-servers",
  group: "connect",
  icon: "mcp",
  text: { ...ofServers, emptyHint: ofServers.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-servers", paging: numbered },
  id: "slug",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 1fr)" },
    { label: ofServers.address, path: "url", kind: "code", track: "minmax(12rem, 2fr)", wide: true },
    {
      label: fields.integration,
      path: "mcp_integration_name",
      wide: true,
      track: "minmax(8rem, 1fr)",
      empty: ofServers.joined,
    },
    { label: text.common.status, path: "status", kind: "status", track: "6rem" },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: text.common.status, path: "status", kind: "status" },
    { label: fields.description, path: "description" },
    { label: ofServers.address, path: "url", kind: "code" },
    { label: fields.slug, path: "slug", kind: "code" },
    {
      label: fields.integration,
      path: "mcp_integration_details.slug",
      render: integrationAt("mcp-integrations", "mcp_integration_details.slug", "mcp_integration_details.name"),
    },
    { label: ofServers.aggregate, path: "aggregate", kind: "json" },
    { label: ofServers.settings, path: "settings", kind: "settings" },
    { label: fields.created, path: "created_at", kind: "time" },
    { label: text.common.changed, path: "last_updated_at", kind: "time", empty: fields.never },
  ],
  read: "/v1/mcp-servers/{slug}",
  create: {
    rows: ["POST /v1/mcp-servers"],
    fields: [
      nameField,
      {
        name: "mcp_integration_id",
        label: fields.integration,
        kind: "select",
        options: { path: "/v1/mcp-integrations", value: "slug", label: "name" },
      },
      slugField,
      ...serverFields,
    ],
  },
  update: { rows: ["PUT /v1/mcp-servers/{slug}"], fields: [nameField, ...serverFields] },
  remove: { row: "DELETE /v1/mcp-servers/{slug}" },
  actions: [{ label: ofIntegrations.test, icon: "check", row: "POST /v1/mcp-servers/{slug}/test", showAnswer: true }],
  sections: [
    {
      title: ofIntegrations.capabilities,
      row: "GET /v1/mcp-servers/{slug}/capabilities",
      load: async () => ({ default: (await import("./sections/capabilities.tsx")).ServerCapabilities }),
    },
    {
      title: ofServers.access,
      row: "GET /v1/mcp-servers/{slug}/user-access",
      load: () => import("./sections/user-access.tsx"),
    },
    {
      title: ofServers.connections,
      row: "GET /v1/mcp-servers/{slug}/connections",
      load: () => import("./sections/connections.tsx"),
    },
  ],
};

/** Clients of the gateway's authorization server: `/v1/mcp-oauth-clients`. */
export const mcpClients: Resource = {
  name: "mcp-oauth-clients",
  group: "connect",
  icon: "clients",
  text: { ...ofClients, emptyHint: ofClients.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-oauth-clients" },
  id: "client_id",
  title: "name",
  columns: [
    { label: fields.name, path: "name", track: "minmax(10rem, 1fr)" },
    { label: fields.id, path: "client_id", kind: "code" },
    { label: ofClients.grants, path: "grant_types", kind: "words", wide: true, track: "minmax(12rem, 1fr)" },
    { label: fields.created, path: "created_at", kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, path: "name" },
    { label: ofClients.grants, path: "grant_types", kind: "words" },
    { label: ofClients.redirects, path: "redirect_uris", kind: "tags" },
    { label: ofClients.method, path: "token_endpoint_auth_method", kind: "word" },
    { label: fields.created, path: "created_at", kind: "time" },
    { label: fields.id, path: "client_id", kind: "code" },
  ],
  read: "/v1/mcp-oauth-clients/{id}",
  create: {
    rows: ["POST /v1/mcp-oauth-clients"],
    fields: [
      nameField,
      { name: "redirect_uris", label: ofClients.redirects, help: fields.enterEach, kind: "tags" },
      {
        name: "grant_types",
        label: ofClients.grants,
        kind: "multi",
        initial: ["authorization_code", "refresh_token"],
        options: choices("authorization_code", "refresh_token", "client_credentials"),
      },
      {
        name: "token_endpoint_auth_method",
        label: ofClients.method,
        kind: "select",
        placeholder: ofClients.anyMethod,
        options: choices("none", "client_secret_basic", "client_secret_post", "private_key_jwt"),
      },
    ],
    secret: ["client_secret"],
  },
  remove: { row: "DELETE /v1/mcp-oauth-clients/{id}" },
};
