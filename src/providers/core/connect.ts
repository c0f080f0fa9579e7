import type { SocketAnswer, SocketInit, SocketOutbound } from "../../lib/outbound.ts";
import { authenticate, beforeAbort, noteSecrets, type ProviderCall } from "./call.ts";
import type { AuthTools } from "./types.ts";

/** One WebSocket to a provider, ready to be opened. */
export interface SocketCall extends Omit<ProviderCall, "body" | "raw" | "method"> {
  protocols: SocketInit["protocols"];
  maxMessageBytes: number;
  connectTimeoutMs: number;
}

/**
 * Opens the WebSocket of a call with the provider's authentication, as `sendCall` does. Errors are thrown unchanged;
 * convert them with `toCallError`.
 */
export async function openCall(call: SocketCall, tools: AuthTools, open: SocketOutbound): Promise<SocketAnswer> {
  const { provider, url, signal, customHost, credential } = call;
  const headers = Object.assign(call.headers, authenticate(call, tools));
  if (provider.callHeaders) Object.assign(headers, provider.callHeaders(headers, credential));
  await tools.beforeLeaving?.({ url, headers });
  const signable = { method: "GET", url, headers, body: undefined, credential };
  if (provider.authorize) {
    const signed = await beforeAbort(provider.authorize(signable, tools), signal);
    noteSecrets(signed, tools);
    Object.assign(headers, signed);
  }
  const { protocols, maxMessageBytes, connectTimeoutMs } = call;
  return open(url, {
    headers,
    protocols,
    maxMessageBytes,
    connectTimeoutMs,
    signal,
    origin: customHost === undefined && !provider.isBaseInfluenced ? "fixed" : "influenced",
  });
}
