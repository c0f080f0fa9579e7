/** What names of MCP servers of the workspace begin with, and those of its prompts. */
const serverPrefix = "@gateway-mcp/";
const promptPrefix = "@gateway-prompts/";

const after = (prefix: string, label: unknown): string | undefined =>
  typeof label === "string" && label.startsWith(prefix) ? label.slice(prefix.length) : undefined;

/** Slug of the MCP server that a label names; undefined for labels of others. */
export const slugIn = (label: unknown): string | undefined => after(serverPrefix, label);

/** Reference of the saved prompt that a label names, `slug` or `slug@version`; undefined for labels of others. */
export const promptIn = (label: unknown): string | undefined => after(promptPrefix, label);

/** Whether a label names what the gateway runs. */
export const isOwnLabel = (label: unknown): boolean => slugIn(label) !== undefined || promptIn(label) !== undefined;

/** The server in names of functions that stand for tools of a label. */
export const serverOf = (label: unknown): string | undefined => slugIn(label) ?? (promptIn(label) && "prompt");
