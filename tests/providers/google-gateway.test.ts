import assert from "node:assert/strict";
import { after, test } from "node:test";
import { exportPKCS8, generateKeyPair } from "jose";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { fixture } from "../conformance/suite.ts";
import { chat, createTestGateway, readJson, requestHeaders } from "../support/gateway.ts";

interface Sent {
  url: string;
  init: TransportInit;
}
/** Requests since the test began, and the responses to them. */
const wire: { sent: Sent[]; answer: (url: string) => Response } = { sent: [], answer: () => new Response("{}") };
const transport: Transport = {
  async send(url, init) {
    wire.sent.push({ url, init });
    return wire.answer(url);
  },
  sendChecked: (url, init) => transport.send(url, init),
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

function answerWith(answer: (url: string) => Response): void {
  Object.assign(wire, { sent: [], answer });
}

const json = (text: string, status = 200) =>
  new Response(text, { status, headers: { "content-type": "application/json" } });
const body = { model: "gemini-3-flash", messages: [{ role: "user", content: "Hello" }], user: "u-7" };
const google = { "x-gateway-provider": "google", authorization: "Bearer google-key" };

test("google chats send the key in its header, report dropped params and name the provider", async () => {
  answerWith(() => json(fixture("google", "chat.json")));
  const response = await chat(gateway, body, google);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-gateway-dropped-params"), "user");
  const answer = await readJson<{ provider: string; usage: { total_tokens: number } }>(response);
  assert.equal(answer.provider, "google");
  assert.equal(answer.usage.total_tokens, 1393);
  const [sent] = wire.sent;
  assert.equal(sent?.url, "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:generateContent");
  assert.equal(sent?.init.headers["x-goog-api-key"], "google-key");
  assert.equal(sent?.init.headers.authorization, undefined);
});

test("google streams end with usage and [DONE]", async () => {
  const type = { "content-type": "text/event-stream" };
  answerWith(() => new Response(fixture("google", "stream.sse"), { headers: type }));
  const response = await chat(gateway, { ...body, stream: true, stream_options: { include_usage: true } }, google);
  const events = (await response.text()).split("\n\n").filter((event) => event !== "");
  assert.equal(events.at(-1), "data: [DONE]");
  const trailer = JSON.parse(events.at(-2)?.slice("data: ".length) ?? "");
  assert.deepEqual([trailer.choices, trailer.usage.completion_tokens], [[], 49]);
  assert.equal(events.length, 5);
});

test("google streams that break off or fail at once are failures", async () => {
  const type = { "content-type": "text/event-stream" };
  const [first] = fixture("google", "stream.sse").split("\r\n\r\n");
  answerWith(() => new Response(`${first}\r\n\r\n`, { headers: type }));
  const broken = await chat(gateway, { ...body, stream: true }, google);
  assert.doesNotMatch(await broken.text(), /\[DONE\]/);
  const failure = JSON.stringify({ error: { code: 503, message: "fixture: overloaded", status: "UNAVAILABLE" } });
  answerWith(() => new Response(`data: ${failure}\r\n\r\n`, { headers: type }));
  const failed = await chat(gateway, { ...body, stream: true }, google);
  assert.equal(failed.status, 503);
  assert.match(await failed.text(), /google error: fixture: overloaded/);
});

const { privateKey } = await generateKeyPair("RS256", { extractable: true });
const account = {
  client_email: "robot@fx.example",
  project_id: "fx-project",
  private_key_id: "k",
  private_key: await exportPKCS8(privateKey),
};
const vertex = {
  "x-gateway-provider": "vertex-ai",
  "x-gateway-vertex-region": "global",
  "x-gateway-vertex-service-account-json": JSON.stringify(account),
};

test("vertex-ai uses one token for two chats", async () => {
  answerWith((url) => json(fixture("vertex-ai", url.includes("oauth2") ? "token.json" : "chat.json")));
  for (let number = 0; number < 2; number++) assert.equal((await chat(gateway, body, vertex)).status, 200);
  assert.deepEqual(
    wire.sent.map(({ url }) => url),
    [
      "https://oauth2.googleapis.com/token",
      ...[1, 2].map(
        () =>
          "https://aiplatform.googleapis.com/v1/projects/fx-project/locations/global/publishers/google/models/gemini-3-flash:generateContent",
      ),
    ],
  );
  assert.equal(wire.sent[2]?.init.headers.authorization, "Bearer ya29.fx-example");
  assert.doesNotMatch(JSON.stringify(wire.sent.slice(1)), /service-account-json|PRIVATE/);
});

test("vertex-ai reports a rejected service account and a missing project", async () => {
  answerWith(() => json('{"error":"invalid_grant"}', 400));
  const other = { ...account, client_email: "gone@fx.example" };
  const headers = { ...vertex, "x-gateway-vertex-service-account-json": JSON.stringify(other) };
  const refused = await chat(gateway, body, headers);
  assert.equal(refused.status, 401);
  assert.match(await refused.text(), /invalid_grant/);
  answerWith(() => json("{}"));
  const lost = await chat(gateway, body, { "x-gateway-provider": "vertex-ai", authorization: "Bearer ya29.x" });
  assert.equal(lost.status, 400);
  assert.match(await lost.text(), /x-gateway-vertex-project-id/);
  assert.equal(wire.sent.length, 0);
});

test("vertex-ai receives media embeddings", async () => {
  answerWith((url) => json(fixture("vertex-ai", url.includes("oauth2") ? "token.json" : "embeddings-multimodal.json")));
  const input = [{ text: "harbour", image: { url: "gs://bucket/harbour.png" } }];
  const init = { method: "POST", headers: requestHeaders(vertex) };
  const response = await gateway.fetch("/v1/embeddings", {
    ...init,
    body: JSON.stringify({ model: "multimodalembedding@001", input }),
  });
  assert.equal(response.status, 200);
  const { data } = await readJson<{ data: { image_embedding: number[] }[] }>(response);
  assert.deepEqual(data[0]?.image_embedding, [0.04, -0.05, 0.06]);
  for (const bad of [[], [null], [true], [["a"]]]) {
    const refused = await gateway.fetch("/v1/embeddings", {
      ...init,
      body: JSON.stringify({ model: "m", input: bad }),
    });
    assert.equal(refused.status, 400);
  }
});
