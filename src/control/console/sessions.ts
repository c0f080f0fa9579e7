import type { Principal } from "../../auth/principal.ts";
import type { Statement } from "../../db/client.ts";
import type { Change } from "../../db/stores/audit.ts";
import type { Clock } from "../../lib/clock.ts";
import { randomBase62 } from "../../lib/hash.ts";
import { stringOf } from "../../lib/json.ts";
import type { Revocations } from "../../mcp/registry/oauth/revocations.ts";
import type { StateSeal } from "../../mcp/registry/oauth/seal.ts";

/** Life of a session. */
export const sessionMs = 12 * 60 * 60_000;

/** Who signed in: a key, with the digest of the secret that was sent, or a user at an identity provider. */
export type SessionHolder =
  | { readonly kind: "key"; readonly organisationId: string; readonly keyId: string; readonly digest: string }
  | { readonly kind: "user"; readonly organisationId: string; readonly userId: string; readonly subject: string };

/** A session of the console. */
export interface ConsoleSession {
  readonly id: string;
  /** What requests must repeat in a header. */
  readonly csrfToken: string;
  readonly holder: SessionHolder;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** Sessions of the console. None is stored: a browser holds its own, sealed. */
export interface ConsoleSessions {
  /** A new session, and its sealed form for a cookie. */
  create(holder: SessionHolder): Promise<{ session: ConsoleSession; sealed: string }>;
  /** The session of a cookie; undefined if it was changed, is too old, or was ended. */
  open(sealed: string): Promise<ConsoleSession | undefined>;
  /**
   * Who calls with a session; undefined if its key is no longer valid, or its user is not active.
   *
   * @param workspace Slug or id of the workspace that the request names; for sessions of users only.
   * @throws {PermissionError} If the user may not enter the workspace.
   */
  principalOf(session: ConsoleSession, workspace: string | null): Promise<Principal | undefined>;
  /** Ends a session at once here. The result makes other processes learn of it, once it is written. */
  ending(session: ConsoleSession): Statement[];
  /** Takes up what other processes ended. */
  note(changes: readonly Change[] | undefined): void;
}

/** What sessions are made from. */
interface SessionParts {
  readonly clock: Clock;
  readonly seal: StateSeal;
  readonly ended: Revocations;
  /** Longest session of an organisation; at most `sessionMs`. */
  lifeOf(organisationId: string): Promise<number>;
  ofDigest(keyId: string, digest: string): Promise<Principal | undefined>;
  ofUser(holder: SessionHolder & { kind: "user" }, workspace: string | null): Promise<Principal | undefined>;
}

const sealKind = "session";

function readHolder(content: Readonly<Record<string, unknown>>): SessionHolder | undefined {
  const [organisationId, keyId, digest] = [content.organisationId, content.keyId, content.digest].map(stringOf);
  const [userId, subject] = [content.userId, content.subject].map(stringOf);
  if (organisationId === undefined) return undefined;
  if (keyId !== undefined && digest !== undefined) return { kind: "key", organisationId, keyId, digest };
  if (userId === undefined || subject === undefined) return undefined;
  return { kind: "user", organisationId, userId, subject };
}

/** Creates the sessions of a gateway. */
export function createConsoleSessions({ clock, seal, ended, lifeOf, ofDigest, ofUser }: SessionParts): ConsoleSessions {
  return {
    async create(holder) {
      const lifeMs = await lifeOf(holder.organisationId);
      const expiresAt = clock.now() + lifeMs;
      const session = { id: randomBase62(22), csrfToken: randomBase62(43), holder, expiresAt };
      const { id, csrfToken } = session;
      return { session, sealed: await seal.seal(sealKind, { id, csrfToken, expiresAt, ...holder }, lifeMs) };
    },
    async open(sealed) {
      const content = await seal.open(sealKind, sealed);
      const holder = content && readHolder(content);
      if (!holder) return undefined;
      const [id = "", csrfToken = ""] = [content.id, content.csrfToken].map(stringOf);
      if (id === "" || csrfToken === "" || ended.has(id)) return undefined;
      return { id, csrfToken, holder, expiresAt: Number(content.expiresAt) };
    },
    async principalOf({ holder }, workspace) {
      if (holder.kind === "user") return ofUser(holder, workspace);
      const principal = await ofDigest(holder.keyId, holder.digest);
      return principal?.organisationId === holder.organisationId ? principal : undefined;
    },
    ending: ({ id, holder }) => ended.revoking(holder.organisationId, [id]),
    note: (changes) => ended.note(changes),
  };
}
