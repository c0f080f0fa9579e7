import type { SocketAnswer, SocketInit, SocketOutbound } from "../lib/outbound.ts";
import { beforeAbort, type ProviderCall } from "./call.ts";
import type { AuthTools } from "./types.ts";

/** One WebSocket to a provider, ready to be opened. */
export interface SocketCall extends Omit<ProviderCall, "body" | "raw" | "method"> {
  protocols: SocketInit["protocols"];
  maxMessageBytes: number;
  connectTimeoutMs: number;
}

/**
 * Opens the WebSocket of a call. Adds the provider's authentication, as `sendCall` does. What goes wrong is thrown as it
 * comes: `toCallError` makes it an answer.
 */
export async function openCall(call: SocketCall, tools: AuthTools, open: SocketOutbound): Promise<SocketAnswer> {
  const { provider, url, signal, customHost, credential } = call;
  const headers = Object.assign(call.headers, provider.authenticate(credential));
  const signable = { method: "GET", url, headers, body: undefined, credential };
  if (provider.authorize) Object.assign(headers, await beforeAbort(provider.authorize(signable, tools), signal));
  const { protocols, maxMessageBytes, connectTimeoutMs } = call;
  return open(url, {
    ...{ headers, protocols, maxMessageBytes, connectTimeoutMs, signal },
    origin: customHost === undefined && !provider.isBaseInfluenced ? "fixed" : "influenced",
  });
}
