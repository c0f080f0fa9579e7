import type { ConnectRedis, RedisClient } from "../lib/redis.ts";

/** Longest time to open a connection, in milliseconds. */
const connectWithinMs = 2_000;
/** Pauses between two attempts to connect, in milliseconds, before they are varied. */
const pauses = { first: 50, most: 2_000 };

/** Digests by which Redis knows scripts. */
function createDigests({ createHash }: typeof import("node:crypto")): (script: string) => string {
  const known = new Map<string, string>();
  return (script) => {
    const digest = known.get(script) ?? createHash("sha1").update(script).digest("hex");
    known.set(script, digest);
    return digest;
  };
}

/** An error without the command that failed, whose arguments may be secret. */
function withoutCommand(error: unknown): Error {
  return new Error(`Redis failed: ${error instanceof Error ? error.message : String(error)}`);
}

/** Resolves when `work` has ended in any way, at the latest after the time to connect. */
async function settled(work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, connectWithinMs);
  });
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}

/** Connects with ioredis, which is loaded here: a process without Redis does not load it. */
export const connectRedis: ConnectRedis = async (url) => {
  const [{ Redis }, crypto] = await Promise.all([import("ioredis"), import("node:crypto")]);
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connectWithinMs,
    // commands fail at once while there is no connection, and none is sent twice
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) =>
      Math.min(pauses.first * 2 ** Math.min(attempt, 10), pauses.most) * (0.5 + Math.random()),
  });
  /** Why there is no connection. */
  let lost: Error | undefined;
  redis.on("error", (error: unknown) => {
    lost = withoutCommand(error);
  });
  let connectedAt = 0;
  redis.on("connect", () => {
    connectedAt = performance.now();
  });
  redis.on("ready", () => {
    lost = undefined;
  });
  await settled(redis.connect());
  const digestOf = createDigests(crypto);
  const evaluate: RedisClient["run"] = async (script, keys, args) => {
    try {
      return await redis.evalsha(digestOf(script), keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return await redis.eval(script, keys.length, ...keys, ...args);
    }
  };
  return {
    async run(script, keys, args) {
      try {
        return await evaluate(script, keys, args);
      } catch (error) {
        throw lost ?? withoutCommand(error);
      }
    },
    reconnect() {
      // an attempt to connect that is under way gets its time
      const isStuck = redis.status === "connect" && performance.now() - connectedAt > connectWithinMs;
      if (redis.status === "ready" || isStuck) redis.disconnect(true);
    },
    close: () => redis.disconnect(),
  };
};
