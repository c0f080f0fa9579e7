import { rowFilters } from "../admin/core/log-filter.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { toPrintable } from "../lib/printable.ts";
import type { LogRow } from "../schemas/logs.ts";

/** Which rows of which gateway are shown. */
export interface LogsOptions {
  /** Address without a trailing slash. */
  readonly url: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/** Options that choose rows, besides keys of the metadata. */
export const logFilterNames: readonly string[] = rowFilters
  .map(({ name }) => name.replaceAll("_", "-"))
  .filter((name) => !name.startsWith("metadata"));

/** The gateway sends something every 15 seconds: after a longer silence the connection is lost. */
const silenceMs = 45_000;
const firstPauseMs = 500;
const maxPauseMs = 10_000;

/** The gateway refuses: asking again would not help. */
class RefusedError extends Error {}

/** A row in one line, without text a terminal may act on. */
function describe(row: LogRow): string {
  const { created_at, status, operation, provider, model, duration_ms, usage, cost, error, id } = row;
  const parts = [
    created_at,
    String(status),
    operation,
    `${provider ?? "-"}/${model ?? "-"}`,
    `${Math.round(duration_ms)} ms`,
    ...(usage ? [`${usage.total_tokens} tokens`] : []),
    // the row has US cents
    ...(cost ? [`$${(cost / 100).toFixed(6)}`] : []),
    id,
    ...(error ? [`${error.code ?? error.type}: ${error.message}`] : []),
  ];
  return toPrintable(parts.join("  "));
}

/** A row as JSON, without control characters. */
function toJson(row: unknown): string {
  return JSON.stringify(row).replace(/[\u007f-\u009f]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}

async function ask({ url, key, query }: LogsOptions, path: string, init: { lastId?: string; signal?: AbortSignal }) {
  const headers = new Headers({ "x-gateway-api-key": key });
  if (init.lastId !== undefined && init.lastId !== "") headers.set("last-event-id", init.lastId);
  const response = await fetch(`${url}${path}?${query}`, { headers, ...(init.signal && { signal: init.signal }) });
  if (response.ok) return response;
  const body = parseJson(await response.text());
  const message = isObject(body) && typeof body.message === "string" ? body.message : "it did not say why";
  const text = `The gateway refused with status ${response.status}: ${toPrintable(message)}`;
  throw response.status < 500 && response.status !== 429 ? new RefusedError(text) : new Error(text);
}

/** Blocks of events of a body; ends after a long silence. */
async function* readBlocks(body: ReadableStream<Uint8Array>, leave: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let timer = setTimeout(leave, silenceMs);
  try {
    for await (const chunk of body) {
      clearTimeout(timer);
      timer = setTimeout(leave, silenceMs);
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      yield* blocks;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What is known while the log is followed. */
interface Following {
  lastId: string;
  pauseMs: number;
}

/** Shows rows until the connection ends. */
async function followOnce(options: LogsOptions, state: Following, show: (row: LogRow) => void): Promise<void> {
  const leaving = new AbortController();
  const response = await ask(options, "/v1/logs/tail", { lastId: state.lastId, signal: leaving.signal });
  state.pauseMs = firstPauseMs;
  if (!response.body) return;
  for await (const block of readBlocks(response.body, () => leaving.abort())) {
    const fieldOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
    const data = fieldOf("data");
    if (fieldOf("event") === "error")
      throw new RefusedError(`The gateway ended the connection: ${toPrintable(data ?? "")}`);
    // written by `logs/follow/follower.ts`
    if (data !== undefined) show(JSON.parse(data) as LogRow);
    state.lastId = fieldOf("id") ?? state.lastId;
  }
}

/** Shows rows as requests end, until the process ends or the gateway refuses. */
async function follow(options: LogsOptions, show: (row: LogRow) => void): Promise<never> {
  const state: Following = { lastId: "", pauseMs: firstPauseMs };
  for (let isFirst = true; ; isFirst = false) {
    try {
      await followOnce(options, state, show);
    } catch (error) {
      if (isFirst || error instanceof RefusedError) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, state.pauseMs));
    state.pauseMs = Math.min(state.pauseMs * 2, maxPauseMs);
  }
}

/**
 * Shows rows of the log: the newest ones, the newest last; with the flag `follow` those of requests as they end.
 *
 * @throws {Error} If the gateway refuses, or cannot be reached at first.
 */
export async function showLogs(
  options: LogsOptions,
  flags: ReadonlySet<string>,
  print: (line: string) => void,
): Promise<void> {
  const show = (row: LogRow) => print(flags.has("json") ? toJson(row) : describe(row));
  if (flags.has("follow")) await follow(options, show);
  const page = parseJson(await (await ask(options, "/v1/logs", {})).text());
  // the answer of `GET /v1/logs`
  const rows = isObject(page) && Array.isArray(page.data) ? (page.data as LogRow[]) : [];
  for (const row of rows.toReversed()) show(row);
}
