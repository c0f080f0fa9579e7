import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLookupId } from "../../src/auth/api-key.ts";
import { readMasterKeys, unwrapRootSecret } from "../../src/auth/master-keys.ts";
import type { ConnectionInfo } from "../../src/context.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import type { ApiKeyRow } from "../../src/db/tables/api-keys.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { createGateway, type Gateway } from "../../src/gateway.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { deriveKey, webMac } from "../../src/lib/hash.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import type { CallLog } from "../../src/schemas/logs.ts";
import { createFolderAssets } from "../../src/serve/console-assets.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { createBunTransport, createDenoTransport, createNodeTransport } from "../../src/serve/transport.ts";
import { type AnswerCheck, createAnswerCheck } from "./openapi-check.ts";

/** Keys every test gateway starts with. */
export const adminKey = "test-admin-key-0000000000";
export const workspaceKey = "test-workspace-key-000000";

/** A master key that is not secret. */
export const masterKeys = "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";

/** The transport of the runtime that runs the test. */
export function createRuntimeTransport(): Transport {
  if ("Bun" in globalThis) return createBunTransport();
  return "Deno" in globalThis ? createDenoTransport() : createNodeTransport();
}

/** A console of one page that names a nonce, and one script in both forms. */
export const testConsole = createFolderAssets(join(import.meta.dirname, "../fixtures/console"));

/** A clock that only moves on demand. */
export interface TestClock extends Clock {
  /** Moves both times. */
  advance(milliseconds: number): void;
}

export function createTestClock(start = Date.UTC(2026, 0, 15, 12)): TestClock {
  let passed = 0;
  return {
    now: () => start + passed,
    monotonic: () => passed,
    advance: (milliseconds) => {
      passed += milliseconds;
    },
  };
}

/** Pseudorandom numbers in [0, 1), the same in every run (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An empty folder for database files, and what removes it. */
export function createTemporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "gateway-test-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export interface TestGatewayOptions extends GatewayOptions {
  /** Keeps the data in a temporary file that the test can open too. */
  inFile?: boolean;
  /** False where upstreams send what no provider documents. Default: answers are checked against the OpenAPI document. */
  checksAnswers?: boolean;
}

export interface TestGateway {
  gateway: Gateway;
  /** Warnings for operators, other than those about models without a price. */
  warnings: string[];
  /** Warnings about models without a price. */
  priceWarnings: string[];
  /** The database file, opened beside the gateway. */
  openFile(): Promise<Database>;
  /** Sends a request as given. */
  fetch(path: string, init?: RequestInit, connection?: ConnectionInfo): Promise<Response>;
  close(): Promise<void>;
}

/** Checks responses against the OpenAPI document of the first gateway: it is the same for all. */
let checkAnswer: AnswerCheck | undefined;

/** The gateway, its JSON answers checked against its own OpenAPI document. */
function withCheckedAnswers(gateway: Gateway): Gateway {
  checkAnswer ??= createAnswerCheck(async () => {
    const document = await gateway.fetch(new Request("http://gateway.test/openapi.json"));
    return JSON.parse(await document.text());
  });
  const check = checkAnswer;
  return {
    ...gateway,
    async fetch(request, connection) {
      const response = await gateway.fetch(request, connection);
      await check(request, response);
      return response;
    },
  };
}

