import { readFileSync } from "node:fs";
import process from "node:process";
import { OutboundError, type TransportInit } from "../lib/outbound.ts";
import { withEnd } from "../lib/stream-end.ts";
import { fetchLimitVariable, largestFetchLimit } from "./fetch-limit-variable.ts";
import type { SocketSender } from "./transport-http.ts";
import { byteStrategy, hasBody } from "./transport-streams.ts";

/** Bun's bound where the variable is missing or cannot be used. */
const defaultFetchLimit = 256;

/** From this bound on, the gateway's own bounds of requests at once come first: nothing is counted. */
const ampleFetchLimit = 16_384;

/** The value the process started with: what a program writes into its environment later does not reach Bun. */
function readStartValue(): string | undefined {
  try {
    const start = `${fetchLimitVariable}=`;
    const entries = readFileSync("/proc/self/environ", "utf8").split("\0");
    return entries.find((entry) => entry.startsWith(start))?.slice(start.length);
  } catch {
    return process.env[fetchLimitVariable]; // only Linux shows the first environment
  }
}

/** How many `fetch` calls Bun runs at once in this process. */
export function readFetchLimit(value: string | undefined = readStartValue()): number {
  const limit = /^[0-9]{1,5}$/.test(value ?? "") ? Number(value) : 0;
  return limit >= 1 && limit <= largestFetchLimit ? limit : defaultFetchLimit;
}

/** The ways to read a response at once. On Bun they are several times faster than its stream. */
const wholeReaders = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;

/**
 * A response that reports its end once: its body was read, failed or was cancelled. Only a body that is read as a stream is
 * wrapped in one.
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
  for (const name of wholeReaders) {
    const read = response[name];
    const value = () => {
      const result: Promise<unknown> = read.call(response);
      result.then(onEnd, onEnd);
      return result;
    };
    Object.defineProperty(response, name, { value });
  }
  let watched: ReadableStream<Uint8Array> | undefined;
  const get = () => {
    if (watched) return watched;
    const body = Reflect.get(Response.prototype, "body", response);
    if (body) watched = withEnd(body, onEnd, byteStrategy);
    else onEnd();
    return watched ?? null;
  };
  return Object.defineProperty(response, "body", { get });
}

/**
 * A sender that no number of open responses blocks: `fetch` while there is room below its bound, sockets beyond. A quarter of
 * the bound stays free for the other `fetch` calls of the process, such as those to a remote database.
 *
 * @param limit How many `fetch` calls run at once.
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
    // also ends a response nobody reads
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
