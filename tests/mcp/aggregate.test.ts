import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { serveFetch } from "./conformance.ts";
import { createFixture } from "./fixture.ts";
import { legacyHeaders, modernMeta, postLegacy, rpc } from "./support.ts";

// Servers that join others, and tools that stand for others.

let gateway: TestGateway;
const upstreams: Record<string, RecordingUpstream> = {};
const key = workspaceKey;
let workspaceId: string;

const toolsOf: Record<string, string[]> = {
  crm: ["search", "export_all", "a.tool/with odd signs"],
  wiki: ["search", `long_${"x".repeat(90)}`],
};

/** The servers have user interfaces. */
let uiTools = false;
const uiMeta = { ui: { resourceUri: "ui://view/a.html" }, "ui/resourceUri": "ui://view/a.html" };

/** What an upstream answers: it repeats what it was asked. */
function answerOf(name: string, { method, params }: { method: string; params: Record<string, unknown> }): object {
  const inputSchema = { type: "object" };
  if (method === "initialize") {
    const serverInfo = { name, version: "1" };
    const capabilities = { tools: {}, prompts: {}, resources: {} };
    return { protocolVersion: "2025-11-25", capabilities, serverInfo, instructions: `Use ${name}` };
  }
  if (method === "tools/list") {
    const _meta = uiTools ? uiMeta : { ui: { resourceUri: "ui://view" } };
    return {
      tools: toolsOf[name]?.map((tool) => ({ name: tool, description: `${tool} in ${name}`, inputSchema, _meta })),
    };
  }
  if (method === "prompts/list") return { prompts: [{ name: "hello" }] };
  if (method === "resources/list" && uiTools) {
    return { resources: [{ uri: "ui://view/a.html", name: "view", _meta: uiMeta }] };
  }
  if (method === "resources/read" && uiTools) {
    return { contents: [{ uri: params.uri, text: `${name} ${params.uri}`, _meta: uiMeta }] };
  }
  if (method === "resources/list") return { resources: [{ uri: `file:///${name}.txt`, name: "file" }] };
  if (method === "resources/templates/list") return { resourceTemplates: [] };
  if (method === "resources/read") return { contents: [{ uri: params.uri, text: name }] };
  const text = JSON.stringify({ upstream: name, method, params });
  return {
    content: [
      { type: "text", text },
      { type: "resource_link", uri: "file:///linked", name: "l" },
      ...(uiTools
        ? [
            { type: "resource", resource: { uri: "ui://view/a.html", text: "<p>", _meta: uiMeta } },
            { type: "resource_link", uri: "ui://other", name: "o" },
          ]
        : []),
    ],
    ...(uiTools && { _meta: uiMeta }),
  };
}

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  for (const name of ["crm", "wiki"]) {
    const upstream = await startRecordingUpstream((request, response) => {
      const message = JSON.parse(request.text || "{}");
      const isUnknown = message.method === "server/discover";
      const error = { code: -32000, message: "no" };
      const outcome = isUnknown ? { error } : { result: answerOf(name, message) };
      response.writeHead(isUnknown ? 400 : message.id === undefined ? 202 : 200, {
        "content-type": "application/json",
      });
      response.end(message.id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id: message.id, ...outcome }));
    });
    upstreams[name] = upstream;
    const integration = { name, slug: `${name}-up`, url: `${upstream.url}/mcp`, auth_type: "none", transport: "http" };
    await done(call(gateway, "POST /mcp-integrations", { key, body: integration }));
    await done(
      call(gateway, "POST /mcp-servers", { key, body: { name, slug: name, mcp_integration_id: `${name}-up` } }),
    );
  }
  const shown = await done<{ workspace_id: string }>(call(gateway, "GET /mcp-servers/crm", { key }));
  workspaceId = shown.workspace_id;
});
after(async () => {
  await gateway.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

const members = [
  { mcp_server_id: "crm", prefix: "crm" },
  { mcp_server_id: "wiki", prefix: "wiki" },
];
let count = 0;
async function join(aggregate: object = {}, more: object = {}): Promise<string> {
  const slug = `joined-${++count}`;
  const body = { name: "Joined", slug, aggregate: { members, ...aggregate }, ...more };
  await done(call(gateway, "POST /mcp-servers", { key, body }));
  return slug;
}

async function ask(slug: string, method: string, params: object = {}, headers: Record<string, string> = {}) {
  const response = await postLegacy(gateway, rpc(method, params), headers, `/m/${slug}/mcp`);
  return JSON.parse(await response.text());
}
const names = async (slug: string, headers = {}): Promise<string[]> =>
  (await ask(slug, "tools/list", {}, headers)).result.tools.map(({ name }: { name: string }) => name);
/** What the upstream of a call was asked. */
const echoed = ({ result }: { result: { content: { text: string }[] } }) => JSON.parse(result.content[0]?.text ?? "{}");

test("a joined server lists the tools of its members under their prefixes, as names that every model accepts", async () => {
  const slug = await join();
  const listed = await names(slug);
  assert.deepEqual(
    listed.slice(0, 3).map((name) => name.replace(/_[0-9a-f]{6}$/, "_#")),
    ["crm__a_tool_with_odd_signs_#", "crm__export_all", "crm__search"],
  );
  assert.equal(listed.length, 5);
  assert.ok(listed.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)));
  for (const name of listed) {
    const { upstream, params } = echoed(await ask(slug, "tools/call", { name, arguments: { a: 1 } }));
    assert.equal(upstream, name.slice(0, name.indexOf("__")));
    assert.ok(toolsOf[upstream]?.includes(params.name));
    assert.deepEqual(params.arguments, { a: 1 });
  }
  const { error } = await ask(slug, "tools/call", { name: "crm__nothing", arguments: {} });
  assert.equal(error.code, -32602);
});

