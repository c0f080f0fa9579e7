import type { Vault } from "../../../control/vault.ts";
import type { Database, Statement } from "../../../db/client.ts";
import type { Change } from "../../../db/stores/audit.ts";
import type { ControlStores } from "../../../db/stores/control.ts";
import type { McpConnectionRow } from "../../../db/tables/oauth.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import { isObject, parseJson, stringOf } from "../../../lib/json.ts";
import type { McpServer } from "../mcp-server.ts";
import { GrantEndedError, type UpstreamClient, type UpstreamClients, type UpstreamTokens } from "./upstream-client.ts";
import { readUpstreamSettings } from "./upstream-settings.ts";

/** Whose account at which server. */
export interface ConnectionPlace {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly serverId: string;
}

/** What is sealed of a connection. */
interface SealedConnection extends UpstreamTokens {
  /** The server that the tokens are for: another address never gets them. */
  readonly url: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | undefined;
  readonly client: UpstreamClient;
  readonly resource: string | undefined;
}

/** A new connection. */
type NewConnection = SealedConnection;

/** A token to send, or why there is no token. */
export type ConnectionToken =
  | { readonly kind: "token"; readonly token: string; readonly version: number }
  | { readonly kind: "not_connected" }
  /** The authorization server does not answer, and the token is over. */
  | { readonly kind: "unavailable" };

/** The accounts of users at upstream MCP servers. */
export interface McpConnections {
  /** The token of an account, refreshed where it is about to expire. From memory where it is known. */
  token(server: McpServer, place: ConnectionPlace): Promise<ConnectionToken>;
  /** As `token`, after the upstream refused a version of it. */
  renew(server: McpServer, place: ConnectionPlace, version: number): Promise<ConnectionToken>;
  /** Whether an account can be used without its user. */
  isConnected(server: McpServer, place: ConnectionPlace): Promise<boolean>;
  store(place: ConnectionPlace, connection: NewConnection): Promise<void>;
  /** The statements of `store`, for who writes them. */
  storing(place: ConnectionPlace, connection: NewConnection): Promise<Statement[]>;
  /** Notes that the upstream wants more scopes. */
  requireScope(place: ConnectionPlace, scope: string | undefined): Promise<void>;
  /** Prepares the removal of an account; `revoke` asks its authorization server to revoke the tokens. */
  removal(server: McpServer | undefined, place: ConnectionPlace): Promise<ConnectionRemoval>;
  /** The tokens of an account; undefined without one. */
  read(place: ConnectionPlace): Promise<UpstreamTokens | undefined>;
  /** The row of an account. */
  find(place: ConnectionPlace): Promise<McpConnectionRow | undefined>;
  /** Drops what other processes changed. */
  note(changes: readonly Change[] | undefined): void;
}

/** What removes an account. */
interface ConnectionRemoval {
  readonly statements: readonly Statement[];
  /** Never rejects. */
  revoke(): Promise<void>;
}

/** Options of the connections. */
interface ConnectionsOptions {
  readonly stores: ControlStores;
  readonly vault: Vault;
  readonly database: Database;
  readonly clients: UpstreamClients;
  readonly clock: Clock;
  /** Milliseconds before its end at which a token is refreshed. */
  readonly expiryBufferMs: number;
}

/** Kind of the rows in `secrets` with tokens, and of the changes that other processes follow. */
const kind = "mcp_connections";
const field = "tokens";

/** Longest time that opened tokens stay in memory. */
const heldMs = 5 * 60_000;
/** A process that does not finish in this time loses its lock. */
const lockMs = 30_000;
/** How often a process looks whether another one finished. */
const lookEveryMs = 100;

/** A connection in memory. */
interface HeldConnection {
  readonly row: McpConnectionRow;
  readonly sealed: SealedConnection;
  readonly readAt: number;
}

