import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { McpServer } from "../mcp-server.ts";
import type { UpstreamClients, UpstreamTokens } from "./upstream-client.ts";
import { DiscoveryError, type UpstreamDiscovery } from "./upstream-discovery.ts";
import { readUpstreamSettings } from "./upstream-settings.ts";

/** Tokens of integrations that act for themselves (RFC 6749, section 4.4). In memory of the process. */
export interface MachineTokens {
  /** The token of an integration; callers share one request. @throws If no token can be had. */
  get(server: McpServer): Promise<string>;
  /** Forgets a token that the upstream refused. */
  drop(server: McpServer, token: string): void;
}

/** Options of the tokens. */
interface MachineTokensOptions {
  readonly clients: UpstreamClients;
  readonly discovery: UpstreamDiscovery;
  readonly clock: Clock;
  readonly expiryBufferMs: number;
}

/** A token without a stated end is used for this long. */
const unstatedMs = 5 * 60_000;

function keyOf({ organisationId, integrationId, url, credentialVersion }: McpServer): string {
  return JSON.stringify([organisationId, integrationId, url, credentialVersion]);
}

/** Creates the tokens of integrations. */
export function createMachineTokens({
  clients,
  discovery,
  clock,
  expiryBufferMs,
}: MachineTokensOptions): MachineTokens {
  const known = new BoundedMap<string, { token: string; until: number }>(1_000);
  const running = new Map<string, Promise<UpstreamTokens>>();

  const ask = async (server: McpServer): Promise<UpstreamTokens> => {
    const settings = await readUpstreamSettings(server);
    const { clientId, clientSecret, privateKey, authMethod } = settings;
    if (clientId === undefined) throw new DiscoveryError("oauth_metadata.client_id is not set");
    const authorization = await discovery.find(server, settings);
    const method =
      authMethod ?? (privateKey !== undefined && clientSecret === undefined ? "private_key_jwt" : undefined);
    const isPost =
      !authorization.authMethods.includes("client_secret_basic") &&
      authorization.authMethods.includes("client_secret_post");
    const client = {
      id: clientId,
      secret: clientSecret,
      method: method ?? (isPost ? "client_secret_post" : "client_secret_basic"),
    };
    const resource = settings.sendsResource ? (settings.resource ?? authorization.resource) : undefined;
    const { tokenEndpoint, issuer } = authorization;
    return clients.clientCredentials({ tokenEndpoint, issuer, client, settings, resource });
  };
  return {
    async get(server) {
      const key = keyOf(server);
      const held = known.get(key);
      if (held && held.until > clock.now()) return held.token;
      const asking = running.get(key) ?? ask(server).finally(() => running.delete(key));
      running.set(key, asking);
      const { accessToken, expiresAt } = await asking;
      const until = expiresAt === undefined ? clock.now() + unstatedMs : expiresAt - expiryBufferMs;
      known.set(key, { token: accessToken, until });
      return accessToken;
    },
    drop(server, token) {
      const key = keyOf(server);
      if (known.peek(key)?.token === token) known.delete(key);
    },
  };
}