test("clients of both eras find out what a joined server is", async () => {
  const slug = await join();
  const { result } = await ask(slug, "initialize", { protocolVersion: "2025-06-18", capabilities: {} });
  assert.equal(result.protocolVersion, "2025-06-18");
  assert.deepEqual(
    [result.serverInfo.name, Object.keys(result.capabilities)],
    [slug, ["tools", "prompts", "resources", "completions"]],
  );
  assert.equal(result.instructions, "crm: Use crm\n\nwiki: Use wiki");
  const body = rpc("server/discover", { _meta: modernMeta });
  const headers = { ...legacyHeaders, "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" };
  const response = await gateway.fetch(`/m/${slug}/mcp`, { method: "POST", headers, body });
  const discovered = JSON.parse(await response.text()).result;
  assert.deepEqual([discovered.supportedVersions, discovered.resultType], [["2026-07-28"], "complete"]);
  assert.deepEqual((await ask(slug, "ping")).result, {});
  assert.equal((await ask(slug, "resources/subscribe", { uri: "x" })).error.code, -32601);
});

test("resources and prompts reach the member they come from, and their addresses come back", async () => {
  const slug = await join();
  const { result } = await ask(slug, "resources/list");
  const uris = result.resources.map(({ uri }: { uri: string }) => uri);
  assert.deepEqual(uris, ["gw+crm+file:///crm.txt", "gw+wiki+file:///wiki.txt"]);
  const read = await ask(slug, "resources/read", { uri: uris[1] });
  assert.deepEqual(read.result.contents, [{ uri: uris[1], text: "wiki" }]);
  const foreign = await ask(slug, "resources/read", { uri: "gw+other+file:///x" });
  assert.equal(foreign.error.code, -32602);
  const prompts = (await ask(slug, "prompts/list")).result.prompts.map(({ name }: { name: string }) => name);
  assert.deepEqual(prompts, ["crm__hello", "wiki__hello"]);
  const { content } = (await ask(slug, "prompts/get", { name: "wiki__hello" })).result;
  assert.match(content[0].text, /"upstream":"wiki".*"name":"hello"/);
  assert.equal(content[1].uri, "gw+wiki+file:///linked");
  const tools = (await ask(slug, "tools/list")).result.tools;
  assert.equal(tools[0]._meta.ui.resourceUri, "ui://crm/view");
});

