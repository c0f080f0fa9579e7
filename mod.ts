import { host, main } from "./src/serve/host.ts";

export type { ConnectionInfo, Limits } from "./src/context.ts";
export type { GatewayOptions } from "./src/gateway/options.ts";
export type { Gateway } from "./src/gateway.ts";
export type { SocketAnswer, SocketInit, Transport, TransportInit } from "./src/lib/outbound.ts";
export type { SocketAcceptance, SocketEnd } from "./src/lib/websocket.ts";
export { defineProvider } from "./src/providers/core/define.ts";
export type { Provider, ProviderDefinition } from "./src/providers/core/types.ts";
export { openaiCompatible } from "./src/providers/openai-compatible/mod.ts";
export { createGateway } from "./src/serve/embed.ts";

export default host;

if (import.meta.main) await main();
