import process from "node:process";

/** Port and host name of the process, read when they are needed. */
export function place(): { hostname: string; port: number } {
  const { HOST = "127.0.0.1", PORT = 8787, MCP_PORT = 8788, SERVER_MODE } = process.env;
  return { hostname: HOST, port: Number(SERVER_MODE?.trim().toLowerCase() === "mcp" ? MCP_PORT : PORT) };
}
