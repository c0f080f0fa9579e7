import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { upstreamHeaders, waitForLog } from "../support/gateway.ts";
import { formOf, post, receivedForm, startMedia } from "../support/media.ts";

const media = await startMedia();
const { gateway, upstream, answerWith } = media;
beforeEach(() => {
  upstream.requests.length = 0;
});
after(() => media.close());

const generations = "/images/generations";
const edits = "/images/edits";
const body = { model: "gpt-image-1", prompt: "A lock at dawn" };
const imageData = (name: string, byte: number) => new File([Uint8Array.of(byte)], name, { type: "image/png" });

test("POST /v1/images/generations returns images unchanged, and the log has the usage and no image", async () => {
  const data = [{ b64_json: "A".repeat(20_000), revised_prompt: "A lock" }];
  const text = JSON.stringify(
    { created: 1, data, usage: { input_tokens: 5, output_tokens: 6, total_tokens: 11 } },
    null,
    1,
  );
  answerWith("application/json", text);
  const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": "picture-1" };
  const sent = { ...body, n: 2, size: "auto", style: null, steps: 4 };
  const response = await post(gateway, generations, sent, headers);
  assert.equal(await response.text(), text);
  assert.equal(upstream.requests[0]?.text, JSON.stringify(sent));
  assert.equal(upstream.requests[0]?.path, "/v1/images/generations");
  const row = await waitForLog(gateway, "picture-1");
  assert.deepEqual([row.operation, row.usage?.input_tokens, row.usage?.output_tokens], ["generateImage", 5, 6]);
  assert.deepEqual(Reflect.get(Object(row.response.body), "data"), [
    { b64_json: "(20000 characters)", revised_prompt: "A lock" },
  ]);
});

function event(type: string, more: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}

for (const [path, kind] of [
  [generations, "image_generation"],
  [edits, "image_edit"],
] as const) {
  test(`a stream of ${path} is forwarded unchanged, each image with its last event`, async () => {
    const usage = { input_tokens: 5, output_tokens: 6, total_tokens: 11 };
    const events = [
      event(`${kind}.partial_image`, { b64_json: "AA", partial_image_index: 0 }),
      event(`${kind}.completed`, { b64_json: "B".repeat(6_000_000), usage }),
      event(`${kind}.completed`, { b64_json: "CC", usage }),
    ].join("");
    answerWith("text/event-stream", events);
    const headers = { ...upstreamHeaders(upstream), "x-gateway-trace-id": kind };
    const form = formOf({ prompt: "p", image: imageData("a.png", 1), stream: "true", partial_images: "1" });
    const response = await post(gateway, path, path === edits ? form : { ...body, stream: true }, headers);
    assert.ok((await response.text()) === events, "the bytes are the same");
    const row = await waitForLog(gateway, kind);
    assert.deepEqual([row.stream, row.usage?.total_tokens, row.response.body], [true, 11, null]);
  });
}

test("an image stream without its last event ends with an error event", async () => {
  answerWith("text/event-stream", event("image_generation.partial_image", { b64_json: "AA" }));
  const response = await post(gateway, generations, { ...body, stream: true }, upstreamHeaders(upstream));
  assert.match(await response.text(), /event: error\n/);
});

for (const [name, change, param] of [
  ["no prompt", { prompt: undefined }, "prompt"],
  ["an empty prompt", { prompt: "" }, "prompt"],
  ["a prompt of 32,001 characters", { prompt: "x".repeat(32_001) }, "prompt"],
  ["11 pictures", { n: 11 }, "n"],
  ["no picture", { n: 0 }, "n"],
  ["half a picture", { n: 1.5 }, "n"],
  ["a compression of 101", { output_compression: 101 }, "output_compression"],
  ["4 partial pictures", { partial_images: 4 }, "partial_images"],
  ["a response format that is none", { response_format: "png" }, "response_format"],
] as const) {
  test(`POST /v1/images/generations returns 400 for ${name}`, async () => {
    const response = await post(gateway, generations, { ...body, ...change }, upstreamHeaders(upstream));
    assert.equal(response.status, 400);
    assert.equal(JSON.parse(await response.text()).error.param, param);
  });
}

