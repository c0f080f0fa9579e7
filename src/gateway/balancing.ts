import { deriveKey, webMac } from "../lib/hash.ts";
import { MeasureExchange } from "../routing/balance/exchange.ts";
import type { RoutingState } from "../routing/state.ts";
import type { OpenData } from "./data.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** What shares the measures of load balancers among processes; undefined without Redis. */
export async function createMeasureExchange(
  options: GatewayOptions,
  { installation }: Pick<OpenData, "installation">,
  { routing, now }: { routing: RoutingState; now: () => number },
): Promise<MeasureExchange | undefined> {
  const { redis, connectRedis, createMac = webMac } = options;
  if (!redis || !connectRedis) return undefined;
  return new MeasureExchange({
    measures: routing.measures,
    connect: () => connectRedis(redis.url),
    digest: createMac(await deriveKey(installation.keys.state, "balance-in-redis")),
    now,
    id: crypto.randomUUID(),
    warn: warnOf(options),
  });
}
