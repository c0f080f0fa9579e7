import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createFolderAssets } from "../../src/serve/console-assets.ts";
import { adminKey, createTemporaryFolder, createTestGateway, type TestGateway } from "../support/gateway.ts";
import { problemOf, sameOrigin, send } from "./support.ts";

const script = "/console/assets/index-abc123.js";
const fixture = readFileSync(join(import.meta.dirname, "../fixtures/console/assets/index-abc123.js"));

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const load = async (path: string, headers: Record<string, string> = {}) => {
  const response = await gateway.fetch(path, { headers, redirect: "manual" });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

for (const path of [
  "/console",
  "/console/",
  "/console/logs",
  "/console/logs/01ABC",
  "/console/sign-in",
  "/console/index.html",
]) {
  test(`${path} is the page that loads the console, with a nonce of its own`, async () => {
    const [one, other] = [await load(path), await load(path)];
    const nonceOf = ({ bytes }: typeof one) => /nonce="([^"]+)"/.exec(bytes.toString())?.[1] ?? "";
    assert.equal(one.status, 200);
    assert.equal(one.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(one.headers.get("cache-control"), "no-store");
    assert.match(nonceOf(one), /^[A-Za-z0-9_-]{22}$/);
    assert.notEqual(nonceOf(one), nonceOf(other));
    assert.match(
      one.headers.get("content-security-policy") ?? "",
      new RegExp(`style-src 'self' 'nonce-${nonceOf(one)}'`),
    );
  });
}

test("every file runs scripts of the console alone, in no frame", async () => {
  for (const path of ["/console", script]) {
    const { headers } = await load(path);
    const policy = (headers.get("content-security-policy") ?? "").split("; ");
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self'",
    ]) {
      assert.ok(policy.includes(rule), `${path}: ${rule}`);
    }
    assert.ok(!policy.some((rule) => rule.includes("unsafe")), path);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
    assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
  }
});

test("a file is sent compressed to those who take that, and not at all to those who have it", async () => {
  const plain = await load(script);
  assert.deepEqual(plain.bytes, fixture);
  assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(plain.headers.get("content-type"), "text/javascript; charset=utf-8");
  assert.equal(plain.headers.get("content-encoding"), null);
  const zipped = await load(script, { "accept-encoding": "br, gzip;q=0.5" });
  assert.equal(zipped.headers.get("content-encoding"), "gzip");
  assert.equal(zipped.headers.get("vary"), "accept-encoding");
  assert.deepEqual(gunzipSync(zipped.bytes), fixture);
  assert.equal((await load(script, { "accept-encoding": "gzip;q=0" })).headers.get("content-encoding"), null);
  const etag = plain.headers.get("etag") ?? "";
  assert.match(etag, /^W\//, "bytes differ with the coding");
  assert.equal(zipped.headers.get("etag"), etag);
  const held = await load(script, { "if-none-match": `W/"other", ${etag}` });
  assert.deepEqual([held.status, held.bytes.length], [304, 0]);
  const style = await load("/console/assets/index-abc123.css", { "accept-encoding": "gzip" });
  assert.deepEqual(
    [style.headers.get("content-encoding"), style.headers.get("content-type")],
    [null, "text/css; charset=utf-8"],
  );
});

for (const path of [
  "/console/assets/none.js",
  "/console/.stamp",
  "/console/assets/.hidden.js",
  "/console/favicon.ico",
  "/console/assets/index-abc123.js%00.js",
  "/console/assets%2Findex-abc123.js",
]) {
  test(`${path} is not there`, async () => {
    assert.ok([400, 404].includes((await load(path)).status));
  });
}

test("no path leads out of the folder", async () => {
  for (const path of [
    "/console/..%2f..%2fpackage.json",
    "/console/%2e%2e/%2e%2e/package.json",
    "/console/..%5c..%5cmod.ts",
  ]) {
    assert.ok([400, 404].includes((await load(path)).status), path);
  }
});

test("HEAD and OPTIONS on the console are answered, other methods refused", async () => {
  assert.equal((await gateway.fetch("/console", { method: "HEAD" })).status, 200);
  assert.equal((await gateway.fetch("/console/logs", { method: "PUT" })).status, 405);
});

for (const [accept, connection, wanted] of [
  ["text/html,application/xhtml+xml,*/*;q=0.8", {}, "303 /console"],
  ["*/*", {}, "200 null"],
  ["application/json", {}, "200 null"],
  ["text/html", { isMcpPort: true }, "200 null"],
] as const) {
  test(`GET / with ${accept}${"isMcpPort" in connection ? " on the port of MCP" : ""}: ${wanted}`, async () => {
    const response = await gateway.fetch("/", { headers: { accept } }, connection);
    await response.text();
    assert.equal(`${response.status} ${response.headers.get("location")}`, wanted);
  });
}

test("a gateway without a console serves no byte of it, and no session", async () => {
  const own = await createTestGateway({ console: false });
  try {
    for (const path of ["/console", script, "/console/session", "/console/sign-in/options"]) {
      const response = await own.gateway.fetch(new Request(`http://gateway.test${path}`));
      assert.equal(response.status, 404, path);
    }
    assert.equal(await problemOf(send(own, "POST /console/session", { body: { key: adminKey } })), "404 not_found");
    const headers = { ...sameOrigin, "x-gateway-csrf": "token", cookie: "gateway-console=x" };
    assert.equal(await problemOf(send(own, "GET /v1/models", { headers })), "401 missing_api_key");
    const greeting = await own.fetch("/", { headers: { accept: "text/html" } });
    assert.match(await greeting.text(), /^AI gateway/);
  } finally {
    await own.close();
  }
});

test("without a build, the console says how to make one", async () => {
  const folder = createTemporaryFolder();
  const own = await createTestGateway({ console: createFolderAssets(folder.path) });
  try {
    const response = await own.fetch("/console/logs");
    assert.equal(response.status, 503);
    assert.match(await response.text(), /npm start/);
    assert.equal((await own.fetch(script)).status, 404);
  } finally {
    await own.close();
    folder.remove();
  }
});
