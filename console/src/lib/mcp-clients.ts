import { keyVariable } from "./first-request.ts";
import { shellQuote } from "./request-code.ts";

// Settings with which MCP clients reach a server of the gateway. Slugs and addresses may be chosen by others: they are quoted.

/** A client of MCP servers. */
export type McpClient = "claude" | "cursor" | "vscode" | "codex";

interface ServerAddress {
  /** Name of the server in the client. */
  readonly slug: string;
  readonly url: string;
}

const name = keyVariable.slice(1);
const header = "x-gateway-api-key";
const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

const writers: Readonly<Record<McpClient, (server: ServerAddress) => string>> = {
  claude: ({ slug, url }) => `claude mcp add --transport http ${shellQuote(slug)} ${shellQuote(url)} \\
  --header "${header}: ${keyVariable}"`,
  cursor: ({ slug, url }) => `// ~/.cursor/mcp.json
${json({ mcpServers: { [slug]: { url, headers: { [header]: `\${env:${name}}` } } } })}`,
  vscode: ({ slug, url }) => `// .vscode/mcp.json
${json({
  inputs: [{ type: "promptString", id: "gateway-key", description: "Key of the gateway", password: true }],
  servers: { [slug]: { type: "http", url, headers: { [header]: `\${input:gateway-key}` } } },
})}`,
  codex: ({ slug, url }) => `# ~/.codex/config.toml
[mcp_servers.${JSON.stringify(slug)}]
url = ${JSON.stringify(url)}
bearer_token_env_var = "${name}"`,
};

/** Names of clients as people know them. */
export const mcpClientNames: Readonly<Record<McpClient, string>> = {
  claude: "Claude Code",
  cursor: "Cursor",
  vscode: "VS Code",
  codex: "Codex",
};

/** How a client is connected to a server. */
export const writeMcpClient = (client: McpClient, server: ServerAddress): string => writers[client](server);
