import type { McpServerSettings } from "../../schemas/mcp.ts";
import type { OpenapiUpstream } from "./openapi/upstream.ts";

/** Kinds of what a tool server offers. */
export type CapabilityKind = "tool" | "prompt" | "resource" | "resource_template";

/** A tool, prompt, resource or template of an integration, as the last sync found it. */
export interface McpCapability {
  /** Id of its record: guardrail mappings name it. */
  readonly id: string;
  /** What the upstream server last sent; null before it was seen. */
  readonly definition: Readonly<Record<string, unknown>> | null;
  /** The definition that was approved; null for one that nobody approved. */
  readonly approved: Readonly<Record<string, unknown>> | null;
  /** The last sync found it. */
  readonly isListed: boolean;
}

/** Capabilities by kind and by name: a tool's or prompt's name, a URI, or a template of URIs. */
export type McpCapabilities = Readonly<Record<CapabilityKind, ReadonlyMap<string, McpCapability>>>;

/** A guardrail that runs on calls of a server. */
export interface McpGuardrail {
  readonly guardrailId: string;
  readonly runsOn: ReadonlySet<"input" | "output">;
  /** Ids of capabilities; empty for all. */
  readonly capabilityIds: ReadonlySet<string>;
}

/** What an organisation or a workspace switched off, by kind. Resources are named by URI, templates by URI template. */
export type DisabledCapabilities = Readonly<Record<CapabilityKind, ReadonlySet<string>>>;

/** Which headers of a client go upstream. */
export interface ForwardedHeaders {
  readonly mode: "allowlist" | "all-except";
  /** Names in small letters; `to` is the name upstream. */
  readonly headers: readonly { readonly from: string; readonly to: string }[];
}

/** A server that is part of another one. */
export interface McpMember {
  readonly server: McpServer;
  readonly prefix: string;
  /** Names of tools and prompts that it contributes; null for all. */
  readonly include: ReadonlySet<string> | null;
  /** Names of those that it does not contribute. */
  readonly exclude: ReadonlySet<string>;
}

/** What a server that joins others is made of. */
interface McpAggregate {
  readonly members: readonly McpMember[];
  /** Whether names get the prefix of their server: all, those that clash, or none. */
  readonly prefixMode: "always" | "conditional" | "never";
}

/** What catalogs show of a server. */
interface McpAbout {
  readonly description: string | null;
  readonly version: string | null;
  readonly title: string | null;
  readonly websiteUrl: string | null;
  readonly icons: readonly unknown[] | null;
  /** What the server says to models. */
  readonly instructions: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A tool server of a workspace, joined with its integration, as calls see it. Everything is in memory. */
export interface McpServer {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly integrationId: string;
  /** The server, its integration, and the workspace's access to the integration are switched on. */
  readonly isActive: boolean;
  /** Address of the upstream server. */
  readonly url: string;
  /** The same as log rows show it: without its query, and without what may be a secret. */
  readonly shownUrl: string;
  readonly transport: "http" | "sse";
  readonly authType: "none" | "headers" | "oauth_auto" | "oauth_client_credentials" | "external";
  /** Configuration of the integration as stored, secrets sealed; `openHeaders` opens what is sent. */
  readonly configurations: Readonly<Record<string, unknown>>;
  readonly forwardedHeaders: ForwardedHeaders;
  /** Switched off at the integration or at the server: absent from lists, refused in calls. */
  readonly disabled: DisabledCapabilities;
  /** Whether a user may use the server; keys of services may use every server of their workspace. */
  isOpenTo(userId: string | null): boolean;
  readonly settings: McpServerSettings;
  readonly about: McpAbout;
  /** Null for servers of an integration. */
  readonly aggregate: McpAggregate | null;
  /** Answers in place of a server at `url`, whose API it calls; null for real servers. */
  readonly openapi: OpenapiUpstream | null;
  readonly capabilities: McpCapabilities;
  readonly guardrails: readonly McpGuardrail[];
  /** Changes with every secret of the integration. */
  readonly credentialVersion: string;
  /** Headers that the integration adds: its own and those of its authentication, opened. */
  openHeaders(): Promise<Readonly<Record<string, string>>>;
  /** `configurations` with its secrets. Held in memory only. */
  openConfigurations(): Promise<Readonly<Record<string, unknown>>>;
}

/** Finds the tool servers of workspaces. Synchronous where the workspace is in memory. */
export interface McpServers {
  /** Undefined for servers of other workspaces and organisations. */
  find(
    tenant: { readonly organisationId: string; readonly workspaceId: string | null },
    slug: string,
  ): McpServer | undefined | Promise<McpServer | undefined>;
  /** The servers of a workspace, by slug. */
  list(tenant: {
    readonly organisationId: string;
    readonly workspaceId: string | null;
  }): readonly McpServer[] | Promise<readonly McpServer[]>;
}
