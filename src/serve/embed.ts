import process from "node:process";
import type { GatewayOptions } from "../gateway/options.ts";
import { createGateway as createWith, type Gateway } from "../gateway.ts";
import { connectRedis } from "./redis.ts";
import { createLateTransport } from "./runtime-transport.ts";

/**
 * Creates a gateway inside your own server. Nothing is opened before `start` or the first request. On Bun, Deno and Node
 * it sends requests like the standalone gateway: through the address-checked connector, without a limit of concurrent calls.
 *
 * @throws {TypeError} At start, for unusable settings.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  // other hosts may emulate the module without sockets
  const hasSockets = process.versions?.node !== undefined;
  return createWith(hasSockets ? { transport: createLateTransport(), connectRedis, ...options } : options);
}
