import * as v from "valibot";
import { findJsonExcess } from "../lib/json.ts";
import { Description, Flag, Name, Reference, SecretMappings, ShownSecretMapping, Slug, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, JsonObject, pageOf } from "./objects.ts";
import { wholeFrom } from "./whole-number.ts";

/** How an MCP integration reaches its server; `openapi` makes one of an OpenAPI document. */
export const mcpTransports = ["http", "sse", "openapi"] as const;
/** Where the credential for an upstream server comes from. */
export const mcpAuthTypes = ["none", "headers", "oauth_auto", "oauth_client_credentials", "external"] as const;
/** What a tool server offers. */
export const capabilityTypes = ["tool", "prompt", "resource", "resource_template"] as const;
/** What an MCP integration or server can be. */
export const mcpStatuses = ["active", "archived"] as const;
/** How the last sync of an MCP integration ended. */
export const syncStatuses = ["pending", "success", "failed"] as const;
/** Who may use an MCP server without a separate entry. */
export const userAccesses = ["allow", "deny"] as const;
const pinnings = ["log", "hide", "hold"] as const;
const toolModes = ["all", "search"] as const;
const prefixModes = ["always", "conditional", "never"] as const;

const Transport = v.picklist(mcpTransports, `must be one of ${mcpTransports.join(", ")}`);
const AuthType = v.picklist(mcpAuthTypes, `must be one of ${mcpAuthTypes.join(", ")}`);
const Url = v.pipe(Text(2_048), v.regex(/^https?:\/\//, "must begin with https:// or http://"));

/** Settings of an upstream server by name; which there are is in `mcp-integration-members.ts`. */
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

/** Longest OpenAPI document, in characters of its JSON. */
const maxDocument = 900_000;

/** An OpenAPI document, versions 3.0 and 3.1, as an object or as JSON text. */
const OpenapiDocument = v.pipe(
  v.union(
    [
      v.pipe(
        v.string(),
        v.maxLength(maxDocument, "is too long"),
        v.check(
          (text) => findJsonExcess(new TextEncoder().encode(text)) === undefined,
          "has too many values or levels",
        ),
        v.parseJson(),
      ),
      JsonObject,
    ],
    "must be an object",
  ),
  JsonObject,
  v.check(
    ({ openapi }) => typeof openapi === "string" && /^3\.[01](?:\.|$)/.test(openapi),
    "must be OpenAPI 3.0 or 3.1",
  ),
  v.check(({ paths }) => typeof paths === "object" && paths !== null, "must have paths"),
  v.transform((document) => JSON.stringify(document)),
);

/** Body of `POST /mcp-integrations`. */
export const CreateMcpIntegration = closedObject({
  openapi: v.nullish(OpenapiDocument),
  name: Name,
  url: Url,
  auth_type: AuthType,
  transport: Transport,
  slug: v.nullish(Slug),
  description: Description,
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
  configurations: Configurations,
  secret_mappings: v.nullish(SecretMappings),
});
export type CreateMcpIntegration = v.InferOutput<typeof CreateMcpIntegration>;

/** Refuses an update without a change. */
function changesSomething(body: object): boolean {
  const places = ["workspace_id", "organisation_id"];
  return Object.entries(body).some(([name, value]) => value !== undefined && !places.includes(name));
}

/** Body of `PUT /mcp-integrations/{slug}`. */
export const UpdateMcpIntegration = v.pipe(
  changesOf({
    openapi: v.optional(OpenapiDocument),
    name: v.optional(Name),
    url: v.optional(Url),
    auth_type: v.optional(AuthType),
    transport: v.optional(Transport),
    description: Description,
    workspace_id: v.nullish(Reference),
    configurations: Configurations,
    secret_mappings: v.nullish(SecretMappings),
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type UpdateMcpIntegration = v.InferOutput<typeof UpdateMcpIntegration>;

/** How changed definitions of tools are treated: passed, left out, or replaced by the approved ones. */
const Pinning = v.picklist(pinnings, "must be one of log, hide, hold");

/** Settings of an MCP server, with their defaults. */
export const McpServerSettings = v.object({
  /** What happens to definitions that differ from the approved ones. */
  pinning: v.optional(Pinning, "log"),
  /** Arguments of tools are checked against their schema. */
  check_arguments: v.optional(Flag, true),
  /** Only resources that the server lists can be read. */
  strict_resources: v.optional(Flag, false),
  /** Users without an account at the server see its stored lists. */
  list_without_connection: v.optional(Flag, false),
  /** A rate limit answers with status 200. */
  soft_429: v.optional(Flag, false),
  /** Tools that change nothing are called again, once, if the server is away. */
  retry_calls: v.optional(Flag, false),
  /** Results with images, audio or files are refused: guardrails cannot read them. */
  refuse_binary: v.optional(Flag, false),
  /** `search` lists two tools that find and call the others. */
  tool_mode: v.optional(v.picklist(toolModes, "must be one of all, search"), "all"),
  /** Longest duration of a call, in milliseconds; null: that of the gateway. */
  timeout_ms: v.optional(v.nullable(wholeFrom(1_000, 600_000)), null),
});
export type McpServerSettings = v.InferOutput<typeof McpServerSettings>;

/** New values of settings; absent ones stay. */
const settingsMembers = v.partial(McpServerSettings).entries;

/** A slug of an MCP server: unique in the organisation. */
const ServerSlug = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{3,50}$/, "must be 3 to 50 letters, digits, _ or -"));

const ServerDescription = v.nullish(Text(500, 0));

const Prefix = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,24}$/, "must be 1 to 24 lower-case letters, digits or -"));
const PrefixMode = v.picklist(prefixModes, "must be one of always, conditional, never");
const Names = v.nullish(
  v.pipe(v.array(Text(256), "must be a list"), v.maxLength(1_000, "must have at most 1000 entries")),
);

