import type { IncomingMessage, ServerResponse } from "node:http";
import { createAddressGuard } from "../../src/lib/address.ts";
import { type OutboundErrorKind, type TransportInit, toOutboundError } from "../../src/lib/outbound.ts";
import { createBunTransport, createDenoTransport, createNodeTransport } from "../../src/serve/transport.ts";
import { createCheckedSender } from "../../src/serve/transport-http.ts";
import type { Upstream } from "./upstream.ts";

const runtime = "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";
/** Makes the transport of the runtime the tests run on. */
export const create = { bun: createBunTransport, deno: createDenoTransport, node: createNodeTransport }[runtime];

/** Resolves every name to loopback, except those that contain their addresses. */
const known: Record<string, string[]> = {
  "mixed.example.com": ["8.8.8.8", "127.0.0.1"],
  "metadata.example.com": ["169.254.169.254"],
  "nothing.example.com": [],
};
/** Names the resolver was asked for, oldest first. */
export const looked: string[] = [];
/** The resolver of the tests; it asks nobody. */
export const lookup = (host: string) => {
  looked.push(host);
  if (host === "unknown.example.com")
    return Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND", syscall: "getaddrinfo" }));
  const addresses = known[host] ?? ["127.0.0.1"];
  return Promise.resolve(addresses.map((address) => ({ address, family: 4 })));
};

/** A transport with the resolver of the tests. */
export const transport = create({ lookup });
/** On Bun the transport of a process started with a higher limit than a gateway ever reaches. */
const ampleTransport = createBunTransport({ lookup, fetchLimit: 65_336 });
/** A guard without trusted hosts. */
export const nothingTrusted = createAddressGuard({ trustedHosts: [] });
/** Accepts every address. */
export const all = () => true;
/** The checked connector with the resolver of the tests. */
export const sendChecked = createCheckedSender({ lookup });

/** Sends one request to a path of a test's server. */
export type Send = (upstream: Upstream, path: string, init?: Partial<TransportInit>) => Promise<Response>;
/** A plain GET. */
export const defaults: TransportInit = { method: "GET", headers: {}, raw: false };
/** Every way to send, by name. */
export const senders: Record<string, Send> = {
  send: (upstream, path, init) => transport.send(`${upstream.url}${path}`, { ...defaults, ...init }),
  "raw send": (upstream, path, init) => transport.send(`${upstream.url}${path}`, { ...defaults, raw: true, ...init }),
  ...(runtime === "bun" && {
    "send without a bound": (upstream, path, init) =>
      ampleTransport.send(`${upstream.url}${path}`, { ...defaults, ...init }),
  }),
  sendChecked: (upstream, path, init) =>
    sendChecked(`http://upstream.example.com:${upstream.port}${path}`, { ...defaults, ...init }, all),
};

/** Responds with the received request, as JSON. */
export function echo(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Uint8Array[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
  });
}

/** Runs a test against a fresh server and closes it. */
export async function using(server: Promise<Upstream>, run: (upstream: Upstream) => Promise<void>): Promise<void> {
  const upstream = await server;
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
}

/** Class of the failure of some work. */
export async function kindOf(work: Promise<unknown>, signal?: AbortSignal): Promise<OutboundErrorKind | "none"> {
  try {
    await work;
    return "none";
  } catch (error) {
    return toOutboundError(error, signal).kind;
  }
}

/** A stream that gives the chunks as they are pulled. */
export function streamOf(chunks: readonly (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const bytes = chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk));
  return new ReadableStream({
    pull(controller) {
      const next = bytes.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
}
