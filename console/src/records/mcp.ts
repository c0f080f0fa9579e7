import { createElement } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { formatDuration } from "@/lib/format.ts";
import { isJsonObject } from "@/lib/json.ts";
import { action, defineResource, optionsOf } from "@/resources/define.ts";
import { needsAccounts, showJoined, showServerSettings } from "@/resources/mcp-facts.tsx";
import { IntegrationLink, showMappings } from "@/resources/names.tsx";
import {
  changedFact,
  choices,
  descriptionField,
  isOwn,
  nameField,
  numbered,
  secretMappingsField,
  slugField,
  toOptions,
} from "@/resources/options.ts";
import { settingsFieldOf, showSettings } from "@/resources/settings/settings-field.ts";
import type { ActionResult, Field, Values } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const fields = text.resources.fields;
const ofIntegrations = text.resources.mcpIntegrations;
const ofServers = text.resources.mcpServers;
const ofClients = text.resources.mcpClients;

const isOpenApi = (values: Values) => values.transport === "openapi";

/** A test in words: it fails in the answer, not by its status. */
function ofTest(answer: AnswerOf<"POST /v1/mcp-servers/{slug}/test">): ActionResult {
  const { success, message, url, status_code: status, server_name: server } = answer;
  return {
    message: success ? ofIntegrations.answered({ time: formatDuration(answer.response_time_ms) }) : message,
    isFailure: !success,
    facts: [
      [ofServers.address, url],
      ...(status === null ? [] : [[text.common.status, String(status)] as const]),
      ...(server === null ? [] : [[ofIntegrations.answerer, server] as const]),
    ],
  };
}

const ofSync = ({ success, message }: AnswerOf<"POST /v1/mcp-integrations/{slug}/sync">): ActionResult =>
  success ? { message: ofIntegrations.synced } : { message, isFailure: true, facts: [] };

const connectionFields = [
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
  { name: "openapi", label: ofIntegrations.openapi, kind: "json", from: () => undefined, when: isOpenApi },
  descriptionField,
  settingsFieldOf("mcp"),
  secretMappingsField,
] as const satisfies readonly Field[];