test("POST /v1/images/edits forwards a form unchanged", async () => {
  answerWith("application/json", '{"created":1,"data":[]}');
  const form = formOf({
    "image[]": [imageData("a.png", 1), imageData("b.png", 2)],
    mask: imageData("mask.png", 3),
    prompt: "p",
    model: "gpt-image-1",
    n: "2",
  });
  const response = await post(gateway, edits, form, upstreamHeaders(upstream));
  assert.deepEqual(await response.json(), { created: 1, data: [] });
  assert.deepEqual(receivedForm(upstream.requests[0]!), [
    ["image[]", ["a.png", "image/png", [1]]],
    ["image[]", ["b.png", "image/png", [2]]],
    ["mask", ["mask.png", "image/png", [3]]],
    ["prompt", "p"],
    ["model", "gpt-image-1"],
    ["n", "2"],
  ]);
});

test("POST /v1/images/edits forwards JSON as JSON", async () => {
  answerWith("application/json", '{"created":1,"data":[]}');
  const sent = { ...body, images: [{ image_url: "https://example.com/a.png" }], mask: { file_id: "file-1" } };
  const response = await post(gateway, edits, sent, upstreamHeaders(upstream));
  assert.equal(response.status, 200);
  assert.equal(upstream.requests[0]?.headers["content-type"], "application/json");
  assert.deepEqual(JSON.parse(upstream.requests[0]!.text), sent);
});

for (const [name, sent] of [
  ["no picture in a form", formOf({ prompt: "p" })],
  ["no picture in JSON", { prompt: "p" }],
  ["17 images", formOf({ prompt: "p", "image[]": Array.from({ length: 17 }, () => imageData("a.png", 1)) })],
  ["11 results", formOf({ prompt: "p", image: imageData("a.png", 1), n: "11" })],
] as const) {
  test(`POST /v1/images/edits returns 400 for ${name}`, async () => {
    const response = await post(gateway, edits, sent, upstreamHeaders(upstream));
    assert.equal(response.status, 400, await response.text());
  });
}

test("POST /v1/images/edits converts JSON to a form where the provider expects one", async () => {
  answerWith("application/json", JSON.stringify({ image: "AAAA", finish_reason: "SUCCESS", seed: 7 }));
  const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "stability-ai" };
  const sent = { model: "stable-image-core", prompt: "p ✓", size: "1792x1024", seed: 7, quality: "hd" };
  const response = await post(gateway, generations, sent, headers);
  const found = JSON.parse(await response.text());
  assert.deepEqual(found.data, [{ b64_json: "AAAA" }]);
  assert.equal(found.provider, "stability-ai");
  assert.ok(Math.abs(found.created - Date.now() / 1000) < 600);
  assert.equal(response.headers.get("x-gateway-dropped-params"), "quality");
  const [request] = upstream.requests;
  assert.equal(request?.path, "/v2beta/stable-image/generate/core");
  assert.deepEqual(receivedForm(request), [
    ["aspect_ratio", "16:9"],
    ["seed", "7"],
    ["prompt", "p ✓"],
  ]);
});

test("POST /v1/images/generations converts a response that is the image itself", async () => {
  answerWith("image/png", Uint8Array.of(137, 80, 78, 71));
  const headers = {
    ...upstreamHeaders(upstream),
    "x-gateway-provider": "workers-ai",
    "x-gateway-workers-ai-account-id": "a",
  };
  const response = await post(gateway, generations, { model: "@cf/stabilityai/sdxl", prompt: "p" }, headers);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.deepEqual(JSON.parse(await response.text()).data, [{ b64_json: "iVBORw==" }]);
});

