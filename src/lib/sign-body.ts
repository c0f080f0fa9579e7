import { toHex } from "./base64.ts";

/** Header of the signature of webhooks. */
export const signatureHeader = "x-gateway-signature";

/** The signature of a webhook's body: the time in seconds, and the HMAC-SHA-256 of `<time>.<body>` in hexadecimal. */
export async function signBody(secret: string, body: string, now: number): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const seconds = Math.floor(now / 1_000);
  const digest = await crypto.subtle.sign("HMAC", key, encoder.encode(`${seconds}.${body}`));
  return `t=${seconds},v1=${toHex(new Uint8Array(digest))}`;
}
