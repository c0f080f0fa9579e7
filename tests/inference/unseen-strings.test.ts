import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";
import { askGuarded, words } from "../support/guarded.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const base64 = (text: string) => btoa(text);
const deny = { retry: { attempts: 0 }, input_guardrails: [{ ...words("none", ["secret"]), deny: true }] };
const said = "the secret is out";
const user = { role: "user", content: "Hello" };
const schema = { type: "object", properties: { a: { type: "string", description: said } } };
const named = { type: "object", properties: { the_secret: { type: "string" } } };
const file = (data: string, type: string) => ({
  type: "file",
  file: { filename: "a", file_data: `data:${type};base64,${data}` },
});
const imageData = (data: string, type: string) => ({
  type: "image_url",
  image_url: { url: `data:${type};base64,${data}` },
});
const item = (more: object) => ({ input: [{ type: "message", role: "user", content: "Hello" }, more] });
const turn = (...parts: object[]) => ({ contents: [{ role: "user", parts: [{ text: "Hello" }, ...parts] }] });
const block = (more: object) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, more] }],
  max_tokens: 9,
});
const source = (type: string, data: string) => ({
  type: "document",
  source: { type: "base64", media_type: type, data },
});
const utf16 = String.fromCharCode(0xff, 0xfe) + [...said].map((letter) => `${letter}\0`).join("");

/** Parts of a request that a model, or a service of the provider, reads. */
const places: Readonly<Record<string, readonly object[]>> = {
  "/v1/chat/completions": [
    { documents: [{ title: "a", text: said }] },
    { messages: [{ ...user, name: "the_secret" }] },
    { prediction: { type: "content", content: said } },
    { tools: [{ type: "function", function: { name: "f", description: said } }] },
    { tools: [{ type: "function", function: { name: "the_secret" } }] },
    { tools: [{ type: "function", function: { name: "f", parameters: schema } }] },
    { tools: [{ type: "function", function: { name: "f", parameters: named } }] },
    { tools: [{ type: "custom", custom: { name: "f", format: { type: "grammar", grammar: { definition: said } } } }] },
    { functions: [{ name: "f", description: said }] },
    { response_format: { type: "json_schema", json_schema: { name: "a", description: said, schema: {} } } },
    { response_format: { type: "json_schema", json_schema: { name: "a", schema } } },
    { stop: [said] },
    { stop: said },
    { chat_template: said },
    { documents: [{ text: `data:image/png;base64,${said}` }] },
    { documents: ["data:image/png;base64,thesecretisout"] },
    { documents: [{ data: { mime_type: "image/png", image: said } }] },
    { documents: [{ data: { image: `${said.replaceAll(" ", "\n")}\n`.repeat(9) } }] },
    { documents: [{ data: { image: `${said.replaceAll(" ", "-")}-`.repeat(9) } }] },
    { documents: [{ data: { project_id: "secret" } }] },
    { documents: [{ data: { user: "the_secret", secret_url: "https://x.test/a" } }] },
    { documents: [{ data: { the_secret: 1 } }] },
    { documents: [{ url: "https://x.test/secret" }] },
    { tools: [{ type: "function", function: { name: "f", parameters: { mime_type: "image/png", data: said } } }] },
    { extra: { signature: said.replaceAll(" ", "\n") } },
    { messages: [{ ...user, content: [imageData(base64(`<svg><text>${said}</text></svg>`), "image/svg+xml")] }] },
    { messages: [{ ...user, content: [imageData("the-secret-is-out-".repeat(9), "image/png")] }] },
    { extra: { deep: [{ er: said }] } },
    { "the secret": 1 },
    { metadata: { a: said } },
    { user: said },
    { messages: [{ role: "the secret", content: "Hello" }] },
    { messages: [{ ...user, content: [{ type: "text", text: "Hello", extra: said }] }] },
    { messages: [{ ...user, content: [file(base64(said), "text/plain")] }] },
    { messages: [{ ...user, content: [file(base64(said), "application/json; charset=utf-8")] }] },
    { messages: [{ ...user, content: [file(base64(utf16), "text/plain")] }] },
    {
      messages: [
        { ...user, content: [{ type: "file", file: { filename: "a.txt", file_data: base64(said.repeat(9)) } }] },
      ],
    },
    {
      messages: [
        user,
        {
          role: "assistant",
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":"s\\u0065cret"}' } }],
        },
      ],
    },
  ],
  "/v1/completions": [{ suffix: said }, { stop: [said] }, { unknown: said }].map((one) => ({ prompt: "a", ...one })),
  "/v1/embeddings": [{ input: "a", unknown: said }],
  "/v1/messages": [
    { tools: [{ name: "f", description: said, input_schema: { type: "object" } }], max_tokens: 9 },
    { tools: [{ name: "f", input_schema: named }], max_tokens: 9 },
    { stop_sequences: [said], max_tokens: 9 },
    { mcp_servers: [{ type: "url", url: "https://x.test", name: said }], max_tokens: 9 },
    block({
      type: "web_search_tool_result",
      tool_use_id: "t",
      content: [{ type: "web_search_result", title: said, url: "https://x.test" }],
    }),
    block({ type: "search_result", source: said, title: "a", content: [{ type: "text", text: "b" }] }),
    block(source("text/plain", base64(said))),
    block(source("text/plain", base64(said.repeat(9)))),
    block({ type: "document", title: "a", context: said, source: { type: "url", url: "https://x.test/a" } }),
  ],
  "/v1/responses": [
    { input: "a", tools: [{ type: "function", name: "f", description: said, parameters: {}, strict: false }] },
    { input: "a", tools: [{ type: "mcp", server_label: "s", server_description: said, server_url: "https://x.test" }] },
    { input: "a", text: { format: { type: "json_schema", name: "a", schema } } },
    item({ type: "mcp_call", id: "m", name: "n", arguments: "{}", server_label: "s", error: said }),
    item({
      type: "mcp_list_tools",
      id: "m",
      server_label: "s",
      tools: [{ name: "f", description: said, input_schema: {} }],
    }),
    item({ type: "mcp_approval_response", approval_request_id: "a", approve: true, reason: said }),
    item({
      type: "message",
      role: "assistant",
      content: [
        { type: "output_text", text: "a", annotations: [{ type: "url_citation", url: "https://x.test", title: said }] },
      ],
    }),
    item({
      type: "message",
      role: "user",
      content: [{ type: "input_file", filename: "a.txt", file_data: `data:text/plain;base64,${base64(said)}` }],
    }),
  ],
  "/v1beta/models/echo-1:generateContent": [
    { ...turn(), tools: [{ functionDeclarations: [{ name: "f", description: said }] }] },
    { ...turn(), tools: [{ functionDeclarations: [{ name: "f", parameters: schema }] }] },
    { ...turn(), generationConfig: { stopSequences: [said] } },
    { ...turn(), generationConfig: { responseSchema: schema } },
    turn({
      functionResponse: {
        name: "f",
        response: {},
        parts: [{ inlineData: { mimeType: "text/plain", data: base64(said) } }],
      },
    }),
    turn({ functionCall: { name: "f", args: { the_secret: 1 } } }),
    turn({ inlineData: { mimeType: "text/csv", data: base64(said.repeat(9)) } }),
    turn({ inline_data: { mime_type: "text/plain", data: base64(said) } }),
  ],
  "/v1/decisions": [{ state: "s", questions: { open: { type: "noul", instructions: said } } }],
  "/v1/moderations": [{ input: said }, { input: [{ type: "text", text: said }] }],
  "/v1/rerank": [
    { query: "q", documents: [said] },
    { query: said, documents: ["a"] },
  ],
  "/v1/search": [{ query: said }],
  "/v1/images/generations": [{ prompt: said }],
  "/v1/audio/speech": [
    { input: said, voice: "v" },
    { input: "a", voice: "v", instructions: said },
  ],
};

