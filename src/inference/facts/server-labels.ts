/** What names of MCP servers of the workspace begin with. */
const serverPrefix = "@gateway-mcp/";

/** Slug of the MCP server that a label names; undefined for labels of others. */
export function slugIn(label: unknown): string | undefined {
  return typeof label === "string" && label.startsWith(serverPrefix) ? label.slice(serverPrefix.length) : undefined;
}
