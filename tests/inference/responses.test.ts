import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import { createTestGateway, type TestGateway, waitForLog } from "../support/gateway.ts";
import { recordedText, type Scenario, startNativeUpstream } from "../support/native-upstreams.ts";
import { checkEvents, type Members, parseEvents } from "../support/response-events.ts";
import { callResponses, shapeHeaders, shapes } from "../support/responses.ts";
import type { RecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startNativeUpstream();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const itemsOf = ({ output }: Members, type: string): Members[] =>
  (Array.isArray(output) ? output.filter(isObject) : []).filter((item) => item.type === type);

/** Text of the messages of a response. */
function textOf(response: Members): string {
  const parts = itemsOf(response, "message").flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.map(({ text }) => String(text)).join("");
}

const lastSent = (): Members => JSON.parse(upstream.requests.at(-1)?.text ?? "{}");
const tools = [{ type: "function", name: "tide_table", parameters: { type: "object", properties: {} } }];

for (const shape of shapes) {
  const post = (scenario: Scenario, body: object) =>
    callResponses(gateway, "POST /responses", {
      body: { model: shape.model, input: "When does it open?", ...body },
      headers: shapeHeaders(shape, upstream.url, scenario),
    });
  const stream = async (scenario: Scenario, body: object = {}): Promise<Members> => {
    const { status, text } = await post(scenario, { stream: true, ...body });
    assert.equal(status, 200, text);
    return checkEvents(parseEvents(text));
  };

  test(`${shape.provider}: text, non-streaming and streamed`, async () => {
    const { status, body, text } = await post("text", { instructions: "Be short." });
    assert.equal(status, 200, text);
    assert.equal(textOf(body), recordedText);
    assert.equal(body.status, "completed");
    assert.equal(body.provider, shape.provider);
    assert.match(String(body.id), /^resp_gw_/);
    assert.ok(JSON.stringify(lastSent()).includes("Be short."));
    const streamed = await stream("text");
    assert.equal(streamed.status, "completed");
    assert.ok(textOf(streamed).length > 0);
    assert.ok(isObject(streamed.usage) && Number(streamed.usage.output_tokens) > 0);
  });

  test(`${shape.provider}: two tool calls, non-streaming and streamed`, async () => {
    for (const response of [(await post("tools", { tools })).body, await stream("tools", { tools })]) {
      const calls = itemsOf(response, "function_call");
      assert.equal(calls.length, 2);
      for (const call of calls) assert.ok(isObject(JSON.parse(String(call.arguments))));
    }
  });

  test(`${shape.provider}: the same prompt as a chat and as a message sends the same request`, async () => {
    const headers = shapeHeaders(shape, upstream.url, "tools");
    const { model } = shape;
    const messages = [{ role: "user", content: "When does it open?" }];
    const chat = await callResponses(gateway, "POST /chat/completions", { headers, body: { model, messages } });
    const said = await callResponses(gateway, "POST /messages", { headers, body: { model, messages, max_tokens: 99 } });
    const { body } = await post("tools", {});
    const [choice] = chat.body.choices as { message: { tool_calls: Members[] } }[];
    const named = ({ name, arguments: given }: Members) => [name, JSON.parse(String(given))];
    const asChat = choice?.message.tool_calls.map((call) => named(call.function as Members));
    assert.deepEqual(itemsOf(body, "function_call").map(named), asChat);
    // Claude on Bedrock speaks the Messages API itself, which this upstream does not
    if (shape.provider !== "bedrock") {
      const blocks = (said.body.content as Members[]).filter(({ type }) => type === "tool_use");
      assert.deepEqual(
        blocks.map(({ name, input }) => [name, input]),
        asChat,
      );
    }
    const counts = [chat.body.usage, body.usage] as Record<string, number>[];
    assert.deepEqual(
      [counts[1]?.input_tokens, counts[1]?.output_tokens],
      [counts[0]?.prompt_tokens, counts[0]?.completion_tokens],
    );
  });
}

for (const shape of shapes.slice(1)) {
  test(`${shape.provider}: reasoning is sent back to the model that produced it`, async () => {
    const headers = shapeHeaders(shape, upstream.url, "reasoning");
    const reasoning = { effort: "low", summary: "auto" };
    const asked = { model: shape.model, input: "When does it open?", reasoning };
    const { text } = await callResponses(gateway, "POST /responses", { headers, body: { ...asked, stream: true } });
    const first = checkEvents(parseEvents(text));
    const [thought] = itemsOf(first, "reasoning");
    assert.ok(thought);
    const next = { ...asked, input: "And now?", previous_response_id: first.id, stream: true };
    const second = await callResponses(gateway, "POST /responses", { headers, body: next });
    assert.equal(second.status, 200, second.text);
    assert.equal(checkEvents(parseEvents(second.text)).previous_response_id, first.id);
    const sent = JSON.stringify(lastSent());
    assert.ok(sent.includes("When does it open?") && sent.includes(textOf(first)) && sent.includes("And now?"));
    const carried = /^gw:thought:(.*)$/s.exec(String(thought.encrypted_content))?.[1];
    if (carried !== undefined) assert.ok(sent.includes(JSON.stringify(carried)), "the signature is sent back");
  });
}

test("dropped parameters are reported, and stored with the log row", async () => {
  const [shape] = shapes.slice(1);
  assert.ok(shape);
  const answer = await callResponses(gateway, "POST /responses", {
    headers: { ...shapeHeaders(shape, upstream.url, "text"), "x-gateway-trace-id": "dropped-1" },
    body: {
      model: shape.model,
      input: "Hello",
      tools: [{ type: "web_search", external_web_access: false }, ...tools],
      truncation: "auto",
    },
  });
  assert.equal(answer.headers.get("x-gateway-dropped-params"), "truncation,tools.web_search.cached");
  const log = await waitForLog(gateway, "dropped-1");
  assert.deepEqual(Reflect.get(log, "dropped_params"), ["truncation", "tools.web_search.cached"]);
  assert.equal(log.operation, "responses");
  assert.ok(Number(log.usage?.input_tokens) > 0 && Number(log.usage?.output_tokens) > 0);
});

test("a parameter that would change the response is refused", async () => {
  const [shape] = shapes;
  assert.ok(shape);
  for (const [more, param] of [
    [{ background: true }, "background"],
    [{ previous_response_id: "resp_foreign" }, "previous_response_id"],
    [{ tools: [{ type: "local_shell" }], tool_choice: { type: "local_shell" } }, "tool_choice"],
    [{ tools: [{ type: "web_search" }] }, "tools.web_search"],
    [{ temperature: 3 }, "temperature"],
    [{ metadata: { a: "x".repeat(513) } }, "metadata.a"],
    [{ top_logprobs: 21 }, "top_logprobs"],
  ] as const) {
    const { status, body } = await callResponses(gateway, "POST /responses", {
      headers: shapeHeaders(shape, upstream.url, "text"),
      body: { model: shape.model, input: "Hello", ...more },
    });
    assert.equal(status, 400);
    assert.equal((body.error as Members).param, param);
  }
});
