import { call, done } from "./control.ts";
import { type FaultyUpstream, startFaultyUpstream, success } from "./faults.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  listLogs,
  type ShownLog,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "./gateway.ts";

/** A target that was called, as the log shows it. */
export interface LoggedAttempt {
  label: string;
  provider: string | null;
  model: string | null;
  status: number;
  duration_ms: number;
  retries: number;
  error_code?: string;
}

/** A log row of a request that followed a config. */
export interface RoutedLog extends ShownLog {
  config?: string | null;
  attempts?: LoggedAttempt[];
  skipped?: string[];
  unfit?: { label: string; reason: string }[];
}

/** Waits until there are so many rows and gives all of them by their trace. */
export async function collectLogs(
  gateway: Pick<TestGateway, "gateway">,
  count: number,
  key: string = workspaceKey,
): Promise<Map<string, RoutedLog[]>> {
  const until = performance.now() + 20_000;
  for (;;) {
    const rows: RoutedLog[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await listLogs(
        gateway,
        `limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
        key,
      );
      rows.push(...page.data);
      cursor = page.next_cursor;
    }
    if (rows.length >= count || performance.now() > until) return Map.groupBy(rows, (row) => row.trace_id);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A request by the workspace key that brings a config, or names a saved one; other headers are added. */
export interface RoutedRequest {
  config?: object | string;
  headers?: HeaderChanges;
  body?: object;
  signal?: AbortSignal;
}

/** The response to a request with a config. */
export interface RoutedAnswer {
  status: number;
  /** Place of the target that answered. */
  label: string | null;
  retries: string | null;
  code: string | null;
  message: string;
  errors: string[];
  trace: string;
  text: string;
}

/** A gateway and upstreams with scripted faults. */
export interface Routed {
  gateway: TestGateway;
  upstreams: FaultyUpstream[];
  /** The gateway's next random number. */
  chance: number;
  /** As at the start. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts a gateway and so many upstreams. */
export async function startRouted(
  count: number,
  options: Parameters<typeof createTestGateway>[0] = {},
): Promise<Routed> {
  const upstreams = await Promise.all(Array.from({ length: count }, startFaultyUpstream));
  const routed: Routed = {
    gateway: await createTestGateway({ ...options, random: () => routed.chance }),
    upstreams,
    chance: 0,
    reset() {
      routed.chance = 0;
      for (const upstream of upstreams) upstream.script(() => success);
    },
    async close() {
      await routed.gateway.close();
      for (const upstream of upstreams) await upstream.close();
    },
  };
  return routed;
}

const hello = { model: "m", messages: [{ role: "user", content: "Hello" }] };

/** Headers that bring a config, or name a saved one. */
export function configHeader(config: object | string | undefined): HeaderChanges {
  if (config === undefined) return {};
  return { "x-gateway-config": typeof config === "string" ? config : JSON.stringify(config) };
}

/** Asks for a chat along a config. */
export async function ask(
  gateway: Pick<TestGateway, "gateway">,
  { config, headers = {}, body = {}, signal }: RoutedRequest,
): Promise<RoutedAnswer> {
  const trace = crypto.randomUUID();
  const sent = { "x-gateway-provider": null, "x-gateway-trace-id": trace, ...configHeader(config), ...headers };
  const response = await chat(gateway, { ...hello, ...body }, sent, signal ? { signal } : {});
  const text = await response.text();
  const answer = response.status === 200 ? {} : JSON.parse(text);
  return {
    status: response.status,
    trace,
    text,
    label: response.headers.get("x-gateway-last-used-option-index"),
    retries: response.headers.get("x-gateway-retry-attempt-count"),
    code: answer.error?.code ?? null,
    message: answer.message ?? "",
    errors: answer.errors ?? [],
  };
}

/** The one log row of a request. */
export async function logOf(
  gateway: Pick<TestGateway, "gateway">,
  { trace }: { trace: string },
  key: string = workspaceKey,
): Promise<RoutedLog> {
  const rows: RoutedLog[] = await waitForLogs(gateway, `trace_id=${trace}`, 1, key);
  const [row] = rows;
  if (!row || rows.length !== 1) throw new Error(`There are ${rows.length} rows of one request`);
  return row;
}

/** A target of a config that calls a test's server. */
export function targetOf(upstream: { url: string }, more: object = {}): object {
  return { provider: "openai", api_key: "upstream-credential", custom_host: `${upstream.url}/v1`, ...more };
}

/** Saves a config and gives its slug. */
export async function saveConfig(
  gateway: Pick<TestGateway, "gateway">,
  config: object,
  key: string = workspaceKey,
): Promise<string> {
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key, body: { name: "A config", config } }),
  );
  return slug;
}
