import assert from "node:assert/strict";
import { test } from "node:test";
import { readEvents } from "../../src/lib/sse.ts";
import { createRandom } from "../support/gateway.ts";
import { createFolder, fakeWorkspaceKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { isWhole } from "../support/sample.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const kills = isWhole ? 20 : 2;
const seed = Math.floor(Math.random() * 2 ** 31);
const loops = 8;
const questions = 60;

/** The only right response to a question: 20 KB, each part of it another text. */
const answerTo = (question: string): string =>
  Array.from({ length: 500 }, (_, part) => `${question} part ${part} is ${part * 7919}. `).join("");

async function startChats() {
  return startRecordingUpstream(({ text }, response) => {
    const { model, stream, messages } = JSON.parse(text);
    const answer = answerTo(messages[0].content);
    const base = { id: "c", created: 1, model };
    if (!stream) {
      const choices = [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ ...base, object: "chat.completion", choices }));
    }
    const send = (delta: object, finish_reason: string | null) => {
      const chunk = { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let at = 0; at < answer.length; at += 1_000) send({ content: answer.slice(at, at + 1_000) }, null);
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  });
}

/** The text of a response. */
function textOf(body: string, stream: boolean): string {
  if (!stream) return JSON.parse(body).choices[0].message.content;
  const events = readEvents(body).map(({ data }) => data);
  assert.equal(events.at(-1), "[DONE]");
  return events
    .slice(0, -1)
    .map((data) => JSON.parse(data).choices[0]?.delta.content ?? "")
    .join("");
}

/** Asks once and checks the response. Whether it came from the cache; undefined if the process was killed meanwhile. */
async function ask(gateway: GatewayProcess, upstream: string, question: string, stream: boolean) {
  let response: Response;
  let body: string;
  try {
    response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": fakeWorkspaceKey,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": upstream,
        authorization: "Bearer fake",
        "x-gateway-cache": "simple",
      },
      body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: question }] }),
    });
    body = await response.text();
  } catch {
    return undefined;
  }
  assert.equal(response.status, 200, body);
  const isHit = response.headers.get("x-gateway-cache-status") === "HIT";
  // a stream from the upstream that the kill cut off has no end
  if (stream && !isHit && !body.endsWith("data: [DONE]\n\n")) return undefined;
  assert.equal(textOf(body, stream), answerTo(question));
  return isHit;
}

/** Asks until the process is killed. */
async function askOnAndOn(gateway: GatewayProcess, upstream: string, random: () => number): Promise<void> {
  const isStream = () => random() < 0.5;
  while ((await ask(gateway, upstream, nameOf(Math.floor(random() * questions)), isStream())) !== undefined);
}

const nameOf = (index: number) => `question ${index}`;

test(`no response of the cache is torn after ${kills} kills at random moments (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const folder = createFolder();
  const upstream = await startChats();
  let gateway: GatewayProcess | undefined;
  try {
    for (let kill = 0; kill < kills; kill++) {
      gateway = await startGatewayProcess({ cwd: folder });
      const started = gateway;
      const work = Promise.all(Array.from({ length: loops }, () => askOnAndOn(started, upstream.url, random)));
      await new Promise((resolve) => setTimeout(resolve, 300 + 1_200 * random()));
      await started.stop("SIGKILL");
      await work;
    }
    gateway = await startGatewayProcess({ cwd: folder });
    let hits = 0;
    for (let index = 0; index < questions; index++) {
      if (await ask(gateway, upstream.url, nameOf(index), index % 2 === 0)) hits++;
    }
    assert.ok(hits > 0, "nothing that the killed processes stored was found");
  } finally {
    await gateway?.stop("SIGKILL");
    await upstream.close();
  }
});
