import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Body } from "../../src/guardrails/types.ts";
import { guard, problemsOf, runCheck } from "../support/guardrails.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const id = "default.inlineImageUrls";
const latin = (text: string) => Buffer.from(text, "latin1");
const png = latin("\x89PNG\r\n\x1a\nrest");

/** Files of the server: media type and bytes. */
const files: Readonly<Record<string, readonly [type: string | undefined, bytes: Buffer]>> = {
  "/a.png": ["image/png", png],
  "/typeless.png": [undefined, png],
  "/lying.jpg": ["image/jpeg", png],
  "/typed.svg": ["image/svg+xml; charset=utf-8", latin("<svg/>")],
  "/a.jpg": ["application/octet-stream", latin("\xff\xd8\xff\xe0....")],
  "/a.gif": ["application/octet-stream", latin("GIF89a......")],
  "/a.webp": ["application/octet-stream", latin("RIFF\x01\x02\x03\x04WEBPVP8 ")],
  "/a.heic": ["application/octet-stream", latin("\0\0\0\x18ftypheic\0\0\0\0")],
  "/b.heic": ["application/octet-stream", latin("\0\0\0\x18ftyphevc\0\0\0\0")],
  "/a.heif": ["application/octet-stream", latin("\0\0\0\x18ftypmif1\0\0\0\0")],
  "/a.avif": ["application/octet-stream", latin("\0\0\0\x18ftypavif\0\0\0\0")],
  "/page": ["text/html", latin("<html>")],
  "/film": ["application/octet-stream", latin("\0\0\0\x18ftypisom\0\0\0\0")],
  "/large.png": ["image/png", Buffer.concat([png, Buffer.alloc(2_000)])],
};
const server = await startRecordingUpstream(async ({ path }, response) => {
  const [type, bytes] = files[path.replace(/\?.*/, "")] ?? [];
  if (path.startsWith("/slow")) await new Promise((resolve) => setTimeout(resolve, 500));
  if (path.startsWith("/moved")) response.writeHead(302, { location: "/a.png" });
  else if (!bytes) response.writeHead(404);
  else if (type) response.writeHead(200, { "content-type": type });
  response.end(bytes);
});
after(() => server.close());

