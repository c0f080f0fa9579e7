import { decryptText, encryptText, importDataKey } from "../../../control/vault.ts";
import { toBase64Url } from "../../../lib/base64.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import { isObject, parseJson } from "../../../lib/json.ts";

/** Content of a sealed value. */
type Content = Readonly<Record<string, unknown>>;

/** Seals what travels through a browser: it can be neither read nor changed there, and only for a time. */
export interface StateSeal {
  /**
   * @param kind What it is for: a value of one kind does not open as another.
   * @param lifeMs How long it opens.
   */
  seal(kind: string, content: Content, lifeMs: number): Promise<string>;
  /** The content; undefined if the text was changed, is too old, or of another kind. */
  open(kind: string, sealed: string): Promise<Content | undefined>;
  /**
   * Uses a sealed value, once in all processes.
   *
   * @returns False if it was used before.
   */
  useOnce(sealed: string): Promise<boolean>;
}

/** Longest sealed value that is opened, in characters. */
const maxSealed = 16_384;
/** Longest life of a sealed value that works once. */
const onceMs = 15 * 60_000;

/**
 * Creates the seal.
 *
 * @param bytes A key for nothing else, the same in all processes of an installation.
 */
export async function createStateSeal(
  bytes: Uint8Array<ArrayBuffer>,
  { now, useNonce }: { now(): number; useNonce(digest: string, expiresAt: number): Promise<boolean> },
): Promise<StateSeal> {
  const key = await importDataKey(bytes);
  return {
    async seal(kind, content, lifeMs) {
      const text = JSON.stringify({ content, until: now() + lifeMs });
      return encryptText(key, `v1|${kind}`, text);
    },
    async open(kind, sealed) {
      if (sealed.length > maxSealed || !/^[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/.test(sealed)) return undefined;
      try {
        const read = parseJson(await decryptText(key, `v1|${kind}`, sealed));
        if (!isObject(read) || typeof read.until !== "number" || !isObject(read.content)) return undefined;
        return read.until > now() ? read.content : undefined;
      } catch {
        return undefined;
      }
    },
    useOnce: async (sealed) => useNonce(await sha256Hex(sealed), now() + onceMs),
  };
}

/** SHA-256 of a string, base64url. */
export async function sha256Base64Url(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
