import { readFileSync } from "node:fs";
import process from "node:process";
import { OutboundError, type TransportInit } from "../lib/outbound.ts";
import { withEnd } from "../lib/stream-end.ts";
import { fetchLimitVariable, largestFetchLimit } from "./fetch-limit-variable.ts";
import type { SocketSender } from "./transport-http.ts";
import { byteStrategy } from "./transport-streams.ts";

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

/** A response whose end is reported once: its body was read, failed or was cancelled. */
function watchEnd(response: Response, onEnd: () => void): Response {
  const { status, statusText, headers, body } = response;
  if (!body) {
    onEnd();
    return response;
  }
  if (status < 200 || status > 599) {
    onEnd();
    body.cancel().catch(() => {});
    throw new OutboundError("bad_answer", `Cannot use the answer: there is no status ${status}`);
  }
  return new Response(withEnd(body, onEnd, byteStrategy), { status, statusText, headers });
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
      return watchEnd(await viaFetch(url, init), () => {
        init.signal?.removeEventListener("abort", end);
        end();
      });
    } catch (error) {
      end();
      throw error;
    }
  };
}
