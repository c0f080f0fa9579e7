import type { Transport, TransportInit } from "../../src/lib/outbound.ts";

/** A network that records the last request, with a scripted response. */
export interface Wire {
  url: string;
  init: TransportInit | undefined;
  answer: () => Response;
  readonly transport: Transport;
}

/** Creates a network that responds with `{}` until scripted otherwise. */
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
