import type { Principal } from "../auth/principal.ts";
import type { ExactNumbers } from "../lib/exact-numbers.ts";
import type { ConfigNode } from "../routing/config.ts";

/** The config of calls beside those of callers: the target that gets them, in the config that asks for them. */
export interface ApartConfig {
  readonly node: ConfigNode;
  readonly id: string;
  readonly slug: string | null;
  readonly saved?: { readonly id: string; readonly versionId: string };
}

/** A request that the gateway sends beside those of callers: the copy of one for comparison, or the check of a target. */
export interface ApartCall {
  /** Id of the row whose request it copies. Absent: a check. */
  readonly shadowOf?: string;
  readonly config: ApartConfig;
}

/** What a request leaves for its copy. */
export interface ShadowWish {
  readonly config: ApartConfig;
  /** Where copies are sent. */
  readonly path: string;
  /** The request as its caller sent it. */
  readonly request: object;
}

/** A copy of a request that is to be sent. */
export interface ShadowCopy extends ShadowWish {
  readonly of: string;
  readonly principal: Principal;
  readonly headers: Readonly<Record<string, string>>;
  readonly numbers: ExactNumbers | undefined;
  readonly remoteAddress: string | undefined;
  /** Memory of its body, roughly. */
  readonly bytes: number;
}

/** What became of copies. */
export type ShadowOutcome = "sent" | "full" | "load" | "large" | "stopped";

/** Sends copies of requests after their responses, within limits. */
export interface ShadowCopies {
  /** Takes a copy, or drops it. The promise settles when it was sent; undefined for one that was dropped. */
  add(copy: ShadowCopy): Promise<void> | undefined;
  /** Drops what waits, and all that comes. */
  stop(): void;
  /** By outcome. */
  counts(): ReadonlyMap<ShadowOutcome, number>;
}
