import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";

/** A request as it was sent. */
export interface SignedRequest {
  method: string;
  /** Address, or path with query; the host is then that of the headers. */
  url: string;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string | Uint8Array;
}

const digest = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Query as signatures have it: sorted by encoded name, then value. */
function canonicalQuery(query: string): string {
  const pairs = [...new URLSearchParams(query)].map(([name, value]) => [encode(name), encode(value)] as const);
  const order = ([a, x]: readonly [string, string], [b, y]: readonly [string, string]) =>
    a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1;
  return pairs
    .toSorted(order)
    .map((pair) => pair.join("="))
    .join("&");
}

/**
 * Computes the signature of a request as a service of AWS does, from what arrived, and requires it to be the one in
 * `authorization`. Gives the names of the signed headers and the scope.
 */
export function requireSigned(request: SignedRequest, keys: { accessKeyId: string; secretAccessKey: string }) {
  const { method, headers, body } = request;
  const written = String(headers.authorization);
  const match = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    written,
  );
  assert.ok(match, `not a signature: ${written}`);
  const [, accessKeyId, scope = "", names = "", signature] = match;
  assert.equal(accessKeyId, keys.accessKeyId);
  const url = new URL(request.url, `http://${String(headers.host)}`);
  const path = url.pathname.split("/").map(encode).join("/");
  const lines = names.split(";").map((name) => `${name}:${name === "host" ? url.host : String(headers[name])}\n`);
  const payload = String(headers["x-amz-content-sha256"] ?? digest(body));
  const canonical = [method, path, canonicalQuery(url.search), lines.join(""), names, payload].join("\n");
  const [date = "", region = "", service = "", end = ""] = scope.split("/");
  const text = ["AWS4-HMAC-SHA256", String(headers["x-amz-date"]), scope, digest(canonical)].join("\n");
  const key = [region, service, end].reduce(hmac, hmac(`AWS4${keys.secretAccessKey}`, date));
  assert.equal(signature, hmac(key, text).toString("hex"));
  if (payload !== "UNSIGNED-PAYLOAD") assert.equal(payload, digest(body));
  return { signed: names.split(";"), scope: { date, region, service, end }, payload };
}