/** Tool servers an organisation knows: `/v1/mcp-integrations`. */
export const mcpIntegrations = defineResource({
  name: "mcp-integrations",
  text: { ...ofIntegrations, emptyHint: ofIntegrations.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-integrations", paging: numbered },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 1fr)" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id", wide: true },
    { label: fields.url, of: ({ url }) => url, kind: "id", track: "minmax(12rem, 2fr)", wide: true },
    { label: ofIntegrations.authType, of: ({ auth_type }) => auth_type, kind: "word", track: "11rem", wide: true },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    { label: fields.url, of: ({ url }) => url, kind: "id" },
    { label: ofIntegrations.transport, of: ({ transport }) => transport, kind: "word" },
    { label: ofIntegrations.authType, of: ({ auth_type }) => auth_type, kind: "word" },
    {
      label: ofIntegrations.configurations,
      of: ({ configurations }) => configurations,
      render: ({ configurations }) => showSettings(configurations ?? {}),
    },
    { label: fields.secretMappings, of: ({ secret_mappings }) => secret_mappings, render: showMappings },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/mcp-integrations/{slug}",
  shared: true,
  create: {
    rows: ["POST /v1/mcp-integrations"],
    made: ({ slug }) => slug,
    fields: [nameField, slugField, ...connectionFields],
  },
  update: {
    rows: ["PUT /v1/mcp-integrations/{slug}"],
    fields: [nameField, ...connectionFields],
    when: isOwn,
  },
  remove: { row: "DELETE /v1/mcp-integrations/{slug}", when: isOwn },
  actions: [
    action({
      label: ofIntegrations.test,
      icon: "check",
      row: "POST /v1/mcp-integrations/{slug}/test",
      done: ofTest,
      when: isOwn,
    }),
    action({
      label: ofIntegrations.sync,
      icon: "refresh",
      row: "POST /v1/mcp-integrations/{slug}/sync",
      done: ofSync,
      when: isOwn,
    }),
  ],
  sections: [
    {
      title: ofIntegrations.capabilities,
      row: "GET /v1/mcp-integrations/{slug}/capabilities",
      when: isOwn,
      load: async () => ({ default: (await import("@/resources/sections/capabilities.tsx")).IntegrationCapabilities }),
    },
  ],
});

/** Members of `settings` that are on or off. */
const switches = [
  "check_arguments",
  "strict_resources",
  "list_without_connection",
  "retry_calls",
  "refuse_binary",
  "soft_429",
] as const;

const settingFields = [
  {
    name: "settings.pinning",
    label: ofServers.settingLabels.pinning,
    kind: "select",
    required: true,
    initial: "log",
    options: toOptions(ofServers.pinning),
  },
  {
    name: "settings.tool_mode",
    label: ofServers.settingLabels.tool_mode,
    kind: "select",
    required: true,
    initial: "all",
    options: toOptions(ofServers.toolMode),
  },
  {
    name: "settings.timeout_ms",
    label: ofServers.settingLabels.timeout_ms,
    kind: "number",
    placeholder: ofServers.gatewayLimit,
  },
  ...switches.map((name) => {
    const help = ofServers.settingHelp[name];
    return {
      name: `settings.${name}` as const,
      label: ofServers.settingLabels[name],
      kind: "switch" as const,
      initial: name === "check_arguments",
      ...(help !== undefined && { help }),
    };
  }),
] as const satisfies readonly Field[];

/** The servers that one joins: its body holds all of them. */
const joinedFields = (when: NonNullable<Field["when"]>) =>
  [
    {
      name: "aggregate.members",
      label: ofServers.aggregate,
      help: ofServers.aggregateHelp,
      kind: "rows",
      required: true,
      initial: [{}],
      most: 16,
      add: ofServers.addMember,
      when,
      columns: [
        {
          name: "mcp_server_id",
          label: ofServers.one,
          kind: "select",
          required: true,
          placeholder: ofServers.chooseServer,
          options: optionsOf("/v1/mcp-servers", ({ id, name }) => ({ value: id, label: name })),
        },
        { name: "prefix", label: ofServers.prefix, kind: "text", required: true },
        { name: "include", label: ofServers.include, kind: "tags", placeholder: ofServers.everyTool },
        { name: "exclude", label: ofServers.exclude, kind: "tags" },
      ],
      fromLine: ({ include, exclude, ...line }) => ({
        ...line,
        ...(hasEntries(include) && { include }),
        ...(hasEntries(exclude) && { exclude }),
      }),
    },
    {
      name: "aggregate.prefix_mode",
      label: ofServers.prefixMode,
      kind: "select",
      required: true,
      initial: "always",
      options: toOptions(ofServers.prefixModes),
      when,
    },
  ] as const satisfies readonly Field[];

const hasEntries = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** How the form of a new server begins: with an integration, or with servers that it joins. */
const sourceField: Field<"source"> = {
  name: "source",
  label: ofServers.source,
  kind: "select",
  required: true,
  initial: "integration",
  options: toOptions(ofServers.sources),
};
const isJoined = ({ source }: Values): boolean => source === "servers";

/** A change of one member of `aggregate` is sent with the others. */
function withAggregate(body: Values, record: AnswerOf<"GET /v1/mcp-servers/{slug}"> | undefined): Values {
  if (!isJsonObject(body.aggregate) || !record?.aggregate) return body;
  return { ...body, aggregate: { ...record.aggregate, ...body.aggregate } };
}

/** Tool servers as a workspace offers them: `/v1/mcp-servers`. */
export const mcpServers = defineResource({
  name: "mcp-servers",
  text: { ...ofServers, emptyHint: ofServers.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-servers", paging: numbered },
  id: ({ slug }) => slug,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 1fr)" },
    { label: ofServers.address, of: ({ url }) => url, kind: "id", track: "minmax(12rem, 2fr)", wide: true },
    {
      label: fields.integration,
      of: ({ mcp_integration_name }) => mcp_integration_name,
      wide: true,
      track: "minmax(8rem, 1fr)",
      empty: ofServers.joined,
    },
    { label: text.common.status, of: ({ status }) => status, kind: "status", track: "6rem" },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
    { label: fields.description, of: ({ description }) => description },
    { label: ofServers.address, of: ({ url }) => url, kind: "id" },
    { label: fields.slug, of: ({ slug }) => slug, kind: "id" },
    {
      label: fields.integration,
      of: ({ mcp_integration_details: integration }) => integration?.slug,
      render: ({ mcp_integration_details: integration }) =>
        integration && createElement(IntegrationLink, { kind: "mcp-integrations", ...integration }),
    },
    { label: ofServers.aggregate, of: ({ aggregate }) => aggregate, render: showJoined, empty: text.common.none },
    { label: ofServers.settings, of: ({ settings }) => settings, render: showServerSettings },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    changedFact,
  ],
  read: "/v1/mcp-servers/{slug}",
  create: {
    rows: ["POST /v1/mcp-servers"],
    fields: [
      nameField,
      sourceField,
      {
        name: "mcp_integration_id",
        label: fields.integration,
        kind: "select",
        required: true,
        placeholder: fields.chooseIntegration,
        options: optionsOf("/v1/mcp-integrations", ({ name, slug }) => ({ value: slug, label: name })),
        when: (values) => !isJoined(values),
      },
      ...joinedFields(isJoined),
      { ...slugField, help: ofServers.slugHelp },
      descriptionField,
      ...settingFields,
    ],
    others: ["source"],
    made: ({ slug }) => slug,
    isOfWorkspace: () => true,
    toBody: ({ source: _, ...body }) => body,
  },
  update: {
    rows: ["PUT /v1/mcp-servers/{slug}"],
    fields: [
      nameField,
      descriptionField,
      ...joinedFields((values) => values["aggregate.members"] !== undefined),
      ...settingFields,
    ],
    toBody: withAggregate,
  },
  remove: { row: "DELETE /v1/mcp-servers/{slug}" },
  actions: [
    action({ label: ofIntegrations.test, icon: "check", row: "POST /v1/mcp-servers/{slug}/test", done: ofTest }),
  ],
  sections: [
    {
      title: ofIntegrations.capabilities,
      row: "GET /v1/mcp-servers/{slug}/capabilities",
      load: async () => ({ default: (await import("@/resources/sections/capabilities.tsx")).ServerCapabilities }),
    },
    {
      title: ofServers.connect,
      row: "GET /v1/mcp-servers/{slug}",
      load: () => import("@/resources/sections/mcp-connect.tsx"),
    },
    {
      title: ofServers.access,
      row: "GET /v1/mcp-servers/{slug}/user-access",
      load: () => import("@/resources/sections/user-access.tsx"),
    },
    {
      title: ofServers.connections,
      row: "GET /v1/mcp-servers/{slug}/connections",
      when: needsAccounts,
      load: () => import("@/resources/sections/connections.tsx"),
    },
  ],
});

