import { fromBase64Url, toBase64Url } from "../lib/base64.ts";
import type { RedisClient } from "../lib/redis.ts";
import type { CachePlace } from "./entry.ts";
import type { PurgeScope, SealedEntry, SharedTier } from "./shared-tier.ts";

/** The value of a key, or false. */
const findScript = "return redis.call('GET', KEYS[1])";

/** Values with the milliseconds until they expire, in turn. */
const storeScript = `for index, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[2 * index - 1], 'PX', ARGV[2 * index])
end
return #KEYS`;

const removeScript = "return redis.call('UNLINK', KEYS[1])";

/** One step over all keys: removes those that match, and returns where to go on. */
const purgeScript = `local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
for _, key in ipairs(found[2]) do redis.call('UNLINK', key) end
return found[1]`;

/** What the tier is made from. */
interface RedisTierOptions {
  readonly client: RedisClient;
  /** Digest of the parts of names. */
  readonly digest: (text: string) => string | Promise<string>;
  readonly prefix: string;
}

/** Entries in Redis, which removes them when they expire. Names hold digests, values are sealed. */
export class RedisTier implements SharedTier {
  readonly #options: RedisTierOptions;

  constructor(options: RedisTierOptions) {
    this.#options = options;
  }

  /** A name of equal length for every tenant: no part of it can be mistaken for another. */
  async #nameOf({ organisationId, workspaceId, namespace }: CachePlace, key: string): Promise<string> {
    const { digest, prefix } = this.#options;
    const parts = [await digest(`organisation ${organisationId}`), await digest(`workspace ${workspaceId}`)];
    return [prefix, ...parts, await digest(`namespace ${namespace}`), key].join(":");
  }

  async find(place: CachePlace, key: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const value = await this.#options.client.run(findScript, [await this.#nameOf(place, key)], []);
    return typeof value === "string" ? fromBase64Url(value) : undefined;
  }

  async store(entries: readonly SealedEntry[]): Promise<void> {
    const names = await Promise.all(entries.map(({ place, key }) => this.#nameOf(place, key)));
    const values = entries.flatMap(({ sealed, storedAt, expiresAt }) => [
      toBase64Url(sealed),
      Math.max(1, Math.ceil(expiresAt - storedAt)),
    ]);
    await this.#options.client.run(storeScript, names, values);
  }

  async remove(place: CachePlace, key: string): Promise<void> {
    await this.#options.client.run(removeScript, [await this.#nameOf(place, key)], []);
  }

  async purge({ organisationId, workspaceId, namespace }: PurgeScope): Promise<void> {
    const { client, digest, prefix } = this.#options;
    const parts = [
      await digest(`organisation ${organisationId}`),
      workspaceId === null ? "*" : await digest(`workspace ${workspaceId}`),
      namespace === null ? "*" : await digest(`namespace ${namespace}`),
    ];
    const pattern = [prefix, ...parts, "*"].join(":");
    let cursor = "0";
    do cursor = String(await client.run(purgeScript, [], [cursor, pattern]));
    while (cursor !== "0");
  }

  async cleanUp(): Promise<void> {}

  close(): void {
    this.#options.client.close();
  }
}
