import type { Transport } from "../../src/lib/outbound.ts";
import { createRuntimeTransport } from "./gateway.ts";
import type { ReceivedRequest } from "./upstream.ts";

/** Header with the address a request was meant for. */
const meantFor = "x-test-url";

/** A transport that sends everything to one loopback server, which stands in for providers with fixed hosts. */
export function createRedirectingTransport(url: () => string): Transport {
  const transport = createRuntimeTransport();
  return {
    send(address, init) {
      const { pathname, search } = new URL(address);
      return transport.send(`${url()}${pathname}${search}`, {
        ...init,
        headers: { ...init.headers, [meantFor]: address },
      });
    },
  };
}

/** The address a request was meant for. */
export function meantUrl({ headers }: ReceivedRequest): URL {
  return new URL(String(headers[meantFor]));
}

/** Method and the address a request was meant for. */
export function meantLine(request: ReceivedRequest): string {
  return `${request.method} ${String(request.headers[meantFor])}`;
}