/** Clients of the gateway's authorization server: `/v1/mcp-oauth-clients`. */
export const mcpClients = defineResource({
  name: "mcp-oauth-clients",
  text: { ...ofClients, emptyHint: ofClients.empty },
  workspace: "optional",
  list: { path: "/v1/mcp-oauth-clients" },
  id: ({ client_id }) => client_id,
  title: ({ name }) => name,
  columns: [
    { label: fields.name, of: ({ name }) => name, track: "minmax(10rem, 1fr)" },
    { label: fields.id, of: ({ client_id }) => client_id, kind: "id" },
    {
      label: ofClients.grants,
      of: ({ grant_types }) => grant_types,
      kind: "words",
      wide: true,
      track: "minmax(12rem, 1fr)",
    },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "ago", track: "7rem", wide: true },
  ],
  facts: [
    { label: fields.name, of: ({ name }) => name },
    { label: ofClients.grants, of: ({ grant_types }) => grant_types, kind: "words" },
    { label: ofClients.redirects, of: ({ redirect_uris }) => redirect_uris, kind: "tags" },
    { label: ofClients.method, of: ({ token_endpoint_auth_method }) => token_endpoint_auth_method, kind: "word" },
    { label: fields.created, of: ({ created_at }) => created_at, kind: "time" },
    { label: fields.id, of: ({ client_id }) => client_id, kind: "id" },
  ],
  read: "/v1/mcp-oauth-clients/{id}",
  create: {
    rows: ["POST /v1/mcp-oauth-clients"],
    made: ({ client_id: id }) => id,
    fields: [
      nameField,
      { name: "redirect_uris", label: ofClients.redirects, kind: "tags" },
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
    // one that acts for itself has one workspace; others have those of their users
    isOfWorkspace: ({ grant_types: grants }) => Array.isArray(grants) && grants.includes("client_credentials"),
    secret: ({ client_secret }) => client_secret,
  },
  remove: { row: "DELETE /v1/mcp-oauth-clients/{id}" },
});