for (const era of ["older", "newest"]) {
  test(`user interfaces of members keep the scheme ui in lists and results, and are read by these addresses (${era})`, async () => {
    uiTools = true;
    await done(call(gateway, "POST /mcp-integrations/wiki-up/sync", { key }));
    const slug = await join();
    const use = (method: string, params: Record<string, string> = {}) => {
      if (era === "older") return ask(slug, method, params);
      const name = params.name ?? params.uri;
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name && { "mcp-name": name }) };
      return ask(slug, method, { ...params, _meta: modernMeta }, headers);
    };
    const meta = { ui: { resourceUri: "ui://wiki/view/a.html" }, "ui/resourceUri": "ui://wiki/view/a.html" };
    const tool = (await use("tools/list")).result.tools.find(({ name }: { name: string }) => name === "wiki__search");
    assert.deepEqual(tool._meta, meta);
    const { resources } = (await use("resources/list")).result;
    const view = resources.find(({ uri }: { uri: string }) => uri === "ui://wiki/view/a.html");
    assert.deepEqual(view?._meta, meta);
    const read = (await use("resources/read", { uri: "ui://wiki/view/a.html" })).result.contents;
    assert.deepEqual(read, [{ uri: "ui://wiki/view/a.html", text: "wiki ui://view/a.html", _meta: meta }]);
    const { content, _meta } = (await use("tools/call", { name: "wiki__search" })).result;
    assert.deepEqual(_meta, meta);
    assert.deepEqual(content[2], {
      type: "resource",
      resource: { uri: "ui://wiki/view/a.html", text: "<p>", _meta: meta },
    });
    assert.equal(content[3].uri, "ui://wiki/other");
    for (const uri of ["gw+wiki+ui://view/a.html", "gw+wiki+UI://view/a.html", "ui://other/view", "ui://view"]) {
      assert.equal((await use("resources/read", { uri })).error.code, -32602, uri);
    }
    const off = { capabilities: [{ type: "resource", name: "ui://wiki/view/a.html", enabled: false }] };
    await done(call(gateway, `PUT /mcp-servers/${slug}/capabilities`, { key, body: off }));
    assert.equal((await use("resources/read", { uri: "UI://wiki/view/a.html" })).error.code, -32602);
    uiTools = false;
    await done(call(gateway, "POST /mcp-integrations/wiki-up/sync", { key }));
  });
}

test("prefix modes: conditional prefixes names that clash, never leaves them out and refuses them at once", async () => {
  const conditional = await names(await join({ prefix_mode: "conditional" }));
  assert.ok(
    conditional.includes("export_all") && conditional.includes("crm__search") && conditional.includes("wiki__search"),
  );
  const body = { name: "J", slug: "clashing", aggregate: { members, prefix_mode: "never" } };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body })), "400 AB01");
  const narrowed = members.map((member) => ({
    ...member,
    exclude: member.prefix === "wiki" ? ["search", "hello"] : [],
  }));
  const plain = await names(await join({ members: narrowed, prefix_mode: "never" }));
  assert.ok(plain.includes("search") && plain.includes("export_all"));
});

test("what a member or the joined server switched off is neither listed nor called", async () => {
  const slug = await join();
  const off = (name: string) => ({ capabilities: [{ type: "tool", name, enabled: false }] });
  await done(call(gateway, "PUT /mcp-servers/wiki/capabilities", { key, body: off("search") }));
  await done(call(gateway, `PUT /mcp-servers/${slug}/capabilities`, { key, body: off("crm__search") }));
  const listed = await names(slug);
  for (const name of ["wiki__search", "crm__search"]) {
    assert.ok(!listed.includes(name));
    assert.equal((await ask(slug, "tools/call", { name, arguments: {} })).error.code, -32602);
  }
  const on = { capabilities: [{ type: "tool", name: "search", enabled: true }] };
  await done(call(gateway, "PUT /mcp-servers/wiki/capabilities", { key, body: on }));
});

test("a user sees only members that are open to them", async () => {
  const slug = await join();
  const workspaces = [{ id: workspaceId, role: "member" }];
  const person = await addPerson(gateway, "ann@example.com", { workspaces, scopes: ["mcp.invoke"] });
  const headers = { "x-gateway-api-key": person.key };
  const access = (enabled: boolean | null) => ({ user_access: [{ user_id: person.id, enabled }] });
  await done(call(gateway, "PUT /mcp-servers/crm/user-access", { key, body: access(false) }));
  assert.ok((await names(slug, headers)).every((name) => name.startsWith("wiki__")));
  const refused = await ask(slug, "tools/call", { name: "crm__search", arguments: {} }, headers);
  assert.equal(refused.error.code, -32602);
  await done(call(gateway, "PUT /mcp-servers/crm/user-access", { key, body: access(null) }));
  assert.ok((await names(slug, headers)).includes("crm__search"));
});

