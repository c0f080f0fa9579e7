import type { AuditDraft } from "../../control/audit-chain.ts";
import type { Committer } from "../../control/commit.ts";
import type { SecretOpener } from "../../control/credentials.ts";
import { readReferences } from "../../control/provider-library.ts";
import { mayUseReference } from "../../control/secret-managers/open.ts";
import { CredentialUnavailableError } from "../../control/vault.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { McpIntegrationRow } from "../../db/tables/mcp.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Outbound } from "../../lib/outbound.ts";
import { headersIn, openAddress, openConfigurations } from "./configurations.ts";
import { mcpSecretKind } from "./mcp-library.ts";
import { mergeCapabilities } from "./merge-capabilities.ts";
import { createOpenapiUpstream } from "./openapi/upstream.ts";
import {
  type ReadList,
  readUpstream,
  testUpstream,
  type UpstreamContents,
  type UpstreamTest,
} from "./read-upstream.ts";
import { UpstreamFailure, type UpstreamTarget } from "./upstream-client.ts";

/** What a sync writes. */
interface SyncEffect {
  readonly statements: readonly Statement[];
  /** Null where it succeeded. */
  readonly error: string | null;
}

/** What was read of a server, or why it could not be read. */
type Reading =
  | {
      readonly contents: UpstreamContents;
      /** What an API has that is no tool, with the reasons. */
      readonly leftOut?: readonly string[];
    }
  | { readonly failure: string };

/** Says what an API has that is no tool. */
type LeftOut = { leftOut?(): Promise<readonly string[]> };

/** Servers that the gateway does not call for itself: they need a user, or a token that their calls ask for. */
const ofCallers = new Set(["oauth_auto", "external", "oauth_client_credentials"]);

/** Headers with a token of an account. */
export type AccountHeaders = Readonly<Record<string, string>>;

/** Whether servers are called with tokens that the gateway does not have for itself. */
export function needsAccount({ authType }: Pick<McpIntegrationRow, "authType">): boolean {
  return ofCallers.has(authType);
}

/** Reads what upstream servers offer, and stores it. */
export interface McpSync {
  /**
   * Calls the server of an integration. Fails never.
   *
   * @param account Headers of an account there, for servers at which the gateway has no account.
   */
  read(row: McpIntegrationRow, totalMs: number, account?: AccountHeaders): Promise<Reading>;
  /** The statements that store what was read: the integration as it is now. */
  store(row: McpIntegrationRow, reading: Reading): Promise<SyncEffect>;
  /** Tests whether the server of an integration answers. */
  test(row: McpIntegrationRow, totalMs: number, account?: AccountHeaders): Promise<UpstreamTest>;
  /**
   * Takes up what is new in a page of a list that a server sent to a caller. Nobody waits for it. Of a server that changes its
   * lists all the time, ten pages a minute are taken up.
   */
  observe(tenant: { organisationId: string; integrationId: string }, list: ReadList): void;
  /** Reads a server again whose last sync is old; nobody waits for it. */
  refresh(tenant: { organisationId: string; integrationId: string }): void;
  /** Reads a server again that said that its lists changed, at most every few seconds. Rejects never. */
  reread(tenant: { organisationId: string; integrationId: string }): Promise<void>;
  /** Waits for what is being taken up. */
  close(): Promise<void>;
}

/** Parts of the sync. */
interface McpSyncParts {
  readonly stores: ControlStores;
  readonly committer: Committer;
  readonly opener: SecretOpener;
  readonly outbound: Outbound;
  readonly clock: Clock;
}

/** Most pages of a list of an integration that are taken up in a minute. */
const maxObserved = 10;
const observeEveryMs = 60_000;
/** Longest text of a server that is stored of its description. */
const maxMetadataLength = 64 * 1024;

/** Age of a sync at which a server is read again, where its stored lists are shown. */
const staleMs = 5 * 60_000;
/** How often a server is read again that says that its lists changed. */
const rereadEveryMs = 2_000;
/** Longest time that such a reading takes. */
const refreshMs = 30_000;

/** Sources of a record's secrets. */
async function readSecrets({ stores }: Pick<McpSyncParts, "stores">, row: McpIntegrationRow) {
  const tenant = { organisationId: row.organisationId, workspaceId: null };
  const secrets = await stores.secrets.all(tenant, { where: { kind: mcpSecretKind, recordId: row.id } });
  const references = row.secretMappings === null ? [] : await readReferences(stores, tenant);
  return { secrets, references: references.filter((one) => mayUseReference(one.row, row.workspaceId)) };
}

