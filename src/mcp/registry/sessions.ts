import { fromBase64Url, toBase64Url } from "../../lib/base64.ts";
import { randomBytes } from "../../lib/hash.ts";
import { isObject, parseJson } from "../../lib/json.ts";

/** Whose session it is, and at which server. */
interface SessionHolder {
  /** Id of the server. */
  readonly serverId: string;
  /** Digest of what the session depends on: a changed address or credential ends it. */
  readonly configDigest: string;
  /** The caller: its organisation, workspace, key and user. */
  readonly caller: readonly (string | null)[];
}

/** Session ids of upstream servers, sealed for the caller they belong to. The gateway stores no sessions. */
export interface McpSessions {
  /** The sealed form of an upstream's session id: base64url. */
  seal(sessionId: string, holder: SessionHolder): Promise<string>;
  /** The upstream's session id; undefined if the text was changed, is too old, or is sealed for someone else. */
  open(sealed: string, holder: SessionHolder): Promise<string | undefined>;
}

/** Longest life of a session, in milliseconds. */
const lifeMs = 24 * 60 * 60 * 1_000;
/** Longest sealed id that is opened, in characters. */
const maxSealed = 4_096;
const nonceBytes = 12;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function parametersOf(nonce: Uint8Array<ArrayBuffer>, { serverId, configDigest, caller }: SessionHolder): AesGcmParams {
  return {
    name: "AES-GCM",
    iv: nonce,
    additionalData: encoder.encode(JSON.stringify([serverId, configDigest, caller])),
  };
}

/**
 * Creates the seal of session ids.
 *
 * @param bytes A key for nothing else, the same in all processes of an installation.
 * @param now Unix milliseconds.
 */
export async function createMcpSessions(bytes: Uint8Array<ArrayBuffer>, now: () => number): Promise<McpSessions> {
  const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
  return {
    async seal(sessionId, holder) {
      const nonce = randomBytes(nonceBytes);
      const content = encoder.encode(JSON.stringify({ id: sessionId, until: now() + lifeMs }));
      const sealed = new Uint8Array(await crypto.subtle.encrypt(parametersOf(nonce, holder), key, content));
      const joined = new Uint8Array(nonceBytes + sealed.length);
      joined.set(nonce);
      joined.set(sealed, nonceBytes);
      return toBase64Url(joined);
    },
    async open(sealed, holder) {
      if (sealed.length > maxSealed || !/^[A-Za-z0-9_-]+$/.test(sealed)) return undefined;
      try {
        const bytes = fromBase64Url(sealed);
        const parameters = parametersOf(bytes.slice(0, nonceBytes), holder);
        const content = await crypto.subtle.decrypt(parameters, key, bytes.slice(nonceBytes));
        const read = parseJson(decoder.decode(content));
        if (!isObject(read) || typeof read.id !== "string" || typeof read.until !== "number") return undefined;
        return read.until > now() ? read.id : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