const chatPart = (url: string) => ({ type: "image_url", image_url: { url, detail: "low" } });
const chat = (...content: unknown[]): Body => ({ model: "m", messages: [{ role: "user", content }] });
const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString("base64")}`;

for (const [path, type] of [
  ["/a.png", "image/png"],
  ["/typeless.png", "image/png"],
  ["/lying.jpg", "image/png"],
  ["/typed.svg", "image/svg+xml"],
  ["/a.jpg", "image/jpeg"],
  ["/a.gif", "image/gif"],
  ["/a.webp", "image/webp"],
  ["/a.heic", "image/heic"],
  ["/b.heic", "image/heic"],
  ["/a.heif", "image/heif"],
  ["/a.avif", "image/avif"],
] as const) {
  test(`inlineImageUrls puts ${path} in as ${type}`, async () => {
    const request = chat({ type: "text", text: "look" }, chatPart(server.url + path));
    const { result, outcome } = await runCheck(id, {}, { request });
    const bytes = files[path]?.[1] ?? Buffer.alloc(0);
    assert.deepEqual(outcome.body, chat({ type: "text", text: "look" }, chatPart(dataUrl(type, bytes))));
    assert.deepEqual([result?.verdict, result?.error, result?.transformed], [true, null, true]);
    assert.equal(result?.data?.inlined, 1);
  });
}

test("inlineImageUrls fills the sources of the messages API, those of tools too", async () => {
  const url = `${server.url}/a.png`;
  const before = { type: "image", source: { type: "url", url } };
  const inlined = { type: "image", source: { type: "base64", media_type: "image/png", data: png.toString("base64") } };
  const toRequest = (image: object) =>
    chat(image, { type: "tool_result", tool_use_id: "t", content: [image, { type: "text", text: "x" }] });
  server.requests.length = 0;
  const { outcome } = await runCheck(id, {}, { requestType: "messages", request: toRequest(before) });
  assert.deepEqual(outcome.body, toRequest(inlined));
  assert.equal(server.requests.length, 1);
});

test("inlineImageUrls takes an address that stands alone", async () => {
  const request = chat({ type: "image_url", image_url: `${server.url}/a.png` });
  const { outcome } = await runCheck(id, {}, { request });
  assert.deepEqual(outcome.body, chat({ type: "image_url", image_url: dataUrl("image/png", png) }));
});

for (const [name, seen, parameters] of [
  ["what is no address", { request: chat(chatPart("data:image/png;base64,AA"), chatPart("gs://bucket/a.png")) }, {}],
  ["requests for other providers", { request: chat(chatPart(`${server.url}/a.png`)) }, { providers: ["bedrock"] }],
  ["other kinds of request", { requestType: "complete", request: chat(chatPart(`${server.url}/a.png`)) }, {}],
] as const) {
  test(`inlineImageUrls leaves ${name}`, async () => {
    server.requests.length = 0;
    const { result, outcome } = await runCheck(id, parameters, seen);
    assert.deepEqual([result?.verdict, result?.transformed, outcome.body], [true, false, seen.request]);
    assert.equal(server.requests.length, 0);
  });
}

test("inlineImageUrls works for the providers it names", async () => {
  const seen = { provider: "bedrock", request: chat(chatPart(`${server.url}/a.png`)) };
  const { outcome } = await runCheck(id, { providers: ["openai", "bedrock"] }, seen);
  assert.equal(outcome.isTransformed, true);
});

for (const [path, parameters, reason] of [
  ["/missing?key=s3cret", {}, "the server returned 404"],
  ["/moved", {}, "the server returned 302"],
  ["/page", {}, "it is not an image"],
  ["/film", {}, "it is not an image"],
  ["/large.png", { maxSizeBytes: 1_000 }, "Cannot read the response: it is too large"],
  ["/slow", { timeoutMs: 50 }, "Request timed out after 50ms"],
] as const) {
  test(`inlineImageUrls lists ${path} and puts the others in`, async () => {
    const broken = server.url + path;
    const request = chat(chatPart(broken), chatPart(`${server.url}/a.png`));
    const { result, outcome } = await runCheck(id, parameters, { request });
    assert.deepEqual(outcome.body, chat(chatPart(broken), chatPart(dataUrl("image/png", png))));
    assert.deepEqual(result?.data?.failures, [{ url: server.url + path.replace(/\?.*/, ""), reason }]);
    assert.deepEqual([result?.verdict, outcome.isFailed], [true, false]);
    assert.ok(result?.error);
    const strict = await guard([{ [id]: { ...parameters, failOnError: true } }], { request });
    assert.deepEqual([strict.isFailed, strict.isTransformed], [true, false]);
  });
}

test("inlineImageUrls fetches nothing inside a network", async () => {
  const request = chat(chatPart("http://10.0.0.1/a.png"));
  const { result, outcome } = await runCheck(id, {}, { request });
  assert.match(JSON.stringify(result?.data?.failures), /Cannot call this address/);
  assert.equal(outcome.isTransformed, false);
});

test("inlineImageUrls fetches at most 20 images", async () => {
  server.requests.length = 0;
  const urls = Array.from({ length: 22 }, (_, index) => `${server.url}/a.png?${index}`);
  const { result, outcome } = await runCheck(id, {}, { request: chat(...urls.map(chatPart)) });
  assert.deepEqual([server.requests.length, result?.data?.inlined], [20, 20]);
  assert.equal(JSON.stringify(outcome.body).split("data:image/png").length - 1, 20);
  const failures = result?.data?.failures;
  assert.equal(Array.isArray(failures) && failures.length, 2);
});

for (const parameters of [{ providers: "bedrock" }, { maxSizeBytes: 0 }, { maxSizeBytes: 1e9 }, { failOnError: 1 }]) {
  test(`inlineImageUrls rejects the parameters ${JSON.stringify(parameters)}`, () => {
    assert.ok(problemsOf(id, parameters).length > 0);
  });
}
