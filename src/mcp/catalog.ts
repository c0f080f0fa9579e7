import * as v from "valibot";
import type { CallerContext } from "../context.ts";
import { baseOf } from "../endpoint/public-origin.ts";
import { defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../errors.ts";
import { fromBase64Url, toBase64Url } from "../lib/base64.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { readWorkspace } from "./limits.ts";
import type { McpServer } from "./registry/mcp-server.ts";

/** Key under which registries put what they know themselves (https://registry.modelcontextprotocol.io, API v0.1). */
const registryKey = "io.modelcontextprotocol.registry/official";
/** What names of servers begin with. */
const namespace = "ai.gateway.";

function refuse(param: string, problem: string): never {
  throw new InvalidRequestError(`Invalid request: ${param}: ${problem}`, { code: "invalid_parameter", param });
}

/** Refuses another workspace than that of the key. */
function requireOwn(named: string | null, { id, slug }: { id: string; slug: string }): void {
  if (named !== null && named !== id && named !== slug) {
    throw new NotFoundError("Cannot find this workspace", { code: "workspace_not_found", param: "workspace_id" });
  }
}

/** A server as registries show it. */
function toEntry({ slug, name, about }: McpServer, workspaceSlug: string, origin: string) {
  const { description, version, title, websiteUrl, icons, createdAt, updatedAt } = about;
  const facts = {
    publishedAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    isLatest: true,
  };
  const shownIcons = icons?.filter((icon) => typeof icon === "object" && icon !== null);
  return {
    server: {
      name: `${namespace}${workspaceSlug}/${slug}`,
      title: title ?? name,
      description: description || name,
      version: version ?? "0.0.0",
      ...(websiteUrl?.startsWith("https://") && { websiteUrl }),
      ...(shownIcons && shownIcons.length > 0 && { icons: shownIcons }),
      remotes: [{ type: "streamable-http", url: `${origin}/${slug}/mcp` }],
    },
    _meta: { ...facts, [registryKey]: { status: "active", ...facts } },
  };
}

/** The base of the addresses of servers: below `/m`, or the root where MCP has its own port. */
function serversBaseOf(context: CallerContext): string {
  return baseOf(context) + (context.url.pathname.startsWith("/m/") ? "/m" : "");
}

/** The servers that a caller may use, by slug, as registries show them. */
async function readEntries(context: CallerContext) {
  const { principal, services, url } = context;
  const view = await readWorkspace(context);
  if (!view) throw new NotFoundError("Cannot find this workspace", { code: "workspace_not_found" });
  requireOwn(url.searchParams.get("workspace_id"), view.workspace);
  const servers = await services.mcpServers.list(principal);
  const base = serversBaseOf(context);
  return servers
    .filter((server) => server.isActive && server.isOpenTo(principal.userId))
    .toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
    .map((server) => ({ server, entry: toEntry(server, view.workspace.slug, base) }));
}

function readLimit(text: string | null): number {
  if (text === null) return 50;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= 100 ? limit : refuse("limit", "must be a whole number from 1 to 100");
}

/** The slug after which a page begins. */
function readCursor(text: string | null): string {
  if (text === null || text === "") return "";
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromBase64Url(text));
  } catch {
    return refuse("cursor", "must be a nextCursor of this list");
  }
}

function readTime(text: string | null): number {
  if (text === null) return 0;
  const time = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(time) ? time : refuse("updated_since", "must be a time as RFC 3339");
}

async function listServers(context: CallerContext): Promise<Reply> {
  const { searchParams } = context.url;
  const limit = readLimit(searchParams.get("limit"));
  const after = readCursor(searchParams.get("cursor"));
  const since = readTime(searchParams.get("updated_since"));
  const search = (searchParams.get("search") ?? "").toLowerCase();
  const wanted = (await readEntries(context)).filter(
    ({ server, entry }) =>
      server.slug > after &&
      server.about.updatedAt >= since &&
      [entry.server.name, entry.server.title].some((text) => text.toLowerCase().includes(search)),
  );
  const page = wanted.slice(0, limit);
  const last = page.at(-1)?.server.slug ?? "";
  const nextCursor = wanted.length > page.length ? toBase64Url(new TextEncoder().encode(last)) : undefined;
  return jsonReply({
    servers: page.map(({ entry }) => entry),
    metadata: { count: page.length, ...(nextCursor !== undefined && { nextCursor }) },
  });
}

/** The entry that a path names: `ai.gateway.{workspace}/{server}`, its slash encoded or not. */
async function findEntry(context: CallerContext) {
  const { space, name = "" } = context.params;
  const wanted = space === undefined ? name : `${space}/${name}`;
  const found = (await readEntries(context)).find(({ entry }) => entry.server.name === wanted);
  if (found) return found.entry;
  throw new NotFoundError("Cannot find this MCP server", { code: "mcp_server_not_found" });
}

async function listVersions(context: CallerContext): Promise<Reply> {
  return jsonReply({ servers: [await findEntry(context)], metadata: { count: 1 } });
}

async function showVersion(context: CallerContext): Promise<Reply> {
  const entry = await findEntry(context);
  const { version = "" } = context.params;
  if (version === "latest" || version === entry.server.version) return jsonReply(entry);
  throw new NotFoundError("Cannot find this version of the MCP server", { code: "mcp_server_not_found" });
}

const Facts = v.object({ publishedAt: v.string(), updatedAt: v.string(), isLatest: v.boolean() });
const Entry = v.object({
  server: v.looseObject({
    name: v.string(),
    title: v.string(),
    description: v.string(),
    version: v.string(),
    remotes: v.array(v.object({ type: v.literal("streamable-http"), url: v.string() })),
  }),
  _meta: v.looseObject(Facts.entries),
});
const EntryList = v.object({
  servers: v.array(Entry),
  metadata: v.object({ count: v.number(), nextCursor: v.optional(v.string()) }),
});

const row = {
  method: "GET",
  operation: "mcp_catalog",
  tag: "MCP",
  access: { keys: "workspace", scopes: ["mcp_servers.list"] },
} as const;
const all = "/m/v0.1/servers";
const workspaceQuery = { name: "workspace_id", description: "The workspace of the key, by id or slug" };

/** The catalog of MCP servers: the read-only part of the registry API v0.1. */
export const catalogEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    ...row,
    path: all,
    summary: "List the MCP servers that the key may use, as a registry does",
    response: EntryList,
    query: [
      { name: "limit", description: "1 to 100; default 50" },
      { name: "cursor", description: "nextCursor of the page before" },
      { name: "search", description: "Text in the name or title" },
      { name: "updated_since", description: "Only servers that changed at or after this time (RFC 3339)" },
      workspaceQuery,
    ],
    handle: listServers,
  }),
  // clients of registries encode the slash in a name
  ...[`${all}/:name/versions`, `${all}/:space/:name/versions`].flatMap((path) => [
    defineKeyEndpoint({
      ...row,
      path,
      takesEncodedSlash: !path.includes(":space"),
      summary: "List the versions of an MCP server",
      response: EntryList,
      query: [workspaceQuery],
      handle: listVersions,
    }),
    defineKeyEndpoint({
      ...row,
      path: `${path}/:version`,
      takesEncodedSlash: !path.includes(":space"),
      summary: "Show a version of an MCP server",
      response: Entry,
      query: [workspaceQuery],
      handle: showVersion,
    }),
  ]),
];