/** The description of a server as it is stored. */
function toMetadata({ description }: UpstreamContents): JsonValue {
  const { protocolVersion, serverInfo, capabilities, instructions } = description;
  const whole = { serverInfo, capabilities, protocolVersion, instructions };
  const text = JSON.stringify(whole);
  if (text.length <= maxMetadataLength) return JSON.parse(text);
  const { name, version } = serverInfo;
  return { serverInfo: { name: String(name).slice(0, 255), version: String(version).slice(0, 64) }, protocolVersion };
}

function auditOf({ id, workspaceId }: McpIntegrationRow, time: number): AuditDraft {
  return {
    time,
    requestId: "",
    method: "",
    uri: "",
    queryParams: "{}",
    requestHeaders: "{}",
    requestBody: "",
    userId: "gateway",
    userType: "system",
    workspaceId,
    resourceType: "mcp_integrations",
    resourceId: id,
    action: "sync",
    responseStatusCode: 200,
    clientIp: "",
    country: null,
  };
}

class UpstreamSync implements McpSync {
  readonly #parts: McpSyncParts;
  /** Pages that were taken up in the current minute, by integration and kind of list. */
  readonly #observed = new BoundedMap<string, { since: number; count: number }>(10_000);
  /** When servers were last read again, by integration. */
  readonly #refreshed = new BoundedMap<string, number>(10_000);
  /** The last readings of servers whose lists changed, by integration. */
  readonly #reread = new BoundedMap<string, { since: number; work: Promise<void> }>(10_000);
  readonly #running = new Set<Promise<void>>();

  constructor(parts: McpSyncParts) {
    this.#parts = parts;
  }

  async #target(row: McpIntegrationRow, account: AccountHeaders | undefined): Promise<UpstreamTarget & LeftOut> {
    const { outbound, opener } = this.#parts;
    if (ofCallers.has(row.authType) && !account)
      throw new UpstreamFailure("Its lists are read when callers ask for them");
    if (row.transport === "sse") throw new UpstreamFailure("Its lists are read when they pass through");
    const sources = await readSecrets(this.#parts, row);
    const configurations = await openConfigurations(row, sources, opener);
    const url = await openAddress(row, sources.secrets, opener);
    const api = row.transport === "openapi" ? createOpenapiUpstream(url, row.openapi ?? "{}") : undefined;
    const send: UpstreamTarget["send"] = (init) => (api ? api.answer(init, outbound) : outbound(url, init));
    return { headers: { ...headersIn(configurations), ...account }, send, ...(api && { leftOut: api.leftOut }) };
  }

  async read(row: McpIntegrationRow, totalMs: number, account?: AccountHeaders): Promise<Reading> {
    try {
      const target = await this.#target(row, account);
      const contents = await readUpstream(target, totalMs);
      return { contents, leftOut: (await target.leftOut?.()) ?? [] };
    } catch (error) {
      return { failure: describe(error) };
    }
  }

