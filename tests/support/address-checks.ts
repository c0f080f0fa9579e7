import assert from "node:assert/strict";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import type { AddressCase } from "./address-cases.ts";
import { adminKey, workspaceKey } from "./gateway.ts";

/** A request as the transport got it. */
export interface SentRequest {
  url: string;
  init: TransportInit;
  /** Whether the address it connects to is checked too. */
  isChecked: boolean;
}

const keysOfAws =
  "<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>example</SecretAccessKey>" +
  "<SessionToken>example</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration>";

function answerOf(url: string): Response {
  // as a runtime does: what cannot be parsed is not sent
  const { hostname } = new URL(url);
  if (hostname.startsWith("sts.")) return new Response(keysOfAws);
  return Response.json({ access_token: "token", expires_in: 3600, object: "list", choices: [], data: [] });
}

/** A transport that sends nothing and hands every request to `note`. */
export function createRecordingTransport(note: (sent: SentRequest) => void): Transport {
  const record = async (url: string, init: TransportInit, isChecked: boolean) => {
    const answer = answerOf(url);
    note({ url, init, isChecked });
    return answer;
  };
  return {
    send: (url, init) => record(url, init, false),
    sendChecked(url, init, allows) {
      assert.ok(!allows("169.254.169.254") && !allows("10.0.0.1") && !allows("::1"), `${url} may lead inside`);
      return record(url, init, true);
    },
  };
}

/** An address that is taken as it is written: parsing changes nothing of it. */
export function requirePlainUrl(text: string): URL {
  const url = URL.parse(text);
  assert.ok(url, `not an address: ${text}`);
  assert.equal(url.username + url.password + url.hash, "", text);
  assert.equal(url.origin + url.pathname + url.search, text, "parsing changes the address");
  for (const segment of url.pathname.split("/")) {
    const plain = decodeURIComponent(segment);
    assert.ok(plain !== "." && plain !== "..", `${text} holds a dot segment`);
  }
  return url;
}

/** An address of a provider whose host the gateway knows. */
export function checkKnownAddress(text: string, { hosts, prefix }: Pick<AddressCase, "hosts" | "prefix">): void {
  const { protocol, port, hostname, pathname } = requirePlainUrl(text);
  assert.equal(protocol + port, "https:", text);
  assert.match(hostname, hosts, text);
  assert.ok(pathname.startsWith(prefix), `${text} does not begin with ${prefix}`);
}

/** Written without the gateway's own check: what is listed here must never be called. */
const inside = [
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]*$/,
  /^\[/,
  /^(?:localhost|metadata|kubernetes.*)$/,
  /\.(?:internal|local|localhost|svc|nip\.io)$/,
  /(?:^|\.)localtest\.me$/,
  /(?:^|\.)xn--/,
  /\.$/,
];

/** An address a caller named as a whole. */
export function checkOpenAddress({ url: text, isChecked }: SentRequest): void {
  const url = URL.parse(text);
  assert.ok(url, text);
  assert.match(url.protocol, /^https?:$/, text);
  assert.equal(url.username + url.password + url.hash, "", text);
  assert.equal(text.slice(0, url.origin.length).toLowerCase(), url.origin.toLowerCase(), text);
  for (const form of inside) assert.doesNotMatch(url.hostname, form, text);
  const isLiteral = /^[\d.]+$/.test(url.hostname);
  assert.ok(isChecked || isLiteral, `${text} is not checked when it connects`);
}

/** Nothing of a request may hold a key of the gateway. */
export function checkNoKeys({ url, init }: SentRequest): void {
  const { body } = init;
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : typeof body === "string" ? body : "";
  for (const part of [url, text, ...Object.entries(init.headers).flat()]) {
    assert.ok(!part.includes(workspaceKey) && !part.includes(adminKey), `a key of the gateway goes to ${url}`);
  }
}
