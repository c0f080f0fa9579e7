import * as v from "valibot";
import { findJsonExcess } from "../lib/json.ts";
import { Description, Flag, Name, Reference, SecretMappings, Slug, Text, wholeFrom } from "./control.ts";
import { JsonObject } from "./objects.ts";

/** How an MCP integration reaches its server; `openapi` makes one of an OpenAPI document. */
const mcpTransports = ["http", "sse", "openapi"] as const;
/** Where the credential for an upstream server comes from. */
export const mcpAuthTypes = ["none", "headers", "oauth_auto", "oauth_client_credentials", "external"] as const;
/** What a tool server offers. */
export const capabilityTypes = ["tool", "prompt", "resource", "resource_template"] as const;

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
export const CreateMcpIntegration = v.object({
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
  v.object({
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
const Pinning = v.picklist(["log", "hide", "hold"], "must be one of log, hide, hold");

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
  tool_mode: v.optional(v.picklist(["all", "search"], "must be one of all, search"), "all"),
  /** Longest duration of a call, in milliseconds; null: that of the gateway. */
  timeout_ms: v.optional(v.nullable(wholeFrom(1_000, 600_000)), null),
});
export type McpServerSettings = v.InferOutput<typeof McpServerSettings>;

/** New values of settings; absent ones stay. */
const ChangedSettings = v.nullish(v.partial(McpServerSettings));

/** A slug of an MCP server: unique in the organisation. */
const ServerSlug = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{3,50}$/, "must be 3 to 50 letters, digits, _ or -"));

const ServerDescription = v.nullish(Text(500, 0));

const Prefix = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,24}$/, "must be 1 to 24 lower-case letters, digits or -"));
const PrefixMode = v.picklist(["always", "conditional", "never"], "must be one of always, conditional, never");
const Names = v.nullish(
  v.pipe(v.array(Text(256), "must be a list"), v.maxLength(1_000, "must have at most 1000 entries")),
);

/** What a server that joins others is made of. */
const Aggregate = v.object({
  members: v.pipe(
    v.array(v.object({ mcp_server_id: Reference, prefix: Prefix, include: Names, exclude: Names }), "must be a list"),
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
export const CreateMcpServer = v.object({
  name: Name,
  mcp_integration_id: v.nullish(Reference),
  aggregate: v.nullish(Aggregate),
  description: ServerDescription,
  slug: v.nullish(ServerSlug),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
  settings: ChangedSettings,
});
export type CreateMcpServer = v.InferOutput<typeof CreateMcpServer>;

/** Body of `PUT /mcp-servers/{slug}`. */
export const UpdateMcpServer = v.pipe(
  v.object({
    name: v.optional(Name),
    description: ServerDescription,
    aggregate: v.optional(Aggregate),
    workspace_id: v.nullish(Reference),
    settings: ChangedSettings,
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type UpdateMcpServer = v.InferOutput<typeof UpdateMcpServer>;

/** Body of `PUT /mcp-integrations/{slug}/workspaces`. */
export const UpdateMcpWorkspaces = v.object({
  workspaces: v.pipe(
    v.array(v.object({ id: Reference, enabled: Flag }), "must be a list"),
    v.maxLength(1_000, "must have at most 1000 entries"),
  ),
  global_workspace_access: v.nullish(v.object({ enabled: Flag })),
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
export const UpdateCapabilities = v.object({
  capabilities: v.pipe(
    v.array(v.object({ ...capability, enabled: Flag }), "must be a list"),
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
export const SyncCapabilities = v.object({
  capabilities: v.pipe(
    v.array(
      v.object({
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
  v.object({
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
export const ApproveCapabilities = v.object({
  capabilities: v.optional(
    v.pipe(
      v.array(v.object(capability), "must be a list"),
      v.minLength(1, "must have at least 1 entry"),
      v.maxLength(1_000, "must have at most 1000 entries"),
    ),
  ),
  workspace_id: v.nullish(Reference),
});
export type ApproveCapabilities = v.InferOutput<typeof ApproveCapabilities>;

/** Body of `PUT /mcp-servers/{slug}/user-access`. */
export const UpdateUserAccess = v.pipe(
  v.object({
    user_access: v.optional(
      v.pipe(
        // null removes the entry: the default decides again
        v.array(v.object({ user_id: Reference, enabled: v.nullable(Flag) }), "must be a list"),
        v.maxLength(1_000, "must have at most 1000 entries"),
        v.check((list) => new Set(list.map(({ user_id }) => user_id)).size === list.length, "must name each user once"),
      ),
    ),
    default_user_access: v.optional(v.picklist(["allow", "deny"], "must be allow or deny")),
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
const GuardrailMapping = v.object(mapping);

/** Body of `PUT /guardrails/{id}/mcp-servers`: mappings by the id or slug of a server. */
export const UpdateGuardrailMappings = v.object({
  mcp_servers: v.pipe(
    v.record(Reference, GuardrailMapping, "must be an object"),
    v.check((servers) => Object.keys(servers).length <= 1_000, "must have at most 1000 entries"),
  ),
  workspace_id: v.nullish(Reference),
});
export type UpdateGuardrailMappings = v.InferOutput<typeof UpdateGuardrailMappings>;

/** Body of `PUT /guardrails/{id}/mcp-servers/{serverId}`. */
export const UpdateGuardrailMapping = v.object({ ...mapping, workspace_id: v.nullish(Reference) });
export type UpdateGuardrailMapping = v.InferOutput<typeof UpdateGuardrailMapping>;
