import type { Clock } from "../lib/clock.ts";
import { deriveKey } from "../lib/hash.ts";
import {
  defaultMcpSettings,
  ListeningStreams,
  type McpSettings,
  type McpState,
  UnspokenEras,
} from "../mcp/registry/mcp-state.ts";
import { SessionPool } from "../mcp/registry/session-pool.ts";
import { createMcpSessions } from "../mcp/registry/sessions.ts";
import type { OpenData } from "./data.ts";
import type { GatewayOptions } from "./options.ts";

/** What the MCP gateway has in memory. The key of sessions is the same in all processes of an installation. */
export async function createMcp(
  options: GatewayOptions,
  { installation, clock }: Pick<OpenData, "installation"> & { clock: Clock },
): Promise<McpState> {
  const { serverMode = "unified" } = options;
  const mount = serverMode === "unified" ? "/m" : "";
  const settings: McpSettings = { ...defaultMcpSettings, mount, ...options.mcp };
  return {
    settings,
    pool: new SessionPool(settings.pool, clock.monotonic),
    sessions: await createMcpSessions(await deriveKey(installation.keys.state, "mcp-session"), clock.now),
    unspoken: new UnspokenEras(clock.monotonic),
    listening: new ListeningStreams(settings),
  };
}