for (const [path, bodies] of Object.entries(places)) {
  for (const body of bodies) {
    test(`a denying check sees ${path} ${JSON.stringify(body).slice(0, 120)}`, async () => {
      const { status, text } = await askGuarded(gateway, deny, { path, body });
      assert.equal(status, 446, text);
    });
  }
}

test("strings that are not the caller's text are not searched", async () => {
  const none = ["user", "function", "object", "echo-1", "call_1", "x.test", "iVBOR", "default"];
  const config = { retry: { attempts: 0 }, input_guardrails: [{ ...words("none", none), deny: true }] };
  const imageData = { type: "image_url", image_url: { url: `data:image/png;base64,${"iVBOR".repeat(300_000)}` } };
  const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const messages = [
    { role: "system", content: "a" },
    {
      role: "user",
      content: [{ type: "text", text: "b" }, imageData, { type: "image_url", image_url: { url: "https://x.test/a" } }],
    },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "c" },
  ];
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
  const { status, text } = await askGuarded(gateway, config, { body: { messages, tools, service_tier: "default" } });
  assert.equal(status, 200, text);
});

test("a denying check refuses a document it cannot read, unless it allows uninspected content", async () => {
  const body = block(source("application/pdf", base64("%PDF-1.7 ".repeat(20))));
  const request = { path: "/v1/messages", body };
  const refused = await askGuarded(gateway, deny, request);
  assert.equal(refused.status, 446);
  assert.match(refused.text, /holds a document that is not text/);
  const open = { ...deny, input_guardrails: [{ ...words("none", ["secret"]), deny: true, uninspected: "allow" }] };
  assert.equal((await askGuarded(gateway, open, request)).status, 200);
  const informing = { ...deny, input_guardrails: [words("none", ["secret"])] };
  assert.equal((await askGuarded(gateway, informing, request)).status, 200);
});

