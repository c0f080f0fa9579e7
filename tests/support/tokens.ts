import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from "jose";
import { toBase64Url } from "../../src/lib/base64.ts";

/** A key of an identity provider. */
export interface TokenKey {
  kid: string;
  alg: string;
  /** The public key as a set lists it. */
  jwk: JWK;
  privateKey: CryptoKey;
}

const kept = new Map<string, Promise<TokenKey>>();

/** A key pair; made once for each name, because RSA keys take their time. */
export function createTokenKey(kid: string, alg = "RS256", modulusLength = 2048): Promise<TokenKey> {
  const name = `${kid} ${alg} ${modulusLength}`;
  const make = async (): Promise<TokenKey> => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength });
    return { kid, alg, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" }, privateKey };
  };
  const key = kept.get(name) ?? make();
  kept.set(name, key);
  return key;
}

/** Claims and header members that differ from those of a plain good token; undefined leaves one out. */
export interface TokenChanges {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A signed token; five minutes long, with the scope for completions. */
export function signToken(
  key: TokenKey,
  now: number,
  { claims = {}, header = {} }: TokenChanges = {},
): Promise<string> {
  const seconds = Math.floor(now / 1000);
  const payload = { sub: "subject-1", scope: "completions.write", iat: seconds, exp: seconds + 300, ...claims };
  return new SignJWT(withoutUndefined(payload))
    .setProtectedHeader(withoutUndefined({ alg: key.alg, typ: "JWT", kid: key.kid, ...header }) as JWTHeaderParameters) // tests send what is no valid header too
    .sign(key.privateKey);
}

const encode = (text: string): string => toBase64Url(new TextEncoder().encode(text));

/** A token with the given header and payload text, signed with RS256. */
export function signTexts(key: TokenKey, header: string, payload: string): Promise<string> {
  return signEncoded(key, encode(header), encode(payload));
}

/** A token with the given encoded parts, signed with RS256. */
export async function signEncoded(key: TokenKey, header: string, payload: string): Promise<string> {
  const signed = `${header}.${payload}`;
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key.privateKey, new TextEncoder().encode(signed));
  return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
}

/** A token signed with a symmetric secret. */
export async function signSymmetric(secret: Uint8Array<ArrayBuffer>, header: object, payload: object): Promise<string> {
  const signed = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}`;
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
}
