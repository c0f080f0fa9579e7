import { toBase64Url } from "../../lib/base64.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { McpServer } from "./mcp-server.ts";
import type { McpPoolSettings, SessionPool } from "./session-pool.ts";
import type { McpSessions } from "./sessions.ts";

/** Settings of the MCP gateway. Times in milliseconds, sizes in bytes. */
export interface McpSettings {
  /** What the paths of MCP begin with: `/m`, or nothing on a separate port. */
  mount: "/m" | "";
  /** Longest duration of a call, its stream included; listening has no such limit. Default 60,000. */
  requestTimeoutMs: number;
  /** Longest time without a byte inside a stream. Default 300,000. */
  streamIdleTimeoutMs: number;
  /** Largest request body. Default 4 MiB. */
  bodyBytes: number;
  /** Largest result of a call. Default 1 MiB. */
  resultBytes: number;
  /** Largest page of a list. Default 5 MiB. */
  listBytes: number;
  /** Most streams on which one caller listens. Default 16. */
  streamsPerCaller: number;
  /** Most such streams of the process. Default 1,024. */
  streams: number;
  /** Public address of the gateway, without a path; undefined: that of the request. */
  baseUrl: string | undefined;
  /** Web origins whose pages may call, in lower case. Default: only pages of the gateway's own address. */
  origins: ReadonlySet<string>;
  /** Names that a `Host` header may have, in lower case; undefined: every name. */
  hosts: ReadonlySet<string> | undefined;
  pool: McpPoolSettings;
  /** RSA key that signs statements about users for upstream servers: PKCS #8 in PEM form. Undefined: one of the installation. */
  identityKey: string | undefined;
}

/** Default settings. */
export const defaultMcpSettings: McpSettings = {
  mount: "/m",
  requestTimeoutMs: 60_000,
  streamIdleTimeoutMs: 300_000,
  bodyBytes: 4 * 1024 * 1024,
  resultBytes: 1024 * 1024,
  listBytes: 5 * 1024 * 1024,
  streamsPerCaller: 16,
  streams: 1_024,
  baseUrl: undefined,
  origins: new Set(),
  hosts: undefined,
  pool: {
    isEnabled: true,
    idleMs: 300_000,
    lifeMs: 600_000,
    cleanupMs: 60_000,
    sessions: 1_000,
    tokenExpiryBufferMs: 60_000,
  },
  identityKey: undefined,
};

/** The two families of protocol revisions: with a handshake and sessions, and without. */
export type Era = "legacy" | "modern";

/** Which eras upstream servers do not speak, as their answers showed. In memory of the process only. */
export class UnspokenEras {
  readonly #until = new BoundedMap<string, number>(10_000);
  readonly #now: () => number;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a server is known not to speak an era. Asked again after ten minutes: servers are updated. */
  has(server: McpServer, era: Era): boolean {
    const until = this.#until.get(keyOf(server, era));
    return until !== undefined && until > this.#now();
  }

  delete(server: McpServer, era: Era): void {
    this.#until.delete(keyOf(server, era));
  }

  add(server: McpServer, era: Era): void {
    this.#until.set(keyOf(server, era), this.#now() + 600_000);
  }
}

function keyOf({ organisationId, id, url }: McpServer, era: Era): string {
  return JSON.stringify([organisationId, id, url, era]);
}

/** Counts the streams on which callers listen. */
export class ListeningStreams {
  readonly #limits: Pick<McpSettings, "streams" | "streamsPerCaller">;
  readonly #callers = new Map<string, number>();
  #running = 0;

  constructor(limits: Pick<McpSettings, "streams" | "streamsPerCaller">) {
    this.#limits = limits;
  }

  /** Counts one more stream of a caller; undefined if a limit is reached. The result ends it. */
  enter(caller: string): (() => void) | undefined {
    const ofCaller = this.#callers.get(caller) ?? 0;
    if (this.#running >= this.#limits.streams || ofCaller >= this.#limits.streamsPerCaller) return undefined;
    this.#running++;
    this.#callers.set(caller, ofCaller + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#running--;
      const left = (this.#callers.get(caller) ?? 1) - 1;
      if (left === 0) this.#callers.delete(caller);
      else this.#callers.set(caller, left);
    };
  }
}

/** What the MCP gateway has besides its servers. */
export interface McpState {
  readonly settings: McpSettings;
  readonly sessions: McpSessions;
  readonly unspoken: UnspokenEras;
  readonly listening: ListeningStreams;
  readonly pool: SessionPool;
}

const digests = new WeakMap<McpServer, Promise<string>>();

/** Digest of what sessions at a server depend on. */
export function configDigestOf(server: McpServer): Promise<string> {
  const known = digests.get(server);
  if (known) return known;
  const { url, transport, authType, configurations, credentialVersion } = server;
  const parts = [url, transport, authType, configurations, credentialVersion];
  const text = new TextEncoder().encode(JSON.stringify(parts));
  const digest = crypto.subtle.digest("SHA-256", text).then((bytes) => toBase64Url(new Uint8Array(bytes)));
  digests.set(server, digest);
  return digest;
}
