import type { CallerContext } from "../context.ts";
import { BodyError, readBytes } from "../lib/body.ts";
import { startTimer } from "../lib/clock.ts";
import { encodeHeader } from "../lib/header-text.ts";
import { hopHeader } from "../lib/headers.ts";
import { parseJson } from "../lib/json.ts";
import { headersOfTrace } from "./own-request.ts";

/** A request of the gateway to itself, on behalf of a caller. */
interface OwnRequest {
  /** Such as `/v1/chat/completions`. */
  readonly path: string;
  readonly body: object;
  readonly timeoutMs: number;
}

/** Its response; the status is 408 where it took too long. */
interface OwnAnswer {
  readonly status: number;
  /** Undefined where the response is not JSON. */
  readonly json: unknown;
}

/** Largest response that is read. */
const maxAnswerBytes = 1024 * 1024;

/**
 * Sends a request of a guardrail through the gateway: limits, budgets and the log of the caller apply. No guardrail runs
 * on it and no default config applies, so it never leads to another one.
 */
export async function askGateway(context: CallerContext, { path, body, timeoutMs }: OwnRequest): Promise<OwnAnswer> {
  const { principal, connection, headers: given, metadata, services } = context;
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort());
  const headers = {
    "content-type": "application/json",
    ...headersOfTrace(context),
    "x-gateway-span-name": "guardrail",
    "x-gateway-metadata": encodeHeader(metadata),
    // a stored provider may be this gateway again
    [hopHeader]: services.hops.next(given),
  };
  const request = { method: "POST", headers, body: JSON.stringify(body), signal: abort.signal };
  try {
    const response = await services.handle(new Request(`http://gateway.internal${path}`, request), {
      actingFor: principal,
      isUnguarded: true,
      ...(connection.remoteAddress !== undefined && { remoteAddress: connection.remoteAddress }),
    });
    const bounds = { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs };
    const bytes = await readBytes(response, bounds);
    return { status: abort.signal.aborted ? 408 : response.status, json: parseJson(new TextDecoder().decode(bytes)) };
  } catch (error) {
    if (abort.signal.aborted || error instanceof BodyError) return { status: 408, json: undefined };
    throw error;
  } finally {
    cancel();
  }
}
