import { deriveKey, webMac } from "../lib/hash.ts";
import { type Outbound, OutboundError } from "../lib/outbound.ts";
import { MeasureExchange } from "../routing/balance/exchange.ts";
import type { RoutingState } from "../routing/state.ts";
import type { OpenData } from "./data.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** Requests a host without any credential. Redirects are responses. The message of an error shows no address. */
export async function probeHost(url: string, timeoutMs: number, outbound: Outbound): Promise<number> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const headers = { accept: "*/*", "user-agent": "gateway-health-check" };
    const response = await outbound(url, { method: "GET", headers, origin: "influenced", signal });
    response.body?.cancel().catch(() => {});
    return response.status;
  } catch (error) {
    if (signal.aborted) throw new Error(`no response within ${timeoutMs} ms`, { cause: error });
    const isRefused = error instanceof OutboundError && error.kind === "refused_address";
    throw new Error(isRefused ? "its address is not allowed" : "it cannot be reached", { cause: error });
  }
}

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
