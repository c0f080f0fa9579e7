import { readFileSync } from "node:fs";
import process from "node:process";
import { OutboundError, type TransportInit } from "../lib/outbound.ts";
import { withEnd } from "../lib/stream-end.ts";
import { fetchLimitVariable, largestFetchLimit } from "./fetch-limit-variable.ts";
import type { SocketSender } from "./transport-http.ts";
import { byteStrategy, hasBody } from "./transport-streams.ts";

/** Bun's limit if the variable is missing or invalid. */
const defaultFetchLimit = 256;

/** From this limit on, the gateway's own limit of concurrent requests is reached first: nothing is counted. */
const ampleFetchLimit = 16_384;

/** The value at process start: later changes of the environment do not reach Bun. */
function readStartValue(): string | undefined {
  try {
    const start = `${fetchLimitVariable}=`;
    const entries = readFileSync("/proc/self/environ", "utf8").split("\0");
    return entries.find((entry) => entry.startsWith(start))?.slice(start.length);
  } catch {
    return process.env[fetchLimitVariable]; // only Linux exposes the initial environment
  }
}

/** How many concurrent `fetch` calls Bun allows in this process. */
export function readFetchLimit(value: string | undefined = readStartValue()): number {
  const limit = /^[0-9]{1,5}$/.test(value ?? "") ? Number(value) : 0;
  return limit >= 1 && limit <= largestFetchLimit ? limit : defaultFetchLimit;
}

/** Methods that read a response at once. On Bun they are several times faster than its stream. */
const wholeReaders = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/**
 * A response that reports its end once: its body was read, failed or was cancelled. The body is wrapped in a stream only
 * if it is read as one.
 */
function watchEnd(response: Response, method: string, onEnd: () => void): Response {
  const { status, headers } = response;
  if (status < 200 || status > 599) {
    onEnd();
    response.body?.cancel().catch(() => {});
    throw new OutboundError("bad_answer", `Cannot use the response: there is no status ${status}`);
  }
  if (!hasBody(method, status) || headers.get("content-length") === "0") {
    onEnd();
    return response;
  }
  let watched: ReadableStream<Uint8Array> | undefined;
  for (const name of wholeReaders) {
    const read = response[name];
    const value = () => {
      // whoever has looked at the body has made it a stream, which reports its end
      if (watched) return new Response(watched, { headers })[name]();
      const result: Promise<unknown> = read.call(response);
      result.then(onEnd, onEnd);
      return result;
    };
    Object.defineProperty(response, name, { value });
  }
  const get = () => {
    if (watched) return watched;
    // the global class may be another one by now: a host on Node replaces it
    const body = Reflect.get(Object.getPrototypeOf(response), "body", response);
    // it was read at once, which reports its end; the standard gives a locked stream
    if (body?.locked) return body;
    if (body) watched = withEnd(body, onEnd, byteStrategy);
    else onEnd();
    return watched ?? null;
  };
  return Object.defineProperty(response, "body", { get });
}

/**
 * A sender that open responses cannot block: `fetch` below its limit, sockets above. A quarter of the limit stays
 * free for other `fetch` calls of the process, such as those to a remote database.
 *
 * @param limit Concurrent `fetch` calls.
 */
export function withinFetchLimit(limit: number, viaFetch: SocketSender, viaSocket: SocketSender): SocketSender {
  if (limit >= ampleFetchLimit) return viaFetch;
  const room = Math.floor(limit * 0.75);
  let running = 0;
  return async (url: string, init: TransportInit) => {
    if (running >= room) return viaSocket(url, init);
    running++;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      running--;
    };
    // also ends a response that is never read
    init.signal?.addEventListener("abort", end, { once: true });
    try {
      return watchEnd(await viaFetch(url, init), init.method, () => {
        init.signal?.removeEventListener("abort", end);
        end();
      });
    } catch (error) {
      end();
      throw error;
    }
  };
}
