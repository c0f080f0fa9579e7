import type { SettledRequest } from "../../context/call-record.ts";
import type { ConnectionInfo, HandleRequest } from "../../context.ts";
import { readBytes } from "../../lib/body.ts";
import { type ExactValue, parseExact } from "../../lib/exact-numbers.ts";
import { isObject } from "../../lib/json.ts";
import { toLoggedUsage } from "../../logs/usage.ts";
import type { BatchRequest } from "./lines.ts";

/** Largest response that is stored. */
export const maxAnswerBytes = 16 * 1024 * 1024;
const maxAttempts = 3;
/** Statuses of failures that may be temporary. */
export const retryableStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);
/** Longest wait a provider can ask for. */
const maxWaitMs = 30_000;

/** Tokens of responses by kind. */
export interface TokenCounts {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export const noTokens: TokenCounts = { input: 0, cached: 0, output: 0, reasoning: 0 };

/** The outcome of a line. */
export interface LineResult {
  /** The line of the output or error file, without its line feed. */
  text: string;
  isFailure: boolean;
  tokens: TokenCounts;
  /** Nano-dollars of all its calls; null where none has a known cost. */
  cost: number | null;
}

/** How the lines of a batch are called. */
interface LineCalls {
  batchId: string;
  headers: Readonly<Record<string, string>>;
  connection: ConnectionInfo;
  model: string | null;
  handle: HandleRequest;
  signal: AbortSignal;
  /** Waits; at most as long as a batch pauses between buckets. */
  wait(milliseconds: number): Promise<void>;
}

/** Tokens a response reports. Input includes cached tokens, whatever the shape of the response. */
export function tokensOf(body: unknown): TokenCounts {
  const usage = isObject(body) ? toLoggedUsage(body.usage) : null;
  if (!usage) return noTokens;
  return {
    input: usage.input_tokens,
    cached: usage.cached_tokens,
    output: usage.output_tokens,
    reasoning: usage.reasoning_tokens,
  };
}

/** The result of a line that was not called. */
export function toSkippedResult(
  batchId: string,
  customId: string,
  error: { code: string; message: string },
): LineResult {
  const text = JSON.stringify({ id: lineId(batchId), custom_id: customId, response: null, error });
  return { text, isFailure: true, tokens: noTokens, cost: null };
}

/** A new id for a line of the output. */
export function lineId(batchId: string): string {
  return `batch_req_${batchId.replace(/^gw_batch_/, "").slice(0, 8)}_${crypto.randomUUID()}`;
}

/** The error in a failed response. */
export function errorOf(body: unknown, status: number): { code: string; message: string } {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const code = typeof error.code === "string" ? error.code : `http_${status}`;
  return { code, message: typeof error.message === "string" ? error.message : `The response has the status ${status}` };
}

/** How long a response asks to wait, in milliseconds; bounded. */
function retryAfterMs(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, maxWaitMs) : 0;
}

/** Calls the provider for a line, and retries temporary failures unless a config defines the retries. */
async function sendLine({ request, url, write }: BatchRequest, calls: LineCalls): Promise<Response> {
  const { headers, connection, handle, signal, model } = calls;
  const body = write(model === null ? request.body : { model, ...request.body });
  const attempts = headers["x-gateway-config"] === undefined ? maxAttempts : 1;
  for (let attempt = 1; ; attempt++) {
    const init = {
      method: "POST",
      headers: { "x-gateway-priority": "low", ...headers, "content-type": "application/json" },
      body,
      signal,
    };
    const response = await handle(new Request(`http://batches.internal${url}`, init), connection);
    if (attempt === attempts || !retryableStatuses.has(response.status)) return response;
    response.body?.cancel().catch(() => {});
    await calls.wait(Math.max(1_000 * 2 ** (attempt - 1), retryAfterMs(response)));
  }
}

/** The value of a JSON response; of any other its text. */
function readBody(text: string): ExactValue {
  try {
    return parseExact(text);
  } catch {
    return { value: text, write: JSON.stringify };
  }
}

/** Runs one line as a request of the key that created the batch. Never fails. */
export async function callLine(line: BatchRequest, calls: LineCalls): Promise<LineResult> {
  const { batchId } = calls;
  let cost: number | null = null;
  const onSettled = (settled: SettledRequest) => {
    // a failed call costs only what its discarded responses cost, and does not show that the price is known
    if (settled.cost !== null && (settled.status < 300 || settled.cost > 0)) cost = (cost ?? 0) + settled.cost;
  };
  const { request } = line;
  const { custom_id: customId } = request;
  if (request.body.stream === true) {
    const error = { code: "streaming_not_supported", message: "Batches cannot stream: leave stream out" };
    return toSkippedResult(batchId, customId, error);
  }
  try {
    const response = await sendLine(line, { ...calls, connection: { ...calls.connection, onSettled } });
    const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
    const text = new TextDecoder().decode(await readBytes(response, bounds));
    const { status } = response;
    const { value: body, write } = readBody(text);
    const isFailure = status < 200 || status > 299;
    const answer = { status_code: status, request_id: response.headers.get("x-gateway-request-id") ?? "", body };
    const error = isFailure ? errorOf(body, status) : null;
    const resultLine = write({ id: lineId(batchId), custom_id: customId, response: answer, error });
    return { text: resultLine, isFailure, tokens: tokensOf(body), cost };
  } catch {
    const error = { code: "answer_unreadable", message: "The response broke off or is too large to store" };
    // the provider charges for the response all the same
    return { ...toSkippedResult(batchId, customId, error), cost };
  }
}