/** What a server that joins others is made of. */
const Aggregate = closedObject({
  members: v.pipe(
    v.array(
      closedObject({ mcp_server_id: Reference, prefix: Prefix, include: Names, exclude: Names }),
      "must be a list",
    ),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(16, "must have at most 16 entries"),
    v.check((list) => new Set(list.map(({ prefix }) => prefix)).size === list.length, "must have each prefix once"),
  ),
  prefix_mode: v.optional(PrefixMode, "always"),
});
export type Aggregate = v.InferOutput<typeof Aggregate>;

/** The same as it is stored: members by id. */
export const StoredAggregate = v.object({
  members: v.array(v.object({ server_id: v.string(), prefix: v.string(), include: Names, exclude: Names })),
  prefix_mode: PrefixMode,
});

/** Body of `POST /mcp-servers`. */
export const CreateMcpServer = closedObject({
  name: Name,
  mcp_integration_id: v.nullish(Reference),
  aggregate: v.nullish(Aggregate),
  description: ServerDescription,
  slug: v.nullish(ServerSlug),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
  settings: v.nullish(closedObject(settingsMembers)),
});
export type CreateMcpServer = v.InferOutput<typeof CreateMcpServer>;

/** Body of `PUT /mcp-servers/{slug}`. */
export const UpdateMcpServer = v.pipe(
  changesOf({
    name: v.optional(Name),
    description: ServerDescription,
    aggregate: v.optional(Aggregate),
    workspace_id: v.nullish(Reference),
    settings: v.nullish(changesOf(settingsMembers)),
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type UpdateMcpServer = v.InferOutput<typeof UpdateMcpServer>;

/** Body of `PUT /mcp-integrations/{slug}/workspaces`. */
export const UpdateMcpWorkspaces = changesOf({
  workspaces: v.pipe(
    v.array(changesOf({ id: Reference, enabled: Flag }), "must be a list"),
    v.maxLength(1_000, "must have at most 1000 entries"),
  ),
  global_workspace_access: v.nullish(changesOf({ enabled: Flag })),
  override_existing_workspace_access: v.nullish(Flag),
});
export type UpdateMcpWorkspaces = v.InferOutput<typeof UpdateMcpWorkspaces>;

const CapabilityType = v.picklist(capabilityTypes, `must be one of ${capabilityTypes.join(", ")}`);

/** The name of a tool or prompt, a URI, or a template of URIs. */
const CapabilityName = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(2_048, "must have at most 2048 characters"),
  v.check((name) => !name.includes("\0"), "must not contain the character U+0000"),
);

const capability = { name: CapabilityName, type: CapabilityType };

/** Whether each capability of a list is named once. */
function namesEachOnce(list: readonly { name: string; type: string }[]): boolean {
  return new Set(list.map(({ name, type }) => `${type} ${name}`)).size === list.length;
}

/** Body of `PUT …/capabilities`. */
export const UpdateCapabilities = changesOf({
  capabilities: v.pipe(
    v.array(changesOf({ ...capability, enabled: Flag }), "must be a list"),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(1_000, "must have at most 1000 entries"),
    v.check((list) => namesEachOnce(list), "must name each capability once"),
  ),
  workspace_id: v.nullish(Reference),
});
export type UpdateCapabilities = v.InferOutput<typeof UpdateCapabilities>;

const maybeText = v.nullish(Text(2_048, 0));
const Icons = v.nullish(v.pipe(v.array(JsonObject, "must be a list"), v.maxLength(20, "must have at most 20 entries")));

/** Body of `POST /mcp-servers/{slug}/capabilities/sync`: what a server offers, as someone else read it. */
export const SyncCapabilities = closedObject({
  capabilities: v.pipe(
    v.array(
      closedObject({
        ...capability,
        title: maybeText,
        description: v.nullish(Text(65_536, 0)),
        icons: Icons,
        input_schema: v.nullish(JsonObject),
        // the name of `input_schema` in a released client
        schema: v.nullish(JsonObject),
        output_schema: v.nullish(JsonObject),
        execution: v.nullish(JsonObject),
        annotations: v.nullish(JsonObject),
        arguments: v.nullish(v.pipe(v.array(JsonObject, "must be a list"), v.maxLength(100))),
        uri: maybeText,
        uri_template: maybeText,
        mime_type: maybeText,
        size: v.nullish(wholeFrom(0, Number.MAX_SAFE_INTEGER)),
      }),
      "must be a list",
    ),
    v.maxLength(1_000, "must have at most 1000 entries"),
    v.check((list) => namesEachOnce(list), "must name each capability once"),
  ),
  workspace_id: v.nullish(Reference),
});
export type SyncCapabilities = v.InferOutput<typeof SyncCapabilities>;

/** Body of `POST /mcp-servers/{slug}/metadata/sync`: what a server says of itself; absent fields stay. */
export const SyncMetadata = v.pipe(
  closedObject({
    server_name: maybeText,
    server_version: v.nullish(Text(255, 0)),
    title: maybeText,
    description: v.nullish(Text(4_096, 0)),
    website_url: maybeText,
    icons: Icons,
    protocol_version: v.nullish(Text(64, 0)),
    capability_flags: v.nullish(JsonObject),
    instructions: v.nullish(Text(16_384, 0)),
    workspace_id: v.nullish(Reference),
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type SyncMetadata = v.InferOutput<typeof SyncMetadata>;

/** Body of `POST /mcp-integrations/{slug}/capabilities/approve`: all of them, or some. */
export const ApproveCapabilities = closedObject({
  capabilities: v.optional(
    v.pipe(
      v.array(closedObject(capability), "must be a list"),
      v.minLength(1, "must have at least 1 entry"),
      v.maxLength(1_000, "must have at most 1000 entries"),
    ),
  ),
  workspace_id: v.nullish(Reference),
});
export type ApproveCapabilities = v.InferOutput<typeof ApproveCapabilities>;

/** Body of `PUT /mcp-servers/{slug}/user-access`. */
export const UpdateUserAccess = v.pipe(
  changesOf({
    user_access: v.optional(
      v.pipe(
        // null removes the entry: the default decides again
        v.array(changesOf({ user_id: Reference, enabled: v.nullable(Flag) }), "must be a list"),
        v.maxLength(1_000, "must have at most 1000 entries"),
        v.check((list) => new Set(list.map(({ user_id }) => user_id)).size === list.length, "must name each user once"),
      ),
    ),
    default_user_access: v.optional(v.picklist(userAccesses, "must be allow or deny")),
    workspace_id: v.nullish(Reference),
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type UpdateUserAccess = v.InferOutput<typeof UpdateUserAccess>;

const mapping = {
  run_on: v.optional(
    v.pipe(
      v.array(v.picklist(["input", "output"], "must be input or output"), "must be a list"),
      v.minLength(1, "must have at least 1 entry"),
      v.maxLength(2, "must have at most 2 entries"),
    ),
    ["input", "output"],
  ),
  mcp_integration_capability_ids: v.nullish(
    v.pipe(v.array(Reference, "must be a list"), v.maxLength(1_000, "must have at most 1000 entries")),
  ),
};
export type GuardrailMapping = v.InferOutput<typeof GuardrailMapping>;
const GuardrailMapping = changesOf(mapping);

/** Body of `PUT /guardrails/{id}/mcp-servers`: mappings by the id or slug of a server. */
export const UpdateGuardrailMappings = changesOf({
  mcp_servers: v.pipe(
    v.record(Reference, GuardrailMapping, "must be an object"),
    v.check((servers) => Object.keys(servers).length <= 1_000, "must have at most 1000 entries"),
  ),
  workspace_id: v.nullish(Reference),
});
export type UpdateGuardrailMappings = v.InferOutput<typeof UpdateGuardrailMappings>;

/** Body of `PUT /guardrails/{id}/mcp-servers/{serverId}`. */
export const UpdateGuardrailMapping = changesOf({ ...mapping, workspace_id: v.nullish(Reference) });
export type UpdateGuardrailMapping = v.InferOutput<typeof UpdateGuardrailMapping>;

const nullableText = v.nullable(v.string());

/** Response of changes of which only the success is shown. */
export const McpSuccess = v.object({ success: v.literal(true) });

/** Response of `POST /mcp-integrations` and `POST /mcp-servers`. */
export const CreatedMcpRecord = v.object({ id: v.string(), slug: v.string() });

/** Access of workspaces that are created later. */
const GlobalAccess = v.nullable(v.object({ enabled: v.boolean() }));

/** An MCP integration without its configurations. */
export const McpIntegration = v.object({
  id: v.string(),
  organisation_id: v.string(),
  /** Null for integrations of the organisation. */
  workspace_id: nullableText,
  type: v.picklist(["workspace", "organisation"]),
  name: v.string(),
  slug: v.string(),
  description: nullableText,
  /** User or key that created it. */
  owner_id: v.string(),
  status: v.picklist(mcpStatuses),
  /** Parts that may be secret are masked. */
  url: v.string(),
  auth_type: v.picklist(mcpAuthTypes),
  transport: v.picklist(mcpTransports),
  global_workspace_access: GlobalAccess,
  secret_mappings: v.nullable(v.array(ShownSecretMapping)),
  created_at: IsoTime,
  last_updated_at: v.nullable(IsoTime),
});

/** Settings by name; secrets as masks under the names `masked_…`. */
const ShownConfigurations = v.record(v.string(), v.unknown());

/** Response of `GET /mcp-integrations`. */
export const McpIntegrationList = pageOf(
  v.object({
    ...McpIntegration.entries,
    /** JSON text of the object that the integration alone shows. */
    configurations: v.string(),
    /** Workspaces that may use it. */
    workspaces_count: v.number(),
  }),
);

/** Response of `GET /mcp-integrations/{slug}`. */
export const ShownMcpIntegration = v.object({ ...McpIntegration.entries, configurations: ShownConfigurations });

const SharedWorkspace = v.object({ id: v.string(), name: v.string(), slug: v.string(), enabled: v.boolean() });

/** Response of `GET /mcp-integrations/{slug}/workspaces`; with a `version` in the query, in the form of other lists. */
export const McpWorkspaceList = v.union([
  v.object({ workspaces: v.array(SharedWorkspace), global_workspace_access: GlobalAccess }),
  v.object({ data: v.array(SharedWorkspace), total: v.number(), global_workspace_access: GlobalAccess }),
]);

/** What a server says of itself: of any JSON type, since the gateway does not check it; null where it says nothing. */
const Unchecked = v.unknown();

/** Response of `GET …/metadata`. */
export const McpMetadata = v.object({
  server_name: Unchecked,
  server_version: Unchecked,
  title: Unchecked,
  description: Unchecked,
  website_url: Unchecked,
  icons: Unchecked,
  protocol_version: nullableText,
  /** `capabilities` of the server's answer to `initialize`. */
  capability_flags: v.nullable(v.record(v.string(), v.unknown())),
  instructions: nullableText,
  sync_status: v.picklist(syncStatuses),
  /** Of the last successful sync. */
  last_synced_at: v.nullable(IsoTime),
  /** Why the last sync failed, or what it left out. */
  sync_error: nullableText,
});
export type McpMetadata = v.InferOutput<typeof McpMetadata>;

/** Response of `POST /mcp-integrations/{slug}/sync`. */
export const McpSyncResult = v.object({ success: v.boolean(), message: v.string(), details: McpMetadata });

/** Response of `POST …/test`: a server that does not answer fails here, not by the status of the response. */
export const McpTestResult = v.object({
  success: v.boolean(),
  /** HTTP status of the server's answer; null without one. */
  status_code: v.nullable(v.number()),
  /** Milliseconds. */
  response_time_ms: v.number(),
  url: v.string(),
  server_name: nullableText,
  error: nullableText,
  message: v.string(),
  details: v.null(),
});
export type McpTestResult = v.InferOutput<typeof McpTestResult>;

/** What a definition says. */
const shownDefinition = {
  title: Unchecked,
  description: Unchecked,
  icons: Unchecked,
  input_schema: Unchecked,
  output_schema: Unchecked,
  execution: Unchecked,
  annotations: Unchecked,
  arguments: Unchecked,
  mime_type: Unchecked,
  size: Unchecked,
};

/** A tool, prompt, resource or resource template. */
const Capability = v.object({
  id: v.string(),
  name: v.string(),
  type: v.picklist(capabilityTypes),
  enabled: v.boolean(),
  /** Of resources. */
  uri: nullableText,
  /** Of resource templates. */
  uri_template: nullableText,
  ...shownDefinition,
  /** Whether the definition is the approved one. */
  approval: v.picklist(["approved", "changed", "new"]),
  /** The approved definition of a tool or prompt that changed since. */
  approved_definition: v.nullable(v.object(shownDefinition)),
  /** Control and invisible characters of the definition that are left out here. */
  hidden_characters: v.number(),
  created_at: IsoTime,
  last_updated_at: v.nullable(IsoTime),
});
export type Capability = v.InferOutput<typeof Capability>;

const CapabilityCount = v.object({ total: v.number(), enabled: v.number() });

/** Counts of all capabilities, over all pages and types. */
const CapabilityCounts = v.object({
  tools: CapabilityCount,
  prompts: CapabilityCount,
  resources: CapabilityCount,
  resource_templates: CapabilityCount,
});

const capabilityPageOf = <Record extends v.GenericSchema>(record: Record) =>
  v.object({ data: v.array(record), counts: CapabilityCounts, total: v.number(), has_more: v.boolean() });

/** Response of `GET /mcp-integrations/{slug}/capabilities`. */
export const CapabilityList = capabilityPageOf(Capability);

/** Response of `GET /mcp-servers/{slug}/capabilities`. */
export const ServerCapabilityList = capabilityPageOf(
  v.object({
    ...Capability.entries,
    /** Whether the integration has it switched on. */
    integration_enabled: v.boolean(),
  }),
);

/** Response of `POST /mcp-integrations/{slug}/capabilities/approve`: how many definitions were not approved before. */
export const ApprovedCapabilities = v.object({ ...McpSuccess.entries, approved: v.number() });

/** What a server joins. */
const ShownAggregate = v.object({
  members: v.array(
    v.object({
      mcp_server_id: v.string(),
      prefix: v.string(),
      /** Names of tools and prompts; null for all. */
      include: v.nullable(v.array(v.string())),
      exclude: v.nullable(v.array(v.string())),
    }),
  ),
  prefix_mode: v.picklist(prefixModes),
});
export type ShownAggregate = v.InferOutput<typeof ShownAggregate>;

/** An MCP server. */
const McpServerRecord = v.object({
  id: v.string(),
  slug: v.string(),
  name: v.string(),
  description: nullableText,
  status: v.picklist(mcpStatuses),
  workspace_id: v.string(),
  /** Null for a server that joins others. */
  mcp_integration_id: nullableText,
  /** Null for a server of an integration. */
  aggregate: v.nullable(ShownAggregate),
  default_user_access: v.picklist(userAccesses),
  settings: v.object({
    pinning: v.picklist(pinnings),
    check_arguments: v.boolean(),
    strict_resources: v.boolean(),
    list_without_connection: v.boolean(),
    soft_429: v.boolean(),
    retry_calls: v.boolean(),
    refuse_binary: v.boolean(),
    tool_mode: v.picklist(toolModes),
    /** Milliseconds; null: the limit of the gateway. */
    timeout_ms: v.nullable(v.number()),
  }),
  /** Where clients reach it. */
  url: v.string(),
  created_at: IsoTime,
  last_updated_at: v.nullable(IsoTime),
});
export type McpServerRecord = v.InferOutput<typeof McpServerRecord>;

/** Response of `GET /mcp-servers`. */
export const McpServerList = v.object({
  data: v.array(
    v.object({
      ...McpServerRecord.entries,
      organisation_id: v.string(),
      /** User or key that created it. */
      owner_id: v.string(),
      // the next four are null for a server that joins others
      mcp_integration_slug: nullableText,
      mcp_integration_name: nullableText,
      /** Parts that may be secret are masked. */
      mcp_integration_url: nullableText,
      auth_type: v.nullable(v.picklist(mcpAuthTypes)),
      workspace_name: nullableText,
      workspace_slug: nullableText,
    }),
  ),
  total: v.number(),
});

/** The integration of a server, without settings where it is the organisation's and the reader a workspace. */
const IntegrationDetails = v.nullable(
  v.object({
    id: v.string(),
    slug: v.string(),
    name: v.string(),
    status: v.picklist(mcpStatuses),
    configurations: ShownConfigurations,
    /** Parts that may be secret are masked. */
    url: v.string(),
    transport: v.picklist(mcpTransports),
    auth_type: v.picklist(mcpAuthTypes),
  }),
);
export type IntegrationDetails = v.InferOutput<typeof IntegrationDetails>;

/** Response of `GET /mcp-servers/{slug}`. */
export const ShownMcpServer = v.object({
  ...McpServerRecord.entries,
  mcp_integration_details: IntegrationDetails,
});

/** Response of `GET /mcp-servers/{slug}/user-access`. */
export const UserAccessList = v.object({
  data: v.array(
    v.object({
      user_id: v.string(),
      first_name: nullableText,
      last_name: nullableText,
      email: v.string(),
      enabled: v.boolean(),
      /** Whether the user has an entry, which overrides the default. */
      has_override: v.boolean(),
      connection_status: v.picklist(["connected", "not_connected"]),
    }),
  ),
  default_user_access: v.picklist(userAccesses),
  total: v.number(),
  has_more: v.boolean(),
});

/** Response of `GET /mcp-servers/{slug}/user-access/check`. */
export const UserAccessCheck = v.object({ has_access: v.boolean() });

/** Response of `GET /mcp-servers/{slug}/client-info`: the gateway's client, its secret masked; null without one. */
export const ClientInfo = v.object({ client_id: v.string(), client_secret: nullableText });