test("POST /v1/images/generations refuses a response that is a web page", async () => {
  answerWith("text/html", "<p>Sign in</p>");
  const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": "segmind" };
  assert.equal((await post(gateway, generations, { model: "m", prompt: "p" }, headers)).status, 502);
});

const filtered = "Some images were filtered";
for (const [images, status] of [
  [["AAAA"], 200],
  [[], 400],
] as const) {
  test(`Nova images of which some were filtered, ${images.length} left: ${status}`, async () => {
    answerWith("application/json", JSON.stringify({ images, error: filtered }));
    const headers = {
      ...upstreamHeaders(upstream),
      "x-gateway-provider": "bedrock",
      "x-gateway-aws-region": "us-east-1",
    };
    const response = await post(gateway, generations, { model: "amazon.nova-canvas-v1:0", prompt: "p" }, headers);
    const text = await response.text();
    assert.equal(response.status, status, text);
    if (status === 400) assert.match(text, /Some images were filtered.*content_filter/);
  });
}

test("POST /v1/images/generations reads a JSON list from providers that return lists", async () => {
  answerWith("application/json", JSON.stringify([{ base64: "AAAA", finishReason: "SUCCESS", seed: 1 }]));
  const sent = { model: "stable-diffusion-xl-1024-v1-0", prompt: "p" };
  const found = await post(gateway, generations, sent, {
    ...upstreamHeaders(upstream),
    "x-gateway-provider": "fireworks-ai",
  });
  assert.deepEqual(JSON.parse(await found.text()).data, [{ b64_json: "AAAA" }]);
  const refused = await post(gateway, generations, sent, upstreamHeaders(upstream));
  assert.equal(refused.status, 502);
});

for (const [provider, settings, model, text, status] of [
  ["stability-ai", {}, "core", JSON.stringify({ finish_reason: "CONTENT_FILTERED", image: "A" }), 400],
  ["stability-ai", {}, "core", "[]", 502],
  ["stability-ai", {}, "sdxl", '{"artifacts":[{"finishReason":"CONTENT_FILTERED"}]}', 400],
  ["stability-ai", {}, "sdxl", "{}", 502],
  ["google", {}, "imagen-4.0", '{"predictions":[{"raiFilteredReason":"unsafe"}]}', 400],
  ["google", {}, "imagen-4.0", '{"predictions":7}', 502],
  ["google", {}, "gemini-2.5-flash-image", '{"promptFeedback":{"blockReason":"SAFETY"}}', 400],
  ["segmind", {}, "m", "{}", 502],
  ["hyperbolic", {}, "m", '{"images":[{}]}', 502],
  ["siliconflow", {}, "m", '{"images":null}', 502],
  ["fireworks-ai", {}, "m", '[{"base64":7}]', 502],
  ["together-ai", {}, "m", '{"data":"none"}', 502],
  ["workers-ai", { "x-gateway-workers-ai-account-id": "a" }, "m", '{"result":{}}', 502],
] as const) {
  test(`${provider}'s response ${text} is ${status}`, async () => {
    answerWith("application/json", text);
    const headers = { ...upstreamHeaders(upstream), ...settings, "x-gateway-provider": provider };
    const response = await post(gateway, generations, { model, prompt: "p" }, headers);
    assert.equal(response.status, status, await response.text());
  });
}

for (const provider of ["anthropic", "groq", "mistral-ai"]) {
  test(`POST /v1/images/generations returns 400 unsupported_endpoint for ${provider}`, async () => {
    const headers = { ...upstreamHeaders(upstream), "x-gateway-provider": provider };
    for (const [path, sent] of [
      [generations, body],
      [edits, formOf({ prompt: "p", image: imageData("a.png", 1) })],
    ] as const) {
      const response = await post(gateway, path, sent, headers);
      assert.equal(response.status, 400);
      assert.equal(JSON.parse(await response.text()).error.code, "unsupported_endpoint");
    }
  });
}
