import type { Transport, TransportInit } from "../../src/lib/outbound.ts";

/** A network that keeps what was sent last, and answers as it is told. */
export interface Wire {
  url: string;
  init: TransportInit | undefined;
  answer: () => Response;
  readonly transport: Transport;
}

/** Creates a network that answers `{}` until it is told otherwise. */
export function createWire(): Wire {
  const wire: Wire = {
    url: "",
    init: undefined,
    answer: () => new Response("{}"),
    transport: {
      async send(url, init) {
        Object.assign(wire, { url, init });
        return wire.answer();
      },
    },
  };
  return wire;
}
