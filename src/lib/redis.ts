/** A connection to Redis that the host makes and holds open: it connects again by itself. */
export interface RedisClient {
  /**
   * Runs a Lua script, in one step for all clients. Redis receives its text only when it does not know it.
   *
   * @returns What the script returns: text, whole numbers and lists of them.
   * @throws If there is no connection, or Redis refuses the script. The error holds no argument and no credential.
   */
  run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Gives the connection up and makes another one: scripts without a reply reject. */
  reconnect(): void;
  /** Ends the connection. */
  close(): void;
}

/**
 * Makes a connection to a server of Redis.
 *
 * @param url `redis://` or `rediss://` (TLS), with user, password and number of the database where needed.
 * @returns A promise that does not reject: of a server that is away, the client rejects what it is asked.
 */
export type ConnectRedis = (url: string) => Promise<RedisClient>;
