import { ResponseCache } from "../cache/response-cache.ts";
import { webMac } from "../lib/hash.ts";
import type { OpenData } from "./data.ts";
import type { CacheOptions, GatewayOptions } from "./options.ts";

const defaults: CacheOptions = { memoryBytes: 64 * 1024 * 1024 };

/**
 * The cache of responses.
 *
 * @param now Unix milliseconds.
 */
export function createCache(options: GatewayOptions, { installation }: OpenData, now: () => number): ResponseCache {
  const { memoryBytes } = { ...defaults, ...options.cache };
  return new ResponseCache({ mac: (options.createMac ?? webMac)(installation.keys.cache), now, memoryBytes });
}