function readSealed(text: string): SealedConnection | undefined {
  const value = parseJson(text);
  if (!isObject(value) || typeof value.accessToken !== "string") return undefined;
  return value as unknown as SealedConnection; // `store` sealed it, and the seal is bound to this row
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Connections implements McpConnections {
  readonly #options: ConnectionsOptions;
  readonly #held = new BoundedMap<string, HeldConnection>(10_000);
  readonly #refreshing = new Map<string, Promise<ConnectionToken>>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async token(server: McpServer, place: ConnectionPlace): Promise<ConnectionToken> {
    const held = await this.#open(place);
    if (held?.row.status !== "connected" || held.sealed.url !== server.url) return { kind: "not_connected" };
    const { expiresAt, refreshToken, accessToken } = held.sealed;
    const now = this.#options.clock.now();
    const isFresh = expiresAt === undefined || expiresAt - this.#options.expiryBufferMs > now;
    if (isFresh) return { kind: "token", token: accessToken, version: held.row.version };
    if (refreshToken !== undefined) return this.#refreshOnce(server, place, held);
    return expiresAt > now
      ? { kind: "token", token: accessToken, version: held.row.version }
      : { kind: "not_connected" };
  }

  async renew(server: McpServer, place: ConnectionPlace, version: number): Promise<ConnectionToken> {
    const held = await this.#open(place);
    if (!held || held.sealed.url !== server.url) return { kind: "not_connected" };
    if (held.row.version !== version) return this.token(server, place);
    if (held.sealed.refreshToken === undefined) {
      await this.#end(held.row);
      return { kind: "not_connected" };
    }
    return this.#refreshOnce(server, place, held, true);
  }

  async isConnected(server: McpServer, place: ConnectionPlace): Promise<boolean> {
    return (await this.token(server, place)).kind !== "not_connected";
  }

  async store(place: ConnectionPlace, connection: NewConnection): Promise<void> {
    const statements = await this.storing(place, connection);
    await this.#write({ ...place, id: await idOf(place, connection.issuer) }, statements);
  }

  async storing(place: ConnectionPlace, connection: NewConnection): Promise<Statement[]> {
    const { stores, clock } = this.#options;
    const { organisationId, workspaceId } = place;
    const id = await idOf(place, connection.issuer);
    const tenant = { organisationId, workspaceId };
    const former = await this.#rows(place);
    const now = clock.now();
    const version = Math.max(0, ...former.map((row) => row.version)) + 1;
    const row: McpConnectionRow = {
      id,
      ...place,
      issuer: connection.issuer,
      status: "connected",
      wantedScope: null,
      scope: connection.scope ?? null,
      version,
      expiresAt: connection.expiresAt ?? null,
      lockedUntil: 0,
      createdAt: former.find((one) => one.id === id)?.createdAt ?? now,
      lastUpdatedAt: now,
    };
    // an account at another issuer is replaced: one server has one
    const others = former.filter((one) => one.id !== id).flatMap((one) => this.#removal(one));
    return [...others, stores.mcpConnections.put(tenant, row), await this.#seal(row, connection)];
  }

  async requireScope(place: ConnectionPlace, scope: string | undefined): Promise<void> {
    const { stores, clock } = this.#options;
    const row = await this.find(place);
    if (!row) return;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    const wanted = [...new Set([...(row.scope ?? "").split(" "), ...(scope ?? "").split(" ")])]
      .filter(Boolean)
      .join(" ");
    const changes = {
      status: "needs_reauth" as const,
      wantedScope: wanted.slice(0, 2_000),
      lastUpdatedAt: clock.now(),
    };
    await this.#write(row, [stores.mcpConnections.update(tenant, { id: row.id }, changes)]);
  }

  async removal(server: McpServer | undefined, place: ConnectionPlace): Promise<ConnectionRemoval> {
    const rows = await this.#rows(place);
    const opened = await Promise.all(rows.map((row) => this.#openRow(row).catch(() => undefined)));
    return {
      statements: rows.flatMap((row) => this.#removal(row)),
      revoke: async () => {
        for (const sealed of opened) if (server && sealed) await this.#revoke(server, sealed).catch(() => {});
      },
    };
  }

  async read(place: ConnectionPlace): Promise<UpstreamTokens | undefined> {
    const row = await this.find(place);
    return row && (await this.#openRow(row));
  }

  async find(place: ConnectionPlace): Promise<McpConnectionRow | undefined> {
    return (await this.#rows(place))[0];
  }

  note(changes: readonly Change[] | undefined): void {
    const isKnown = changes?.every(({ resource, recordId }) => resource !== kind || recordId !== "");
    if (!changes || !isKnown) {
      this.#held.clear();
      return;
    }
    const ids = new Set(changes.filter(({ resource }) => resource === kind).map(({ recordId }) => recordId));
    if (ids.size === 0) return;
    for (const [key, { row }] of this.#held.entries()) if (ids.has(row.id)) this.#held.delete(key);
  }

  #rows({ organisationId, workspaceId, userId, serverId }: ConnectionPlace): Promise<McpConnectionRow[]> {
    const where = { userId, serverId };
    return this.#options.stores.mcpConnections.all({ organisationId, workspaceId }, { where });
  }

  /** The connection of a place, from memory while it is fresh. */
  async #open(place: ConnectionPlace, isForced = false): Promise<HeldConnection | undefined> {
    const key = keyOf(place);
    const held = this.#held.get(key);
    const now = this.#options.clock.monotonic();
    if (held && !isForced && now - held.readAt < heldMs) return held;
    const row = await this.find(place);
    const sealed = row && (await this.#openRow(row));
    if (!row || !sealed) {
      this.#held.delete(key);
      return undefined;
    }
    const opened = { row, sealed, readAt: now };
    this.#held.set(key, opened);
    return opened;
  }

  async #openRow(row: McpConnectionRow): Promise<SealedConnection | undefined> {
    const { stores, vault } = this.#options;
    // a row whose owner was changed has another id
    if ((await idOf(row, row.issuer)) !== row.id) return undefined;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    const secret = await stores.secrets.find(tenant, { kind, recordId: row.id, field });
    return secret && readSealed(await vault.open(secret));
  }

  async #seal(row: McpConnectionRow, connection: SealedConnection): Promise<Statement> {
    const { vault, stores, clock } = this.#options;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    const place = { ...tenant, kind, recordId: row.id, field };
    return stores.secrets.put(tenant, await vault.seal(place, JSON.stringify(connection), clock.now()));
  }

  #removal(row: McpConnectionRow): Statement[] {
    const { stores } = this.#options;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    return [
      stores.mcpConnections.remove(tenant, { id: row.id }),
      stores.secrets.remove(tenant, { kind, recordId: row.id, field }),
    ];
  }

  /** Writes a change of a connection, and says so to other processes. */
  async #write(row: ConnectionPlace & { readonly id: string }, statements: readonly Statement[]): Promise<void> {
    const { database, stores, clock } = this.#options;
    const { organisationId, workspaceId, id } = row;
    const change = { organisationId, workspaceId, resource: kind, recordId: id };
    await database.write([...statements, stores.audit.announce(change, clock.now())]);
    this.#held.delete(keyOf(row));
  }

  /** As `#write`, several times: the authorization server has replaced the former refresh token already. */
  async #writeSurely(row: McpConnectionRow, statements: readonly Statement[]): Promise<void> {
    for (let pauseMs = 100; ; pauseMs *= 2) {
      try {
        return await this.#write(row, statements);
      } catch (error) {
        if (pauseMs > 5_000) throw error;
        await wait(pauseMs);
      }
    }
  }

  /** Ends a connection: its user has to connect again. */
  async #end(row: McpConnectionRow): Promise<void> {
    const { stores, clock } = this.#options;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    const status: McpConnectionRow["status"] = "not_connected";
    const changes = { status, lockedUntil: 0, expiresAt: null, lastUpdatedAt: clock.now() };
    await this.#write(row, [
      stores.mcpConnections.update(tenant, { id: row.id, version: row.version }, changes),
      stores.secrets.remove(tenant, { kind, recordId: row.id, field }),
    ]);
  }

  /** One refresh at a time in this process. */
  #refreshOnce(
    server: McpServer,
    place: ConnectionPlace,
    held: HeldConnection,
    isRefused = false,
  ): Promise<ConnectionToken> {
    const running = this.#refreshing.get(held.row.id);
    if (running) return running;
    const refreshing = this.#refresh(server, place, { held, isRefused }).finally(() =>
      this.#refreshing.delete(held.row.id),
    );
    this.#refreshing.set(held.row.id, refreshing);
    return refreshing;
  }

  /** One refresh at a time in all processes: who has the lock asks, the others read what came. */
  async #refresh(
    server: McpServer,
    place: ConnectionPlace,
    { held, isRefused }: { held: HeldConnection; isRefused: boolean },
  ): Promise<ConnectionToken> {
    const { clock } = this.#options;
    const until = clock.monotonic() + lockMs;
    let current: HeldConnection | undefined = held;
    while (current && clock.monotonic() < until) {
      if (await this.#lock(current.row)) return this.#ask(server, current, isRefused);
      await wait(lookEveryMs);
      current = await this.#open(place, true);
      if (current?.row.status !== "connected") return { kind: "not_connected" };
      if (current.row.version !== held.row.version) {
        return { kind: "token", token: current.sealed.accessToken, version: current.row.version };
      }
    }
    return current ? { kind: "unavailable" } : { kind: "not_connected" };
  }

  async #lock({ organisationId, id, version }: McpConnectionRow): Promise<boolean> {
    const { database, clock } = this.#options;
    const now = clock.now();
    const sql =
      "UPDATE mcp_connections SET locked_until = ? WHERE organisation_id = ? AND id = ? AND version = ? AND locked_until < ?";
    const [locked] = await database.write([{ sql, args: [now + lockMs, organisationId, id, version, now] }]);
    return (locked?.rowsAffected ?? 0) > 0;
  }

  async #ask(server: McpServer, { row, sealed }: HeldConnection, isRefused: boolean): Promise<ConnectionToken> {
    const { clients, stores, clock } = this.#options;
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    try {
      const settings = await readUpstreamSettings(server);
      const tokens = await clients.refresh({ ...sealed, settings }, sealed.refreshToken ?? "");
      const next = { ...sealed, ...tokens, refreshToken: tokens.refreshToken ?? sealed.refreshToken };
      const version = row.version + 1;
      const changes = {
        version,
        lockedUntil: 0,
        expiresAt: tokens.expiresAt ?? null,
        ...(tokens.scope !== undefined && { scope: tokens.scope }),
        lastUpdatedAt: clock.now(),
      };
      const update = stores.mcpConnections.update(tenant, { id: row.id, version: row.version }, changes);
      await this.#writeSurely(row, [update, await this.#seal(row, next)]);
      return { kind: "token", token: tokens.accessToken, version };
    } catch (error) {
      if (error instanceof GrantEndedError) {
        await this.#end(row);
        return { kind: "not_connected" };
      }
      await this.#write(row, [stores.mcpConnections.update(tenant, { id: row.id }, { lockedUntil: 0 })]);
      // a failure that may pass costs nobody the connection
      const isValid = !isRefused && (sealed.expiresAt ?? 0) > clock.now();
      return isValid ? { kind: "token", token: sealed.accessToken, version: row.version } : { kind: "unavailable" };
    }
  }

  async #revoke(server: McpServer, sealed: SealedConnection): Promise<void> {
    const endpoint = stringOf(sealed.revocationEndpoint);
    if (endpoint === undefined) return;
    const settings = await readUpstreamSettings(server);
    await this.#options.clients.revoke({ ...sealed, settings }, endpoint, sealed.refreshToken ?? sealed.accessToken);
  }
}

function keyOf({ organisationId, workspaceId, userId, serverId }: ConnectionPlace): string {
  return JSON.stringify([organisationId, workspaceId, userId, serverId]);
}

function idOf(place: ConnectionPlace, issuer: string): Promise<string> {
  const { organisationId, workspaceId, userId, serverId } = place;
  return sha256Hex(JSON.stringify([organisationId, workspaceId, userId, serverId, issuer]));
}

/** Creates the connections of an installation. */
export function createMcpConnections(options: ConnectionsOptions): McpConnections {
  return new Connections(options);
}