/** A gateway over an empty database, with known keys, that may call loopback upstreams. */
export async function createTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { inFile, checksAnswers = true, ...rest } = options;
  const warnings: string[] = [];
  const priceWarnings: string[] = [];
  const folder = inFile ? createTemporaryFolder() : undefined;
  const url = folder ? `file:${join(folder.path, "gateway.db")}` : ":memory:";
  const opened: Database[] = [];
  const gateway = createGateway({
    database: url,
    masterKeys,
    bootstrap: { adminKey, workspaceKey },
    trustedHosts: ["127.0.0.1"],
    transport: options.transport ?? createRuntimeTransport(),
    createMac: nodeMac,
    console: testConsole,
    // tests wait for their rows
    logFlushMs: 10,
    // a clock that a test sets forward looks like an event loop that is late
    shedding: { lagMs: undefined },
    warn: (message) => (message.startsWith("Cannot price calls") ? priceWarnings : warnings).push(message),
    log: () => {},
    ...rest,
  });
  await gateway.start();
  const checked = checksAnswers ? withCheckedAnswers(gateway) : gateway;
  return {
    gateway: checked,
    warnings,
    priceWarnings,
    async openFile() {
      const database = await openDatabase({ url });
      opened.push(database);
      return database;
    },
    fetch: (path, init, connection) => checked.fetch(new Request(`http://gateway.test${path}`, init), connection),
    async close() {
      await gateway.close();
      for (const database of opened) await database.close();
      folder?.remove();
    },
  };
}

/** Header values of a request; null leaves a header out that would be there otherwise. */
export type HeaderChanges = Readonly<Record<string, string | null>>;

/** Headers of a request by the workspace key to the echo provider, with changes. */
export function requestHeaders(changes: HeaderChanges = {}): Headers {
  const headers = new Headers({
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": "echo",
    "content-type": "application/json",
  });
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  }
  return headers;
}

export const helloBody = { model: "echo-1", messages: [{ role: "user", content: "Hello there" }] };

/** Requests a chat completion; strings and bytes are sent unchanged, other values as JSON. */
export function chat(
  { gateway }: { gateway: Gateway },
  body: unknown = helloBody,
  headers: HeaderChanges = {},
  init: RequestInit = {},
): Promise<Response> {
  const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const request: RequestInit = {
    method: "POST",
    headers: requestHeaders(headers),
    body: sent as BodyInit, // the DOM types want bytes no other thread shares; nothing here shares
    ...init,
  };
  return gateway.fetch(new Request("http://gateway.test/v1/chat/completions", request));
}

/** Headers that send a request to a loopback upstream with the caller's own credential. */
export function upstreamHeaders(upstream: { url: string }): HeaderChanges {
  return {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
  };
}

/** One log row as `GET /v1/logs` and `GET /v1/logs/{id}` show it. */
export interface ShownLog {
  id: string;
  status: number;
  provider: string | null;
  model: string | null;
  requested_model?: string;
  operation: string;
  trace_id: string;
  api_key_id: string;
  workspace_id: string | null;
  organisation_id: string;
  created_at: string;
  stream: boolean;
  upstream_calls: number;
  upstream_url: string | null;
  calls?: CallLog[];
  dropped_params?: string[];
  metadata: Record<string, string>;
  usage: Record<string, number> | null;
  cost: number | null;
  cost_currency: string;
  priced: boolean;
  price_source?: string;
  answered_model?: string;
  integration_id?: string;
  discarded_cost?: number;
  former_cost?: number | null;
  error: { type: string; code: string | null; message: string } | null;
  request: { headers: Record<string, string>; body: unknown; truncated: boolean };
  response: { headers: Record<string, string>; body: unknown; truncated: boolean };
}

interface LogPage {
  data: ShownLog[];
  has_more: boolean;
  next_cursor: string | null;
}

/** The body of an answer, of the shape the test knows. */
export async function readJson<Shape>(response: Response): Promise<Shape> {
  return JSON.parse(await response.text());
}

/** A page of logs as the workspace key, or another, sees it. */
export async function listLogs(
  { gateway }: { gateway: Gateway },
  query = "",
  key: string = workspaceKey,
): Promise<LogPage> {
  const request = new Request(`http://gateway.test/v1/logs?${query}`, { headers: { "x-gateway-api-key": key } });
  return readJson<LogPage>(await gateway.fetch(request));
}

