import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, requestHeaders } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport, checksAnswers: false });
after(() => gateway.close());

const shared = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
const toEvent = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ ...shared, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const toDelta = (members: object, named: object) => ({ tool_calls: [{ index: 0, ...members, function: named }] });
const literal = 'says "arguments": null';
const stream = [
  toEvent({ role: "assistant", content: literal }),
  toEvent(toDelta({ id: "a", type: "function" }, { name: "f", arguments: null })),
  toEvent(toDelta({}, { arguments: '{"big":' })),
  toEvent(toDelta({}, { arguments: "null}" })),
  toEvent(toDelta({}, { arguments: null })),
  toEvent({}, "tool_calls"),
  "data: [DONE]\n\n",
];
const body = { model: "m", messages: [{ role: "user", content: "x" }], stream: true };

for (const provider of ["openai", "groq", "mistral-ai", "deepseek", "openrouter", "together-ai"]) {
  for (const strict of ["true", "false"]) {
    test(`deltas of calls from ${provider} have strings as arguments, with strict compliance ${strict}`, async () => {
      for (const events of [stream, [stream.join("")]]) {
        wire.answer = () => new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
        const headers = requestHeaders({
          "x-gateway-provider": provider,
          authorization: "Bearer fake",
          "x-gateway-strict-open-ai-compliance": strict,
        });
        const init = { method: "POST", headers, body: JSON.stringify(body) };
        const answer = await gateway.gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.doesNotMatch(text, /"arguments":null/);
        assert.ok(text.includes(JSON.stringify(literal)), text);
        const sent = [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, data = ""]) => {
          const { choices } = JSON.parse(data);
          return choices[0]?.delta?.tool_calls ?? [];
        });
        assert.equal(sent.map((call) => call.function.arguments).join(""), '{"big":null}');
      }
    });
  }
}