test("members are servers of the workspace with an integration, each once", async () => {
  const slug = await join();
  for (const [list, wanted] of [
    [[{ mcp_server_id: "nobody", prefix: "a" }], "404 AB02"],
    [[{ mcp_server_id: slug, prefix: "a" }], "400 AB01"],
    [
      [
        { mcp_server_id: "crm", prefix: "a" },
        { mcp_server_id: "crm", prefix: "b" },
      ],
      "400 AB01",
    ],
    [[{ mcp_server_id: "crm", prefix: "A_" }], "400 AB01"],
    [[], "400 AB01"],
  ] as const) {
    const body = { name: "J", slug: "refused", aggregate: { members: list } };
    assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body })), wanted, JSON.stringify(list));
  }
  const both = { name: "J", aggregate: { members }, mcp_integration_id: "crm-up" };
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body: both })), "400 AB01");
  assert.equal(await refusal(call(gateway, "POST /mcp-servers", { key, body: { name: "J" } })), "400 AB01");
  const one = { aggregate: { members: members.slice(0, 1) } };
  assert.equal(await refusal(call(gateway, "PUT /mcp-servers/crm", { key, body: one })), "400 AB01");
  await done(call(gateway, `PUT /mcp-servers/${slug}`, { key, body: one }));
  assert.ok((await names(slug)).every((name) => name.startsWith("crm__")));
});

test("guardrails of a joined server run on calls of its members, also those for some of their capabilities", async () => {
  const slug = await join();
  const checks = [{ id: "default.contains", parameters: { words: ["secret"], operator: "none" } }];
  const body = { name: "joined", checks, actions: { deny: true }, target: "mcp_tools" };
  const { id } = await done(call<{ id: string }>(gateway, "POST /guardrails", { key, body }));
  const listed = await done<{ data: { id: string; name: string }[] }>(
    call(gateway, "GET /mcp-integrations/wiki-up/capabilities?type=tool", { key }),
  );
  const capabilityId = listed.data.find(({ name }) => name === "search")?.id;
  const map = (ids: unknown[]) =>
    call(gateway, `PUT /guardrails/${id}/mcp-servers/${slug}`, {
      key,
      body: { run_on: ["input"], mcp_integration_capability_ids: ids },
    });
  const codeOf = async (name: string, server = slug) => {
    const given = server === slug ? name : name.slice(name.indexOf("__") + 2);
    const { error } = await ask(server, "tools/call", { name: given, arguments: { a: "secret" } });
    return error?.code;
  };
  await done(map([]));
  assert.deepEqual([await codeOf("crm__export_all"), await codeOf("wiki__search")], [446, 446]);
  // the members themselves have no such guardrail
  assert.deepEqual(
    [await codeOf("crm__export_all", "crm"), await codeOf("wiki__search", "wiki")],
    [undefined, undefined],
  );
  assert.equal(typeof capabilityId, "string");
  await done(map([capabilityId]));
  assert.deepEqual([await codeOf("crm__export_all"), await codeOf("wiki__search")], [undefined, 446]);
  assert.match(await refusal(map(["00000000-0000-4000-8000-000000000000"])), /^404 /);
});

test("rate limits that name a joined server or its tools count calls through it, and no others", async () => {
  const slug = await join();
  const limit = async (conditions: object[]) => {
    const body = {
      conditions,
      group_by: [{ key: "api_key" }],
      type: "requests",
      unit: "rpd",
      value: 1,
      target: "mcp_tools",
    };
    const made = await done(call<{ id: string }>(gateway, "POST /policies/rate-limits", { key, body }));
    return () => done(call(gateway, `DELETE /policies/rate-limits/${made.id}`, { key }));
  };
  const statusOf = async (name: string, server: string) => {
    const params = { name, arguments: {} };
    return (await postLegacy(gateway, rpc("tools/call", params), {}, `/m/${server}/mcp`)).status;
  };
  const remove = await limit([{ key: "mcp_server", value: slug }]);
  assert.equal(await statusOf("export_all", "crm"), 200);
  assert.deepEqual([await statusOf("crm__export_all", slug), await statusOf("wiki__search", slug)], [200, 429]);
  assert.equal(await statusOf("export_all", "crm"), 200);
  await remove();
  const removeTool = await limit([{ key: "mcp_tool", value: "wiki__*" }]);
  assert.deepEqual([await statusOf("wiki__search", slug), await statusOf("wiki__search", slug)], [200, 429]);
  assert.equal(await statusOf("crm__export_all", slug), 200);
  await removeTool();
});

test("long lists have pages, whose cursors are sealed for their caller", async () => {
  const many = Array.from({ length: 700 }, (_, index) => `tool-${String(index).padStart(3, "0")}`);
  toolsOf.crm = many;
  await done(call(gateway, "POST /mcp-integrations/crm-up/sync", { key }));
  const slug = await join({ members: members.slice(0, 1) });
  const { result } = await ask(slug, "tools/list");
  assert.equal(result.tools.length, 500);
  const next = await ask(slug, "tools/list", { cursor: result.nextCursor });
  assert.deepEqual([next.result.tools.length, next.result.nextCursor], [200, undefined]);
  const made = { name: "k", scopes: ["mcp.invoke"] };
  const other = await done<{ key: string }>(call(gateway, "POST /api-keys/workspace/service", { key, body: made }));
  const headers = { "x-gateway-api-key": other.key };
  assert.equal((await ask(slug, "tools/list", { cursor: result.nextCursor }, headers)).error.code, -32602);
  assert.equal((await ask(slug, "tools/list", { cursor: "NTAw" })).error.code, -32602);
});

