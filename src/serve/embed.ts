import process from "node:process";
import type { GatewayOptions } from "../gateway/options.ts";
import { createGateway as createWith, type Gateway } from "../gateway.ts";
import { nodeMac } from "./environment.ts";
import { connectRedis } from "./redis.ts";
import { createLateTransport } from "./runtime-transport.ts";
import { zstdCodec } from "./text-codec.ts";

/** What a process with sockets gives a gateway without starting threads. */
const defaults = () => ({
  transport: createLateTransport(),
  connectRedis,
  createMac: nodeMac,
  logCodec: zstdCodec,
});

/**
 * Creates a gateway inside your own server. Nothing is opened before `start` or the first request. On Bun, Deno and Node
 * it sends requests like the standalone gateway: through the address-checked connector, without a limit of concurrent calls,
 * and stores logged contents compressed as it does. Spread `hostOptions()` to have its threads and its console too.
 *
 * @throws {TypeError} At start, for unusable settings.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  // other hosts may emulate the module without sockets
  const hasSockets = process.versions?.node !== undefined;
  return createWith(hasSockets ? { ...defaults(), ...options } : options);
}
