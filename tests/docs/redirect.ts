// Loaded before the gateway (`bun --preload`): what it sends to vendors goes to the loopback server of the test.

import process from "node:process";

const vendor = process.env.DOCS_VENDOR ?? "";
const send = globalThis.fetch;

function redirected(input: string): string {
  const { hostname, pathname, search } = new URL(input);
  return hostname === "127.0.0.1" ? input : `${vendor}${pathname}${search}`;
}

globalThis.fetch = Object.assign(
  (input: string | URL | Request, init?: RequestInit) =>
    send(input instanceof Request ? input : redirected(String(input)), init),
  send,
);
