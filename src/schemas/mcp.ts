import * as v from "valibot";
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

/** Body of `POST /mcp-integrations`. */
export const CreateMcpIntegration = v.object({
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
  /** Users without a connection see the stored lists. */
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

/** Body of `POST /mcp-servers`. */
export const CreateMcpServer = v.object({
  name: Name,
  mcp_integration_id: Reference,
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
    workspace_id: v.nullish(Reference),
    settings: ChangedSettings,
  }),
  v.check((body) => changesSomething(body), "must change at least one field"),
);
export type UpdateMcpServer = v.InferOutput<typeof UpdateMcpServer>;
