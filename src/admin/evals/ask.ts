import type { Principal } from "../../auth/principal.ts";
import type { SettledRequest } from "../../context/call-record.ts";
import { createOwnRequest } from "../../context/own-request.ts";
import type { Services } from "../../context.ts";
import { BodyError, readBytes } from "../../lib/body.ts";
import { encodeHeader } from "../../lib/header-text.ts";
import { HeaderMap, hopHeader } from "../../lib/headers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { toLoggedUsage } from "../../logs/usage.ts";

/** Largest response that is read. */
const maxAnswerBytes = 4 * 1024 * 1024;
/** A failure that may be temporary is repeated so often, after twice as long each time. */
const attempts = 3;
const firstPauseMs = 1_000;
const temporaryStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);

/** For whom requests are made, and what ends them. */
export interface EvalCaller {
  readonly services: Services;
  readonly principal: Principal;
  readonly runId: string;
  readonly signal: AbortSignal;
}

/** A request of a run. */
export interface EvalRequest {
  /** Such as `/v1/chat/completions`. */
  readonly path: string;
  readonly body: object;
  /** Slug of the config that it uses. */
  readonly config?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>>;
  /** It is a question of a guardrail: no other guardrail runs on it. */
  readonly isUnguarded?: boolean;
}

/** What came of a request. */
interface Asked {
  readonly status: number;
  /** Undefined where the response is not JSON. */
  readonly json: unknown;
  /** What went wrong; undefined for a success. */
  readonly error: string | undefined;
  readonly logId: string | null;
  /** Milliseconds to the end of the response, without repeated failures. */
  readonly latencyMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Nano-dollars of all attempts; null where the response has no price. */
  readonly cost: number | null;
}

function errorOf(status: number, json: unknown): string | undefined {
  if (status < 300) return undefined;
  const { code, message } = isObject(json) && isObject(json.error) ? json.error : {};
  return [stringOf(code) ?? `http_${status}`, stringOf(message)].filter((part) => part !== undefined).join(": ");
}

function headersOf({ config, metadata }: EvalRequest, { services, runId }: EvalCaller): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-gateway-trace-id": runId,
    "x-gateway-span-name": "eval",
    "x-gateway-priority": "low",
    "x-gateway-metadata": encodeHeader({ eval_run: runId, ...metadata }),
    ...(config !== undefined && { "x-gateway-config": config }),
    // a stored provider may be this gateway again
    [hopHeader]: services.hops.next(new HeaderMap(new Headers())),
  };
}

async function askOnce(request: EvalRequest, caller: EvalCaller): Promise<Asked> {
  const { services, principal, signal } = caller;
  let cost: number | null = null;
  const onSettled = (settled: SettledRequest) => {
    cost = settled.cost;
  };
  const init = { method: "POST", headers: headersOf(request, caller), body: JSON.stringify(request.body), signal };
  const connection = { actingFor: principal, isEval: true, onSettled };
  const startedAt = services.clock.monotonic();
  const response = await services.handle(createOwnRequest(request.path, init), {
    ...connection,
    ...(request.isUnguarded && { isUnguarded: true }),
  });
  const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
  const logId = response.headers.get("x-gateway-request-id");
  const latencyMs = () => Math.round(services.clock.monotonic() - startedAt);
  try {
    const json = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
    const usage = isObject(json) ? toLoggedUsage(json.usage) : null;
    const tokens = { inputTokens: usage?.input_tokens ?? 0, outputTokens: usage?.output_tokens ?? 0 };
    const { status } = response;
    return { status, json, error: errorOf(status, json), logId, latencyMs: latencyMs(), ...tokens, cost };
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    const problem = { status: 502, json: undefined, error: "answer_unreadable: it broke off or is too large" };
    return { ...problem, logId, latencyMs: latencyMs(), inputTokens: 0, outputTokens: 0, cost };
  }
}

/** Makes a request of a run with the rights, limits and guardrails of its key, and repeats temporary failures. */
export async function askEval(request: EvalRequest, caller: EvalCaller): Promise<Asked> {
  const { services, signal } = caller;
  let spent = 0;
  for (let attempt = 1; ; attempt++) {
    const asked = await askOnce(request, caller);
    const mayRepeat = request.config === undefined && attempt < attempts && temporaryStatuses.has(asked.status);
    if (!mayRepeat || signal.aborted) return { ...asked, cost: asked.cost === null ? null : asked.cost + spent };
    spent += asked.cost ?? 0;
    await new Promise<void>((resolve) => services.timers.start(firstPauseMs * 2 ** (attempt - 1), resolve));
  }
}
