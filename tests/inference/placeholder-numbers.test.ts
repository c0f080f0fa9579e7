import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, requestHeaders, type TestGateway } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport });
});
after(() => gateway.close());

const redact = [{ "gateway.pii": { redact: true } }];
const said = "Write to two@example.com, three@example.com or one@example.com";
const whole = {
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }],
};
const chunks = [
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: said }, finish_reason: null }] },
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
];
const stream = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;

for (const [name, more] of [
  ["a whole response", {}],
  ["a stream", { stream: true }],
  ["a stream that is held", { stream: true, held: true }],
] as const) {
  test(`placeholders of ${name} go on with the numbers of the request`, async () => {
    const isStream = "stream" in more;
    wire.answer = () =>
      isStream ? new Response(stream, { headers: { "content-type": "text/event-stream" } }) : Response.json(whole);
    const output = "held" in more ? redact.map((hook) => ({ ...hook, stream_mode: "buffer" })) : redact;
    const config = { input_guardrails: redact, output_guardrails: output };
    const headers = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer upstream-credential",
      "x-gateway-config": JSON.stringify(config),
    });
    const content = "I am one@example.com, not one@example.com";
    const body = JSON.stringify({
      model: "m",
      messages: [{ role: "user", content }],
      ...(isStream && { stream: true }),
    });
    const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
    const text = await response.text();
    assert.match(String(wire.init?.body), /I am \{\{EMAIL_ADDRESS_1\}\}, not \{\{EMAIL_ADDRESS_1\}\}/);
    assert.match(text, /Write to \{\{EMAIL_ADDRESS_2\}\}, \{\{EMAIL_ADDRESS_3\}\} or \{\{EMAIL_ADDRESS_1\}\}/);
  });
}
