import assert from "node:assert/strict";
import { test } from "node:test";
import type { Body, RequestType } from "../../src/guardrails/types.ts";
import { problemsOf, runCheck } from "../support/guardrails.ts";

const id = "default.requestParametersCheck";

/** Why a request was rejected: `name: reasons`. */
async function reasonsFor(parameters: Body, request: Body, requestType: RequestType = "chatComplete") {
  const { result } = await runCheck(id, parameters, { request, requestType });
  const { blockedToolsFound, blockedParamsFound } = (result?.data ?? {}) as Record<string, Record<string, unknown>[]>;
  const reasons = [...(blockedToolsFound ?? []), ...(blockedParamsFound ?? [])].map(
    ({ name, param, reasons }) => `${name ?? param}: ${reasons}`,
  );
  assert.equal(result?.error, null);
  assert.equal(result?.verdict, reasons.length === 0);
  return reasons;
}

const weather = { type: "function", function: { name: "get_weather", parameters: {} } };
const search = { type: "web_search" };
const flat = { type: "function", name: "delete_files" };

for (const [tools, wanted] of [
  [{}, []],
  [{ blockedTypes: ["web_search"] }, ["web_search: type_blocked"]],
  [{ allowedTypes: ["function"] }, ["web_search: type_not_allowed"]],
  [{ allowedTypes: ["function", "web_search"] }, []],
  [{ allowedTypes: [], blockedTypes: [] }, []],
  [{ blockedFunctionNames: ["delete_files"] }, ["delete_files: name_blocked"]],
  [{ allowedFunctionNames: ["get_weather"] }, ["web_search: name_not_allowed", "delete_files: name_not_allowed"]],
  [
    { blockedTypes: ["function"], blockedFunctionNames: ["get_weather"] },
    ["get_weather: type_blocked,name_blocked", "delete_files: type_blocked"],
  ],
] as const) {
  test(`requestParametersCheck of the tools ${JSON.stringify(tools)}`, async () => {
    assert.deepEqual(await reasonsFor({ tools }, { model: "m", tools: [weather, search, flat] }), wanted);
  });
}

for (const [name, request, wanted] of [
  ["functions of the older form", { functions: [{ name: "run" }] }, [{ type: "function", name: "run" }]],
  ["own functions of messages", { tools: [{ name: "run", input_schema: {} }] }, [{ type: "function", name: "run" }]],
  ["custom tools", { tools: [{ type: "custom", custom: { name: "run" } }] }, [{ type: "custom", name: "run" }]],
  ["tools without a name", { tools: [{ type: "mcp", server_label: "x" }] }, [{ type: "mcp", name: "mcp" }]],
  ["servers of tools", { mcp_servers: [{ type: "url", name: "docs" }] }, [{ type: "mcp", name: "docs" }]],
  [
    "tools of the Gemini API",
    { tools: [{ functionDeclarations: [{ name: "a" }, { name: "b" }] }, { googleSearch: {} }] },
    [
      { type: "function", name: "a" },
      { type: "function", name: "b" },
      { type: "googleSearch", name: "googleSearch" },
    ],
  ],
  [
    "tools of the Gemini API in no list",
    { tools: { functionDeclarations: { name: "a" } } },
    [{ type: "function", name: "a" }],
  ],
  [
    "tools of the Gemini API in its other spelling",
    { tools: [{ function_declarations: [{ name: "a" }], code_execution: {} }] },
    [
      { type: "code_execution", name: "code_execution" },
      { type: "function", name: "a" },
    ],
  ],
  [
    "tools of a namespace",
    { tools: [{ type: "namespace", name: "files", tools: [flat] }] },
    [
      { type: "namespace", name: "files" },
      { type: "function", name: "delete_files" },
    ],
  ],
  [
    "tools that items of the input add",
    {
      input: [
        { type: "additional_tools", role: "developer", tools: [{ type: "namespace", name: "files", tools: [flat] }] },
        { type: "tool_search_output", tools: [{ type: "mcp", server_label: "x" }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "hi", tools: [flat] }] },
      ],
    },
    [
      { type: "namespace", name: "files" },
      { type: "function", name: "delete_files" },
      { type: "mcp", name: "mcp" },
    ],
  ],
  [
    "tools that items of a conversation add",
    { items: [{ type: "additional_tools", tools: [flat] }] },
    [{ type: "function", name: "delete_files" }],
  ],
  [
    "tools of each request of a batch",
    {
      requests: [{ custom_id: "a", params: { model: "m", messages: [], tools: [{ name: "run", input_schema: {} }] } }],
    },
    [{ type: "function", name: "run" }],
  ],
  [
    "tools of each request of a batch of the Gemini API",
    { batch: { inputConfig: { requests: { requests: [{ request: { tools: [{ googleSearch: {} }] } }] } } } },
    [{ type: "googleSearch", name: "googleSearch" }],
  ],
  [
    "tools of the Converse API",
    { messages: [], toolConfig: { tools: [{ toolSpec: { name: "run" } }], toolChoice: { tool: { name: "run" } } } },
    [{ type: "function", name: "run" }],
  ],
  [
    "tools of a session",
    { session: { type: "realtime", tools: [flat] } },
    [{ type: "function", name: "delete_files" }],
  ],
  [
    "tools for files of messages",
    { thread: { messages: [{ role: "user", attachments: [{ file_id: "f", tools: [{ type: "file_search" }] }] }] } },
    [{ type: "file_search", name: "file_search" }],
  ],
  [
    "no tools in schemas, choices and input",
    {
      messages: [{ role: "user", content: [{ type: "text", text: "hi", tools: [flat] }] }],
      metadata: { tools: "x" },
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [flat] },
      response_format: { type: "json_schema", json_schema: { schema: { properties: { tools: { type: "array" } } } } },
      generationConfig: { responseSchema: { properties: { tools: { type: "array" } } } },
      tools: [{ type: "function", function: { name: "a", parameters: { properties: { tools: { type: "array" } } } } }],
    },
    [{ type: "function", name: "a" }],
  ],
  ["no list of tools", { tools: "all", functions: null, mcp_servers: [7] }, []],
] as const) {
  test(`requestParametersCheck sees ${name}`, async () => {
    const { result } = await runCheck(id, {}, { request });
    assert.deepEqual(result?.data?.toolsInRequest, wanted);
  });
}