/** Requests that name a document stored elsewhere. */
const remote: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", { messages: [{ ...user, content: [{ type: "file", file: { file_id: "file-1" } }] }] }],
  ["/v1/responses", item({ role: "user", content: [{ type: "input_file", file_id: "file-1" }] })],
  ["/v1/responses", item({ role: "user", content: [{ type: "input_file", file_url: "https://x.test/a.pdf" }] })],
  ["/v1/messages", block({ type: "document", source: { type: "url", url: "https://x.test/a.pdf" } })],
  ["/v1/messages", block({ type: "document", source: { type: "file", file_id: "file_1" } })],
  [
    "/v1beta/models/echo-1:generateContent",
    turn({ fileData: { mimeType: "application/pdf", fileUri: "https://x.test/v1beta/files/a" } }),
  ],
  ["/v1beta/models/echo-1:generateContent", turn({ file_data: { file_uri: "https://x.test/v1beta/files/a" } })],
];
for (const [path, body] of remote) {
  test(`a denying check refuses a document that is not in the request: ${path} ${JSON.stringify(body)}`, async () => {
    const refused = await askGuarded(gateway, deny, { path, body });
    assert.equal(refused.status, 446, refused.text);
    assert.match(refused.text, /holds a document that is not text/);
  });
}

test("images and videos that are not in the request are not checked", async () => {
  for (const [path, body] of [
    ["/v1/responses", item({ role: "user", content: [{ type: "input_image", file_id: "file-1" }] })],
    ["/v1/messages", block({ type: "image", source: { type: "url", url: "https://x.test/a.png" } })],
    [
      "/v1beta/models/echo-1:generateContent",
      turn({ fileData: { mimeType: "image/png", fileUri: "https://x.test/v1beta/files/a" } }),
    ],
    [
      "/v1beta/models/echo-1:generateContent",
      turn({ fileData: { fileUri: "https://www.youtube.com/watch?v=9hE5-98ZeCg" } }),
    ],
  ] as const) {
    const { text } = await askGuarded(gateway, deny, { path, body });
    assert.doesNotMatch(text, /denied/, path);
  }
});

test("a denying check cannot read JSON that nests too deep inside a string", async () => {
  const given = `${"[".repeat(5_000)}"s\\u0065cret"${"]".repeat(5_000)}`;
  const call = { id: "c", type: "function", function: { name: "f", arguments: given } };
  const body = { messages: [user, { role: "assistant", tool_calls: [call] }] };
  assert.equal((await askGuarded(gateway, deny, { body })).status, 446);
});

test("a denying check refuses more text beside the messages than it can read", async () => {
  const { status, text } = await askGuarded(gateway, deny, { body: { documents: ["a".repeat(1_100_000)] } });
  assert.equal(status, 446);
  assert.match(text, /longer than 1048576 characters/);
});

test("required words and word counts are checked in the turns only", async () => {
  const tools = [{ type: "function", function: { name: "f", description: said } }];
  for (const check of [words("any", ["secret"]), words("all", ["secret"]), { "default.wordCount": { minWords: 3 } }]) {
    const config = { ...deny, input_guardrails: [{ ...check, deny: true }] };
    assert.equal((await askGuarded(gateway, config, { body: { tools } })).status, 446, JSON.stringify(check));
  }
});

test("a redaction reports what it cannot reach, and denies where it must deny", async () => {
  const tools = [{ type: "function", function: { name: "f", description: said } }];
  const redact = { "default.regexReplace": { rule: "/secret/g", redactText: "x" } };
  const informing = await askGuarded(gateway, { ...deny, input_guardrails: [redact] }, { body: { tools } });
  assert.equal(informing.status, 200);
  assert.match(JSON.stringify(informing.body.hook_results), /Cannot replace every match/);
  const denying = { ...deny, input_guardrails: [{ ...redact, deny: true }] };
  assert.equal((await askGuarded(gateway, denying, { body: { tools } })).status, 446);
});

test("a check of the last turn sees no other turn, and nothing beside them", async () => {
  const last = { ...deny, input_guardrails: [{ ...words("none", ["secret"], { scope: "last" }), deny: true }] };
  const messages = [{ role: "user", content: said }, user];
  assert.equal((await askGuarded(gateway, last, { body: { messages, stop: [said] } })).status, 200);
  assert.equal((await askGuarded(gateway, deny, { body: { messages } })).status, 446);
});
