import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createRandom, createTestGateway } from "../support/gateway.ts";
import { callResponses, shapeHeaders, shapes } from "../support/responses.ts";

/** No request leaves the process. */
const transport: Transport = { send: async () => Response.json({ choices: [] }) };
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const seed = 20_261_122;
const rounds = 800;

const values: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  "",
  "text",
  "auto",
  "required",
  "\ud800",
  "__proto__",
  [],
  {},
  [null],
  [{}],
  [[]],
  { type: "text" },
  [{ type: "input_text" }],
  [{ type: "input_text", text: 5 }],
  [{ type: "input_image" }],
  [{ type: "refusal" }],
  [{ type: "input_file", file_id: 1 }],
  [{ type: "input_audio" }],
  { __proto__: null },
  [{ type: "summary_text", text: {} }],
  "gw:thought:x",
  "gw:call:",
  "resp_gw_",
  "resp_gw_unknown",
  "data:,x",
];

const itemTypes = [
  undefined,
  null,
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "unknown",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
  "web_search_call",
];
const itemMembers = [
  "role",
  "content",
  "call_id",
  "name",
  "namespace",
  "arguments",
  "output",
  "input",
  "summary",
  "encrypted_content",
  "tool_call_id",
];
const roles = ["user", "assistant", "system", "developer", "tool", "nobody", undefined];
const toolTypes = ["function", "custom", "namespace", "web_search", "local_shell"];
const toolMembers = ["name", "parameters", "description", "strict", "format", "tools"];
const members = [
  "instructions",
  "metadata",
  "temperature",
  "top_p",
  "max_output_tokens",
  "reasoning",
  "text",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "truncation",
  "include",
  "store",
  "background",
  "top_logprobs",
  "thinking",
  "previous_response_id",
  "conversation",
  "prompt",
  "service_tier",
  "user",
  "stream",
  "unknown",
];

test(`no body makes POST /v1/responses fail (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const pick = <Value>(list: readonly Value[]): Value => list[Math.floor(random() * list.length)] as Value; // lists are not empty
  const some = (names: readonly string[], share: number): Record<string, unknown> =>
    Object.fromEntries(names.filter(() => random() < share).map((name) => [name, pick(values)]));
  const item = () => ({
    ...some(itemMembers, 0.3),
    type: pick(itemTypes),
    ...(random() < 0.7 && { role: pick(roles) }),
  });
  const tool = () => ({ ...some(toolMembers, 0.2), type: pick(toolTypes), ...(random() < 0.8 && { name: "f" }) });
  const statuses = new Map<number, number>();
  for (let round = 0; round < rounds; round++) {
    const shape = pick(shapes);
    const list = Array.from({ length: 1 + Math.floor(random() * 4) }, item);
    const body = {
      model: shape.model,
      input: random() < 0.9 ? list : pick(values),
      ...(random() < 0.5 && {
        tools: [tool(), tool()],
        tool_choice: pick([...values, { type: pick(toolTypes), name: "f" }]),
      }),
      ...some(members, 0.03),
    };
    const headers = shapeHeaders(shape, "http://127.0.0.1:18080", "text");
    const { status, body: answer, text } = await callResponses(gateway, "POST /responses", { body, headers });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // every provider but the first cannot use this response
    const isFine = status < 500 || (status === 502 && String(answer.message).startsWith("Cannot use the response of"));
    assert.ok(isFine, `${shape.provider} ${JSON.stringify(body)} -> ${status} ${text}`);
  }
  assert.ok(
    (statuses.get(400) ?? 0) > 50 && (statuses.get(200) ?? 0) + (statuses.get(502) ?? 0) > 50,
    `both ways are tried: ${JSON.stringify([...statuses])}`,
  );
});
