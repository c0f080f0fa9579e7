import { type Asked, baseOf, basePathOf } from "../../endpoint/public-origin.ts";

/** The issuer of tokens (RFC 8414, section 2). */
export function issuerOf(context: Asked): string {
  return baseOf(context) + context.services.mcp.settings.mount;
}

/** Path of a route of the authorization server. */
export function oauthPath(context: Asked, name: string): string {
  return `${basePathOf(context)}${context.services.mcp.settings.mount}/oauth/${name}`;
}

/** Address of a route of the authorization server. */
export function oauthAddress(context: Asked, name: string): string {
  return `${issuerOf(context)}/oauth/${name}`;
}

const pathOf = ({ url }: Asked): string => url.pathname.replace(/\/+$/, "");

/** Address of the MCP server that a request is for: the audience of its tokens. */
export function resourceOf(context: Asked): string {
  return baseOf(context) + pathOf(context);
}

/**
 * Address of the metadata of an MCP server (RFC 9728, section 3.1). Below the path of a proxy too, where every proxy has
 * the gateway: the document is the one that a client finds at the root of the host.
 */
export function metadataAddressOf(context: Asked): string {
  return `${baseOf(context)}/.well-known/oauth-protected-resource${pathOf(context)}`;
}

/** An MCP server as its address names it. */
export interface NamedServer {
  readonly slug: string;
  /** Slug or id. */
  readonly workspace: string | undefined;
}

const segment = "[A-Za-z0-9_-]{1,64}";
const pathForm = new RegExp(`^/(?:(${segment})/)?(${segment})/mcp$`);

/** The MCP server of an address of this gateway; undefined for any other address. */
export function readResource(context: Asked, resource: string): NamedServer | undefined {
  const base = issuerOf(context);
  if (!resource.startsWith(`${base}/`)) return undefined;
  const [, workspace, slug] = pathForm.exec(resource.slice(base.length)) ?? [];
  return slug === undefined ? undefined : { slug, workspace };
}
