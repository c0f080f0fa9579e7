import process from "node:process";
import type { Transport } from "../lib/outbound.ts";
import { outboundProxy } from "../settings/outbound-proxy.ts";
import { withSecretFiles } from "./secret-files.ts";

/** The runtime of this process. */
export const runtime: "bun" | "deno" | "node" =
  typeof Bun !== "undefined" ? "bun" : typeof Deno !== "undefined" ? "deno" : "node";

/** The transport of this runtime. Loaded late: listening does not need it. */
export async function loadTransport(): Promise<Transport> {
  const transports = await import("./transport.ts");
  const proxy = outboundProxy(withSecretFiles(process.env, ["OUTBOUND_PROXY"]));
  switch (runtime) {
    case "bun":
      return transports.createBunTransport({ proxy });
    case "deno":
      return transports.createDenoTransport({ proxy });
    case "node":
      return transports.createNodeTransport({ proxy });
  }
}

/** The transport of this runtime, loaded on first use. */
export function createLateTransport(): Transport {
  let loading: Promise<Transport> | undefined;
  const load = () => {
    loading ??= loadTransport();
    return loading;
  };
  const required = <Method>(method: Method | undefined): Method => {
    if (method === undefined) throw new TypeError("Cannot send: this runtime has no sockets");
    return method;
  };
  return {
    send: async (url, init) => (await load()).send(url, init),
    sendChecked: async (url, init, allows) => required((await load()).sendChecked)(url, init, allows),
    openSocket: async (url, init, allows) => required((await load()).openSocket)(url, init, allows),
  };
}
