import { InvalidRequestError } from "../../errors.ts";
import { toBase64 } from "../../lib/base64.ts";
import type { AuthTools, SignableRequest } from "../core/types.ts";
import { readRsaKey } from "./private-key.ts";

/** The signing user: a user of a tenancy with an API key. */
interface OciIdentity {
  tenancy: string;
  user: string;
  /** Fingerprint of the public key: hexadecimal pairs with colons. */
  fingerprint: string;
  /** Private key in PEM form. */
  privateKey: string;
  passphrase: string | undefined;
}

const encoder = new TextEncoder();

/** Headers that describe the body; the signature covers all of them. */
async function bodyHeaders({ body, headers }: SignableRequest): Promise<Record<string, string>> {
  if (body === undefined) {
    throw new InvalidRequestError("Cannot sign this request: its body is streamed", { code: "unsupported_endpoint" });
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : Uint8Array.from(body);
  return {
    "x-content-sha256": toBase64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))),
    "content-type": headers["content-type"] ?? "application/json",
    // the transport sends this header with the same byte count
    "content-length": String(bytes.length),
  };
}

/**
 * Signs a request (https://docs.oracle.com/iaas/Content/API/Concepts/signingrequests.htm). The date is sent as
 * `x-date`, which no runtime overwrites.
 *
 * @throws {InvalidRequestError} If the key cannot be used, or the body is streamed.
 */
export async function signOci(
  request: SignableRequest,
  identity: OciIdentity,
  { clock }: Pick<AuthTools, "clock">,
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(request.url);
  const { tenancy, user, fingerprint, privateKey, passphrase } = identity;
  const method = request.method.toLowerCase();
  const date = new Date(clock.now()).toUTCString();
  const described = ["post", "put", "patch"].includes(method) ? await bodyHeaders(request) : {};
  const signed: Record<string, string> = {
    "(request-target)": `${method} ${pathname}${search}`,
    "x-date": date,
    host,
    ...described,
  };
  const text = Object.entries(signed)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  const key = await readRsaKey(privateKey, { passphrase, param: "oracle_private_key" });
  const signature = toBase64(new Uint8Array(await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, encoder.encode(text))));
  const parts = {
    version: "1",
    keyId: `${tenancy}/${user}/${fingerprint}`,
    algorithm: "rsa-sha256",
    headers: Object.keys(signed).join(" "),
    signature,
  };
  const list = Object.entries(parts).map(([name, value]) => `${name}="${value}"`);
  const sent = Object.entries({ ...described, "x-date": date }).filter(([name]) => name !== "content-length");
  return { ...Object.fromEntries(sent), authorization: `Signature ${list.join(",")}` };
}