  async test(row: McpIntegrationRow, totalMs: number, account?: AccountHeaders): Promise<UpstreamTest> {
    try {
      return await testUpstream(await this.#target(row, account), totalMs);
    } catch (error) {
      return { status: null, serverName: null, error: describe(error) };
    }
  }

  async store(row: McpIntegrationRow, reading: Reading): Promise<SyncEffect> {
    const { stores, clock } = this.#parts;
    const now = clock.now();
    const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
    const own = { id: row.id, workspaceId: row.workspaceId };
    if ("failure" in reading) {
      const isWaiting = ofCallers.has(row.authType) && row.lastSyncedAt === null;
      const syncStatus: McpIntegrationRow["syncStatus"] = isWaiting ? "pending" : "failed";
      const changes = { syncStatus, syncError: reading.failure };
      return { statements: [stores.mcpIntegrations.update(tenant, own, changes)], error: reading.failure };
    }
    const organisation = { organisationId: row.organisationId, workspaceId: null };
    const rows = await stores.mcpCapabilities.all(organisation, { where: { integrationId: row.id } });
    const merged = await mergeCapabilities(reading.contents.lists, rows, { stores, row, now });
    const syncError = describeLeftOut(merged.leftOut, reading.leftOut ?? []);
    const changes = {
      metadata: toMetadata(reading.contents),
      syncStatus: "success" as const,
      syncError,
      lastSyncedAt: now,
    };
    const statements = [
      ...merged.statements.map((statement) => withWorkspace(statement, row)),
      stores.mcpIntegrations.update(tenant, own, changes),
    ];
    return { statements, error: null };
  }

  observe(tenant: { organisationId: string; integrationId: string }, list: ReadList): void {
    const key = JSON.stringify([tenant.organisationId, tenant.integrationId, list.kind]);
    const now = this.#parts.clock.monotonic();
    const { since, count } = this.#observed.get(key) ?? { since: now, count: 0 };
    const isNext = now - since >= observeEveryMs;
    if (!isNext && count >= maxObserved) return;
    this.#observed.set(key, isNext ? { since: now, count: 1 } : { since, count: count + 1 });
    this.#start(this.#takeUp(tenant, list));
  }

  /** Runs work that nobody waits for. Whatever fails is done again with a later list. */
  #start(work: Promise<unknown>): void {
    const settled: Promise<void> = work.then(
      () => {},
      () => {},
    );
    this.#running.add(settled);
    settled.then(() => this.#running.delete(settled));
  }

  refresh(tenant: { organisationId: string; integrationId: string }): void {
    const key = JSON.stringify([tenant.organisationId, tenant.integrationId]);
    const now = this.#parts.clock.monotonic();
    const last = this.#refreshed.get(key);
    if (last !== undefined && now - last < staleMs) return;
    this.#refreshed.set(key, now);
    this.#start(this.#readAgain(tenant));
  }

  async reread(tenant: { organisationId: string; integrationId: string }): Promise<void> {
    const key = JSON.stringify([tenant.organisationId, tenant.integrationId]);
    const now = this.#parts.clock.monotonic();
    const last = this.#reread.get(key);
    if (last && now - last.since < rereadEveryMs) return last.work;
    const work = this.#readAgain(tenant, 0).catch(() => {});
    this.#reread.set(key, { since: now, work });
    this.#start(work);
    return work;
  }

  async #readAgain(
    { organisationId, integrationId }: { organisationId: string; integrationId: string },
    olderThanMs = staleMs,
  ): Promise<void> {
    const { stores, committer, clock } = this.#parts;
    const find = () => stores.mcpIntegrations.find({ organisationId, workspaceId: null }, { id: integrationId });
    const row = await find();
    const isFresh = row?.lastSyncedAt !== null && clock.now() - (row?.lastSyncedAt ?? 0) < olderThanMs;
    if (!row || isFresh || ofCallers.has(row.authType) || row.transport === "sse") return;
    const reading = await this.read(row, refreshMs);
    await committer.run(organisationId, async () => {
      const current = await find();
      if (current?.url !== row.url) throw new Error("the integration changed meanwhile");
      return { ...(await this.store(current, reading)), audit: auditOf(current, clock.now()) };
    });
  }

  async #takeUp(
    { organisationId, integrationId }: { organisationId: string; integrationId: string },
    list: ReadList,
  ): Promise<void> {
    const { stores, committer, clock } = this.#parts;
    const organisation = { organisationId, workspaceId: null };
    await committer.run(organisationId, async () => {
      const row = await stores.mcpIntegrations.find(organisation, { id: integrationId });
      if (!row) throw new Error("the integration was deleted");
      const now = clock.now();
      const rows = await stores.mcpCapabilities.all(organisation, { where: { integrationId, type: list.kind } });
      // what one caller does not see may still be there
      const { statements } = await mergeCapabilities([{ ...list, isComplete: false }], rows, { stores, row, now });
      return { statements: statements.map((one) => withWorkspace(one, row)), audit: auditOf(row, now) };
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/** Marks a write of a capability as one in the workspace of its integration, which its row does not name. */
function withWorkspace(statement: Statement, { workspaceId }: McpIntegrationRow): Statement {
  return statement.written ? { ...statement, written: { ...statement.written, workspaceId } } : statement;
}

/** What a sync that succeeded left out; null for nothing. */
function describeLeftOut(tooLarge: number, operations: readonly string[]): string | null {
  const parts = [
    ...(tooLarge > 0 ? [`${tooLarge} definitions are too large and were left out`] : []),
    ...(operations.length > 0 ? [`No tools were made of ${operations.join("; ")}`] : []),
  ];
  return parts.length > 0 ? parts.join(". ") : null;
}

function describe(error: unknown): string {
  if (error instanceof UpstreamFailure) return error.message;
  return error instanceof CredentialUnavailableError ? "Its credential is not available" : "The call failed";
}

/** Creates what reads upstream servers. */
export function createMcpSync(parts: McpSyncParts): McpSync {
  return new UpstreamSync(parts);
}
