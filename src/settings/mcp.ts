import { type GatewayOptions, type ServerMode, serverModes } from "../gateway/options.ts";
import { defaultMcpSettings, type McpSettings } from "../mcp/registry/mcp-state.ts";
import type { McpPoolSettings } from "../mcp/registry/session-pool.ts";
import { type Environment, flagOn, integer, list, text } from "./read.ts";

const megabyte = 1024 * 1024;
const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];
const loopbackAddress = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|::1)$/i;

/** Which parts of the gateway the process serves. */
function serverMode(environment: Environment): ServerMode {
  const value = text(environment, "SERVER_MODE")?.toLowerCase() ?? "unified";
  const mode = serverModes.find((one) => one === value);
  if (mode) return mode;
  throw new TypeError(`Cannot use SERVER_MODE: it must be ${serverModes.join(", ")}`);
}

/** The public address of the gateway: its origin. */
function baseUrl(environment: Environment): string | undefined {
  const value = text(environment, "MCP_GATEWAY_BASE_URL");
  if (value === undefined) return undefined;
  const url = /^https?:\/\/[^/?#@\s]+\/?$/.test(value) ? URL.parse(value) : null;
  if (url) return url.origin;
  throw new TypeError(
    "Cannot use MCP_GATEWAY_BASE_URL: it must be an address without a path, such as https://gateway.example.com",
  );
}

/** The key that signs statements about users: PKCS #8 in PEM form, where `\n` may stand for a line end. */
function privateKey(environment: Environment): string | undefined {
  const value = text(environment, "JWT_PRIVATE_KEY")?.replaceAll("\\n", "\n");
  if (value === undefined || /^-----BEGIN PRIVATE KEY-----\s[\s\S]+-----END PRIVATE KEY-----\s*$/.test(value))
    return value;
  throw new TypeError("Cannot use JWT_PRIVATE_KEY: it must be an RSA key in PKCS #8 PEM form");
}

/** Web origins in the form browsers send (RFC 6454, section 6.2). */
function origins(environment: Environment): Set<string> {
  const read = list(environment, "MCP_ORIGINS").map((item) => {
    const origin = URL.parse(item)?.origin;
    if (origin !== undefined && origin !== "null" && origin === item.toLowerCase()) return origin;
    throw new TypeError("Cannot use MCP_ORIGINS: list origins without a path, such as https://app.example.com");
  });
  return new Set(read);
}

/** Names a `Host` header may have: on a loopback address only those that are known, since others may point here. */
function hosts(environment: Environment, hostname: string, base: string | undefined): Set<string> | undefined {
  const given = list(environment, "MCP_HOSTS").map((name) => name.toLowerCase());
  const wrong = given.find((name) => !/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(name));
  if (wrong !== undefined) throw new TypeError("Cannot use MCP_HOSTS: list host names without scheme and port");
  if (given.length === 0 && !loopbackAddress.test(hostname)) return undefined;
  const own = base === undefined ? [] : [new URL(base).hostname];
  return new Set([...given, ...own, ...loopbackHosts]);
}

/** Sessions that the gateway itself has at servers. */
function pool(environment: Environment): McpPoolSettings {
  const { pool: defaults } = defaultMcpSettings;
  return {
    isEnabled: flagOn(environment, "MCP_POOL_ENABLED"),
    idleMs: integer(environment, "MCP_POOL_MAX_IDLE_MS") ?? defaults.idleMs,
    lifeMs: integer(environment, "MCP_POOL_MAX_LIFETIME_MS") ?? defaults.lifeMs,
    cleanupMs: integer(environment, "MCP_POOL_CLEANUP_INTERVAL_MS") ?? defaults.cleanupMs,
    sessions: integer(environment, "MCP_POOL_MAX_CONNECTIONS") ?? defaults.sessions,
    tokenExpiryBufferMs: integer(environment, "MCP_POOL_TOKEN_EXPIRY_BUFFER_MS") ?? defaults.tokenExpiryBufferMs,
  };
}

function settings(environment: Environment, hostname: string): Partial<McpSettings> {
  const request = integer(environment, "MCP_REQUEST_TIMEOUT_MS");
  const idle = integer(environment, "MCP_STREAM_IDLE_TIMEOUT_MS");
  const body = integer(environment, "MCP_MAX_BODY_IN_MB");
  const result = integer(environment, "MCP_MAX_RESULT_IN_MB");
  const streams = integer(environment, "MCP_MAX_STREAMS");
  const perCaller = integer(environment, "MCP_MAX_STREAMS_PER_CALLER");
  const base = baseUrl(environment);
  const identityKey = privateKey(environment);
  return {
    ...(identityKey !== undefined && { identityKey }),
    ...(request !== undefined && { requestTimeoutMs: request }),
    ...(idle !== undefined && { streamIdleTimeoutMs: idle }),
    ...(body !== undefined && { bodyBytes: body * megabyte }),
    ...(result !== undefined && { resultBytes: result * megabyte }),
    ...(streams !== undefined && { streams }),
    ...(perCaller !== undefined && { streamsPerCaller: perCaller }),
    baseUrl: base,
    origins: origins(environment),
    hosts: hosts(environment, hostname, base),
    pool: pool(environment),
  };
}

/** The mode of the process, and the settings of its MCP gateway. */
export function mcp(environment: Environment, hostname: string): Pick<GatewayOptions, "serverMode" | "mcp"> {
  return { serverMode: serverMode(environment), mcp: settings(environment, hostname) };
}
