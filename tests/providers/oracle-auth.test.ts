import assert from "node:assert/strict";
import { createHash, createPublicKey, createVerify, generateKeyPairSync } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { readRsaKey } from "../../src/providers/auth/private-key.ts";
import { chat, createTestGateway, type HeaderChanges, helloBody } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

interface Seen {
  method: string;
  url: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}
const seen: Seen[] = [];
const upstream = await startServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body: Buffer.concat(pieces) });
    const message = { role: "ASSISTANT", content: [{ type: "TEXT", text: "At six." }] };
    const chatResponse = { apiFormat: "GENERIC", choices: [{ index: 0, message, finishReason: "stop" }] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ modelId: "m", chatResponse }));
  });
});
const gateway = await createTestGateway();
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  seen.length = 0;
});

const oneLine = privateKey.trim().replaceAll("\n", "\\n");
const ask = (headers: HeaderChanges) =>
  chat(
    gateway,
    { ...helloBody, messages: [{ role: "user", content: "Grüße ☂" }] },
    {
      "x-gateway-provider": "oracle",
      "x-gateway-custom-host": upstream.url,
      "x-gateway-oracle-tenancy": "ocid1.tenancy.oc1..t",
      "x-gateway-oracle-user": "ocid1.user.oc1..u",
      "x-gateway-oracle-fingerprint": "20:3b:97",
      "x-gateway-oracle-private-key": oneLine,
      ...headers,
    },
  );

/** Verifies a signature as the receiver does: from the received request and the header. */
function verify({ method, url, headers, body }: Seen): void {
  const authorization = String(headers.authorization);
  assert.match(authorization, /^Signature /);
  const parts = Object.fromEntries(
    [...authorization.matchAll(/([A-Za-z]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  assert.equal(parts.version, "1");
  assert.equal(parts.algorithm, "rsa-sha256");
  assert.equal(parts.keyId, "ocid1.tenancy.oc1..t/ocid1.user.oc1..u/20:3b:97");
  const names = String(parts.headers).split(" ");
  for (const name of ["(request-target)", "host", "x-content-sha256", "content-type", "content-length"]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(names.includes("date") || names.includes("x-date"));
  const text = names
    .map((name) => `${name}: ${name === "(request-target)" ? `${method.toLowerCase()} ${url}` : headers[name]}`)
    .join("\n");
  const verifier = createVerify("RSA-SHA256").update(text);
  assert.ok(verifier.verify(createPublicKey(publicKey), String(parts.signature), "base64"), text);
  assert.equal(headers["x-content-sha256"], createHash("sha256").update(body).digest("base64"));
  assert.equal(headers["content-length"], String(body.length));
}

test("oracle calls have a signature that can be verified", async () => {
  const response = await ask({});
  assert.equal(response.status, 200, await response.text());
  const [one] = seen;
  assert.ok(one);
  assert.equal(one.url, "/20231130/actions/chat");
  verify(one);
  assert.ok(Math.abs(Date.parse(String(one.headers["x-date"])) - Date.now()) < 60_000);
});

test("oracle takes the key as the credential, and as base64", async () => {
  const credential = `Bearer ${btoa(privateKey)}`;
  const response = await ask({ "x-gateway-oracle-private-key": null, authorization: credential });
  assert.equal(response.status, 200, await response.text());
  assert.ok(seen[0]);
  verify(seen[0]);
});

for (const [headers, pattern] of [
  [{ "x-gateway-oracle-private-key": null }, /set x-gateway-oracle-private-key/],
  [{ "x-gateway-oracle-tenancy": null, "x-gateway-oracle-compartment-id": "c" }, /set x-gateway-oracle-tenancy/],
  [{ "x-gateway-oracle-fingerprint": 'a"b' }, /x-gateway-oracle-fingerprint/],
  [{ "x-gateway-oracle-private-key": "no key" }, /oracle_private_key: it is not/],
  [{ "x-gateway-oracle-private-key": "AAAA" }, /oracle_private_key: it is not an RSA key/],
  [{ "x-gateway-custom-host": null }, /set x-gateway-oracle-region/],
  [{ "x-gateway-oracle-region": "a.b" }, /x-gateway-oracle-region/],
] as const) {
  test(`oracle rejects ${JSON.stringify(headers)}`, async () => {
    const response = await ask(headers);
    assert.equal(response.status, 400);
    assert.match(await response.text(), pattern);
    assert.equal(seen.length, 0);
  });
}

const pairs = [
  ["PKCS #8", { type: "pkcs8", format: "pem" }],
  ["PKCS #1", { type: "pkcs1", format: "pem" }],
] as const;
const { privateKey: keyObject } = generateKeyPairSync("rsa", { modulusLength: 2048 });

async function signs(text: string, passphrase?: string): Promise<void> {
  const key = await readRsaKey(text, { passphrase, param: "key" });
  const data = new TextEncoder().encode("text");
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, data);
  const verifier = createVerify("RSA-SHA256").update(data);
  assert.ok(verifier.verify(createPublicKey(keyObject), new Uint8Array(signature)));
}

for (const [name, encoding] of pairs) {
  test(`readRsaKey() reads ${name}`, () => signs(String(keyObject.export(encoding))));
}

for (const cipher of ["aes-128-cbc", "aes-256-cbc"]) {
  test(`readRsaKey() opens ${cipher} with the passphrase`, async () => {
    const sealed = String(keyObject.export({ type: "pkcs8", format: "pem", cipher, passphrase: "open sesame" }));
    await signs(sealed, "open sesame");
    await assert.rejects(readRsaKey(sealed, { passphrase: "wrong", param: "key" }), /passphrase is wrong|not an RSA/);
    await assert.rejects(readRsaKey(sealed, { param: "key" }), /set its passphrase/);
  });
}

test("readRsaKey() rejects legacy encryption and damaged keys", async () => {
  const old =
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----";
  await assert.rejects(readRsaKey(old, { param: "key" }), /convert it to PKCS #8/);
  const cut = String(keyObject.export({ type: "pkcs8", format: "pem" })).replace(/\n.{64}\n/, "\n");
  await assert.rejects(readRsaKey(cut, { param: "key" }), /not an RSA key/);
});

test("readRsaKey() reads a key once, and again with another passphrase", async () => {
  const text = String(keyObject.export({ type: "pkcs8", format: "pem" }));
  const read = (passphrase?: string) => readRsaKey(text, { passphrase, param: "key" });
  const [first, second] = await Promise.all([read(), read()]);
  assert.equal(first, second);
  assert.notEqual(first, await read("other"));
  assert.equal(first.extractable, false);
  await assert.rejects(readRsaKey("broken", { param: "one" }), /one/);
  await assert.rejects(readRsaKey("broken", { param: "two" }), /two/);
});