for (const type of ["web_search_20250305", "web_search_2025_08_26", "web_search"]) {
  test(`requestParametersCheck takes ${type} for web_search`, async () => {
    const request = { tools: [{ type, name: "look" }] };
    assert.deepEqual(await reasonsFor({ tools: { blockedTypes: ["web_search"] } }, request), ["look: type_blocked"]);
    assert.deepEqual(await reasonsFor({ tools: { allowedTypes: ["web_search"] } }, request), []);
    assert.deepEqual(await reasonsFor({ tools: { blockedTypes: ["web_search_preview"] } }, request), []);
  });
}

const request = { model: "gpt-5", stream: true, temperature: 1, stop: ["a", "b"], user: null };
for (const [params, wanted] of [
  [{}, []],
  [{ blockedKeys: ["temperature", "top_p"] }, ["temperature: key_blocked"]],
  [{ allowedKeys: ["model", "stream", "stop", "user"] }, ["temperature: key_not_allowed"]],
  [{ allowedKeys: [] }, []],
  [{ values: { model: { blockedValues: ["gpt-5"] } } }, ["model: value_blocked"]],
  [{ values: { model: { allowedValues: ["gpt-4", "gpt-5"] } } }, []],
  [{ values: { model: { allowedValues: ["gpt-4"] } } }, ["model: value_not_allowed"]],
  [{ values: { stream: { blockedValues: [true] } } }, ["stream: value_blocked"]],
  [{ values: { stream: { blockedValues: ["true"] } } }, []],
  [{ values: { temperature: { allowedValues: [0, 1] } } }, []],
  [{ values: { user: { allowedValues: [null] } } }, []],
  [{ values: { top_p: { allowedValues: [1] } } }, []],
  [{ values: { stop: { blockedValues: ["b"] } } }, ["stop: value_blocked"]],
  [{ values: { stop: { allowedValues: ["a"] } } }, ["stop: value_not_allowed"]],
  [{ blockedKeys: ["model"], values: { model: { blockedValues: ["gpt-5"] } } }, ["model: key_blocked,value_blocked"]],
] as const) {
  test(`requestParametersCheck of the parameters ${JSON.stringify(params)}`, async () => {
    assert.deepEqual(await reasonsFor({ params }, request), wanted);
  });
}

test("requestParametersCheck reports what it found, with shortened values", async () => {
  const parameters = {
    params: { blockedKeys: ["messages", "user"], allowedKeys: ["tools"] },
    tools: { blockedTypes: ["mcp"] },
  };
  const messages = [{ role: "user", content: "x".repeat(500) }];
  const seen = { request: { messages, user: "u".repeat(500), tools: [{ type: "mcp" }] } };
  const { result } = await runCheck(id, parameters, seen);
  const { explanation, config, ...found } = result?.data ?? {};
  assert.deepEqual(found, {
    toolsInRequest: [{ type: "mcp", name: "mcp" }],
    blockedToolsFound: [{ type: "mcp", name: "mcp", reasons: ["type_blocked"] }],
    blockedParamsFound: [
      { param: "messages", value: JSON.stringify(messages).slice(0, 100), reasons: ["key_blocked", "key_not_allowed"] },
      { param: "user", value: "u".repeat(100), reasons: ["key_blocked", "key_not_allowed"] },
    ],
  });
  assert.match(String(explanation), /^1 of 1 tools and 2 of 3 parameters /);
  assert.deepEqual((config as typeof parameters).tools.blockedTypes, ["mcp"]);
});

const both = (name: string) => ({ [`blocked${name}`]: ["x", "y"], [`allowed${name}`]: ["y"] });
for (const [parameters, wanted] of [
  [{ tools: both("Types") }, "tools: must not have the same entry in blockedTypes and allowedTypes"],
  [{ tools: both("FunctionNames") }, "tools: must not have the same entry in blockedFunctionNames and"],
  [{ params: both("Keys") }, "params: must not have the same entry in blockedKeys and allowedKeys"],
  [{ params: { values: { model: both("Values") } } }, "params.values.model: must not have the same entry"],
  [{ params: { values: { model: { blockedValues: [{}] } } } }, "params.values.model.blockedValues.0: must be a string"],
  [{ tools: { blockedTypes: "mcp" } }, "tools.blockedTypes: "],
  [{ params: [] }, "params: must be an object"],
  [{ tools: [] }, "tools: must be an object"],
  [{ params: { values: [] } }, "params.values: must be an object"],
] as const) {
  test(`requestParametersCheck rejects the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.equal(problems.length, 1);
    assert.equal(problems[0]?.startsWith(`input_guardrails[0].checks[0].parameters.${wanted}`), true, problems[0]);
  });
}
