import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ChatSdk, Model } from "./chat-sdks.ts";
import { answeredObject, recordedText, type Scenario, startNativeUpstream } from "./native-upstreams.ts";
import { type GatewayProcess, startGatewayProcess } from "./process.ts";
import { cases, type NativeCase, questions, type Sent } from "./provider-cases.ts";
import type { RecordingUpstream } from "./upstream.ts";

const { text, image, tools, object, reasoning } = questions;

/** Processes that the tests of a file use. */
let gateway: GatewayProcess;
let upstream: RecordingUpstream;

/** A provider's model behind the gateway, its upstream set to a scenario. */
function modelOf({ provider, model, apiKey, headers }: NativeCase, scenario: Scenario, strict = true): Model {
  return {
    baseUrl: `${gateway.url}/v1`,
    apiKey: apiKey ?? "fake-provider-key",
    name: model,
    headers: {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/${provider}/${scenario}`,
      ...headers,
      ...(!strict && { "x-gateway-strict-openai-compliance": "false" }),
    },
  };
}

/** Requires that the only request was a native one for the question. */
function requireSent({ identity, model, sent }: NativeCase, question: keyof Sent): void {
  assert.equal(upstream.requests.length, 1);
  const [request] = upstream.requests.splice(0);
  assert.ok(request);
  identity(request);
  assert.doesNotMatch(request.rawHeaders.join("\n"), /^x-gateway-/im);
  const body = JSON.parse(request.text);
  // other bodies leave the model to the path
  if ("model" in body) assert.equal(body.model, model);
  const wanted = sent[question];
  assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((name) => [name, body[name]])), wanted);
}

type Run = (one: NativeCase, sdk: ChatSdk) => Promise<void>;

const runs: Readonly<Record<string, Run>> = {
  async "a text"(one, sdk) {
    const reply = await sdk.complete(modelOf(one, "text"), text);
    assert.deepEqual([reply.text, reply.finish], [recordedText, "stop"]);
    requireSent(one, "text");
  },
  async "a streamed text"(one, sdk) {
    const reply = await sdk.stream(modelOf(one, "text"), text);
    assert.deepEqual([reply.text, reply.finish], ["Tide rises – 3 m ☂.", "stop"]);
    assert.ok(reply.pieces.text > 1, "the text came in one piece");
    requireSent(one, "text");
  },
  async "two tools called in a stream"(one, sdk) {
    const { calls, finish, pieces } = await sdk.stream(modelOf(one, "tools"), tools);
    requireSent(one, "tools");
    assert.deepEqual(
      calls.map(({ name, input }) => ({ name, input })),
      [
        { name: "tide_table", input: { port: "Brest" } },
        { name: "wind_speed", input: {} },
      ],
    );
    for (const [index, { id }] of calls.entries()) {
      const wanted = one.callIds[index];
      if (wanted instanceof RegExp) assert.match(id, wanted);
      else assert.equal(id, wanted);
    }
    assert.notEqual(calls[0]?.id, calls[1]?.id);
    assert.equal(finish, sdk.calledTools);
    if (one.wholeArguments === undefined) assert.ok(pieces.firstCall > 1, "the arguments came in one piece");
    else assert.equal(pieces.firstCall, 1);
  },
  async "an object of a schema"(one, sdk) {
    const reply = await sdk.complete(modelOf(one, "object"), object);
    assert.deepEqual(reply.object, answeredObject);
    requireSent(one, "object");
  },
  async "an image"(one, sdk) {
    const reply = await sdk.complete(modelOf(one, "text"), image);
    assert.equal(reply.text, recordedText);
    requireSent(one, "image");
  },
  async "streamed thoughts"(one, sdk) {
    const reply = await sdk.stream(modelOf(one, "reasoning", false), reasoning);
    requireSent(one, "reasoning");
    assert.deepEqual(reply.tokens, one.tokens.reasoning);
    if (one.silentThoughts !== undefined) {
      assert.deepEqual([reply.reasoning, reply.text], ["", "It opens at six."]);
      return;
    }
    assert.deepEqual([reply.reasoning, reply.text], ["Check opening hours.", "It opens at six."]);
    assert.ok(reply.pieces.reasoning > 1, "the thoughts came in one piece");
  },
  async "usage, streamed and not"(one, sdk) {
    const whole = await sdk.complete(modelOf(one, "text"), text);
    const streamed = await sdk.stream(modelOf(one, "text"), text);
    assert.deepEqual([whole.tokens, streamed.tokens], [one.tokens.whole, one.tokens.streamed]);
  },
};

/** Changes of a case for an SDK other than `openai`. */
export type CaseChanges = (one: NativeCase) => Partial<NativeCase>;

/** Tests that SDKs get the same from every provider: text, tools, objects, images, reasoning, usage, streamed or not. */
export function testProviders(sdks: readonly ChatSdk[], changes: CaseChanges = () => ({})): void {
  before(async () => {
    gateway = await startGatewayProcess();
    upstream = await startNativeUpstream();
  });
  after(async () => {
    await gateway.stop("SIGKILL");
    await upstream.close();
  });
  for (const one of cases) {
    const changed = { ...one, ...changes(one) };
    for (const [name, run] of Object.entries(runs)) {
      for (const sdk of sdks) {
        test(`${one.provider}: ${name}, by ${sdk.name}`, async () => {
          upstream.requests.length = 0;
          await run(changed, sdk);
        });
      }
    }
  }
}