/** Waits until a query finds `count` rows; newest first. */
export async function waitForLogs(
  gateway: { gateway: Gateway },
  query: string,
  count = 1,
  key: string = workspaceKey,
): Promise<ShownLog[]> {
  const until = performance.now() + 10_000;
  for (;;) {
    const { data } = await listLogs(gateway, query, key);
    if (data.length >= count) return data;
    if (performance.now() > until) throw new Error(`Waited 10 s for ${count} rows of ${query}: ${data.length} came`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The one row of a trace, with bodies. */
export async function waitForLog(gateway: { gateway: Gateway }, traceId: string): Promise<ShownLog> {
  const [row] = await waitForLogs(gateway, `trace_id=${encodeURIComponent(traceId)}`);
  const request = new Request(`http://gateway.test/v1/logs/${row?.id}`, {
    headers: { "x-gateway-api-key": workspaceKey },
  });
  return readJson<ShownLog>(await gateway.gateway.fetch(request));
}

/** Reads the key for the digests of a database's keys. */
export async function readPepper(database: Database): Promise<Uint8Array<ArrayBuffer>> {
  const { rows } = await database.read("SELECT value FROM installation WHERE name = 'root-secret'");
  return deriveKey(await unwrapRootSecret(String(rows[0]?.value), readMasterKeys(masterKeys)), "key-pepper");
}

/** A key's row with default values. */
export const plainKey = {
  alertEmails: null,
  allowedModels: null,
  priority: null,
  creationMode: "api",
  defaults: null,
  description: null,
  formerDigest: null,
  formerOfAnyForm: false,
  lastResetAt: null,
  lastRotatedAt: null,
  lastUpdatedAt: 0,
  rateLimits: null,
  transitionEndsAt: null,
  usageLimits: null,
  userId: null,
} satisfies Partial<ApiKeyRow>;

/** Stores a key in any format; other fields are copied from the first workspace key. */
export async function insertKey(database: Database, key: string, changes: Partial<ApiKeyRow> = {}): Promise<string> {
  const { rows } = await database.read("SELECT * FROM api_keys WHERE kind = 'workspace-service' LIMIT 1");
  const id = crypto.randomUUID();
  const row: ApiKeyRow = {
    ...plainKey,
    id,
    lookupId: readLookupId(key, "gk") ?? null,
    name: "Test key",
    kind: "workspace-service",
    masked: "te*****key",
    createdAt: 0,
    organisationId: String(rows[0]?.organisation_id),
    workspaceId: String(rows[0]?.workspace_id),
    scopes: String(rows[0]?.scopes),
    status: "active",
    expiresAt: null,
    digest: await webMac(await readPepper(database))(key),
    ...changes,
  };
  await database.write([
    {
      sql: "INSERT INTO api_keys (id, lookup_id, organisation_id, workspace_id, name, kind, digest, masked, scopes, status, expires_at, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
      args: [
        row.id,
        row.lookupId,
        row.organisationId,
        row.workspaceId,
        row.name,
        row.kind,
        row.digest,
        row.masked,
        row.scopes,
        row.status,
        row.expiresAt,
        row.createdAt,
      ],
    },
  ]);
  return row.id;
}

/** Stores a second organisation with one workspace and one workspace key. */
export async function insertTenant(
  database: Database,
  key: string,
): Promise<{ organisationId: string; workspaceId: string }> {
  const organisationId = crypto.randomUUID();
  const workspaceId = crypto.randomUUID();
  await database.write([
    {
      sql: "INSERT INTO organisations (id, name, slug, created_at) VALUES (?, 'other', ?, 0)",
      args: [organisationId, `other-${organisationId}`],
    },
    {
      sql: "INSERT INTO workspaces (id, organisation_id, name, slug, created_at) VALUES (?, ?, 'other', 'other', 0)",
      args: [workspaceId, organisationId],
    },
  ]);
  await insertKey(database, key, { organisationId, workspaceId });
  return { organisationId, workspaceId };
}
