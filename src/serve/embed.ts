import process from "node:process";
import type { GatewayOptions } from "../gateway/options.ts";
import { createGateway as createWith, type Gateway } from "../gateway.ts";
import { createLateTransport } from "./runtime-transport.ts";

/**
 * Creates a gateway inside a server of your own. Nothing is opened before `start` or the first request. On Bun, Deno and Node
 * it sends requests as the served gateway does: through the address-checked connector, and any number at once.
 *
 * @throws {TypeError} When started with settings that cannot be used.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  // other hosts may imitate the module and lack the sockets
  const hasSockets = process.versions?.node !== undefined;
  return createWith(hasSockets ? { transport: createLateTransport(), ...options } : options);
}
