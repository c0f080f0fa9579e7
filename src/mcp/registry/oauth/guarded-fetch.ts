import type { AddressGuard } from "../../../lib/address.ts";
import { readBytes } from "../../../lib/body.ts";
import { findJsonExcess } from "../../../lib/json.ts";
import type { Outbound } from "../../../lib/outbound.ts";

/** What the OAuth library asks for. */
interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: URLSearchParams | string | undefined;
}

/** Calls authorization servers. */
export type GuardedFetch = (url: string, init: FetchInit) => Promise<Response>;

const timeoutMs = 10_000;
const maxBytes = 256 * 1024;
const jsonLimits = { depth: 16, values: 20_000, keys: 2_000 };
/** Statuses whose responses have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const bodiless = new Set([204, 205, 304]);

/**
 * Creates a function that calls authorization servers, which data names: with address checks, over TLS unless the host is
 * trusted, without redirects, and with limits on the answer.
 */
export function createGuardedFetch({ outbound, guard }: { outbound: Outbound; guard: AddressGuard }): GuardedFetch {
  return async (url, { method = "GET", headers = {}, body }) => {
    requireSecure(url, guard);
    const response = await outbound(url, {
      origin: "influenced",
      method,
      headers: { ...headers },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body !== undefined && { body: String(body) }),
    });
    const bytes = await readBytes(response, { bytes: maxBytes, totalMs: timeoutMs, silenceMs: timeoutMs });
    const excess = findJsonExcess(bytes, jsonLimits);
    if (excess !== undefined) throw new TypeError(`Cannot read the response: it has ${excess}`);
    const shown = new Headers(response.headers);
    for (const name of ["content-encoding", "content-length", "transfer-encoding"]) shown.delete(name);
    const { status } = response;
    return new Response(bodiless.has(status) ? null : Uint8Array.from(bytes), { status, headers: shown });
  };
}

/**
 * Refuses addresses that a browser or the gateway must not call.
 *
 * @throws {AddressRefusedError} If the guard refuses it.
 * @throws {TypeError} If it is plain HTTP and not trusted.
 */
export function requireSecure(url: string, guard: AddressGuard): void {
  const target = guard.checkTarget(url);
  if (target.protocol === "https:" || guard.isTrusted(target)) return;
  throw new TypeError(
    "Cannot use an address over plain HTTP: anyone on the network could read or replace what it carries",
  );
}