for (const kind of ["one server", "a joined server"] as const) {
  test(`tool search: two tools stand for those of ${kind}`, async () => {
    const slug = kind === "one server" ? "wiki" : await join();
    const headers = { "x-gateway-tool-mode": "search" };
    assert.deepEqual(await names(slug, headers), ["find_tools", "call_tool"]);
    const use = (name: string, given: object) => ask(slug, "tools/call", { name, arguments: given }, headers);
    const { structuredContent } = (await use("find_tools", { query: "search the WIKI", limit: 1 })).result;
    const [found] = structuredContent.tools;
    assert.equal(found.name, kind === "one server" ? "search" : "wiki__search");
    assert.deepEqual(found.inputSchema, { type: "object" });
    const called = echoed(await use("call_tool", { name: found.name, arguments: { q: 1 } }));
    assert.deepEqual([called.upstream, called.params.name, called.params.arguments], ["wiki", "search", { q: 1 }]);
    assert.equal((await use("search", {})).error.code, -32602);
    assert.equal((await use("find_tools", { query: 7 })).error.code, -32602);
    assert.equal((await use("call_tool", { arguments: {} })).error.code, -32602);
  });
}

test("members of all revisions answer clients of all revisions, without a session of their client", async () => {
  const fixtures = [await serveFetch(createFixture("legacy")), await serveFetch(createFixture("modern"))];
  const joined: object[] = [];
  for (const [index, { port }] of fixtures.entries()) {
    const url = `http://127.0.0.1:${port}/mcp`;
    const slug = `fixture-${index}`;
    const upstream = { name: slug, slug, url, auth_type: "none", transport: "http" };
    await done(call(gateway, "POST /mcp-integrations", { key, body: upstream }));
    await done(call(gateway, "POST /mcp-servers", { key, body: { name: slug, slug, mcp_integration_id: slug } }));
    joined.push({ mcp_server_id: slug, prefix: `f${index}` });
  }
  const slug = await join({ members: joined });
  for (const prefix of ["f0", "f1"]) {
    const params = { name: `${prefix}__test_simple_text`, arguments: {} };
    const said = [{ type: "text", text: "This is a simple text response for testing." }];
    for (let round = 0; round < 2; round++) {
      const response = await postLegacy(gateway, rpc("tools/call", params), {}, `/m/${slug}/mcp`);
      const text = await response.text();
      const answer = JSON.parse(/^data: (.*"result".*)$/m.exec(text)?.[1] ?? text);
      assert.deepEqual([answer.id, answer.result?.content, answer.result?.resultType], [1, said, undefined], text);
    }
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": params.name };
    const body = rpc("tools/call", { ...params, _meta: modernMeta });
    const init = { method: "POST", headers: { ...legacyHeaders, ...headers }, body };
    const text = await (await gateway.fetch(`/m/${slug}/mcp`, init)).text();
    const { result } = JSON.parse(/^data: (.*"result".*)$/m.exec(text)?.[1] ?? text);
    assert.deepEqual([result.content, result.resultType], [said, "complete"]);
  }
  for (const fixture of fixtures) await fixture.close();
});

test("a tool that is switched off is not found by a search, nor called through it", async () => {
  const off = (enabled: boolean) => ({ capabilities: [{ type: "tool", name: "search", enabled }] });
  await done(call(gateway, "PUT /mcp-servers/wiki/capabilities", { key, body: off(false) }));
  await done(call(gateway, "PUT /mcp-servers/wiki", { key, body: { settings: { tool_mode: "search" } } }));
  const use = (name: string, given: object) => ask("wiki", "tools/call", { name, arguments: given });
  const { structuredContent } = (await use("find_tools", { query: "search" })).result;
  assert.ok(!structuredContent.tools.some(({ name }: { name: string }) => name === "search"));
  assert.equal((await use("call_tool", { name: "search", arguments: {} })).error.code, -32602);
  await done(call(gateway, "PUT /mcp-servers/wiki", { key, body: { settings: { tool_mode: "all" } } }));
  await done(call(gateway, "PUT /mcp-servers/wiki/capabilities", { key, body: off(true) }));
});
