import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { postLegacy, rpc } from "./support.ts";

// Capabilities are switched and approved by the names that lists show.

let gateway: TestGateway;
let upstream: RecordingUpstream;
const key = workspaceKey;

const lists: Record<string, object> = {
  "tools/list": { tools: [{ name: "search", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "hello" }] },
  "resources/list": {
    resources: [
      { uri: "test://plans/2031", name: "pl\u200bans" },
      { uri: "test://a", name: "same" },
      { uri: "test://b", name: "same" },
      { uri: "same", name: "other" },
    ],
  },
  "resources/templates/list": { resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }] },
};

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startRecordingUpstream(({ text }, response) => {
    const { id, method, params } = JSON.parse(text || "{}");
    const about = {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: {},
    };
    const contents = { contents: [{ uri: params?.uri, text: "read" }] };
    const result = lists[method] ?? (method === "initialize" ? about : contents);
    const isUnknown = method === "server/discover";
    response.writeHead(isUnknown ? 400 : id === undefined ? 202 : 200, { "content-type": "application/json" });
    const outcome = isUnknown ? { error: { code: -32000, message: "no" } } : { result };
    response.end(id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  });
  const integration = { name: "s", slug: "s-up", url: `${upstream.url}/mcp`, auth_type: "none", transport: "http" };
  await done(call(gateway, "POST /mcp-integrations", { key, body: integration }));
  await done(call(gateway, "POST /mcp-servers", { key, body: { name: "s", slug: "srv", mcp_integration_id: "s-up" } }));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Shown {
  name: string;
  type: string;
  enabled: boolean;
  uri: string | null;
  uri_template: string | null;
}
const shown = async (place: string) =>
  (await done<{ data: Shown[] }>(call(gateway, `GET ${place}/capabilities`, { key }))).data;
const put = (place: string, ...capabilities: object[]) =>
  call(gateway, `PUT ${place}/capabilities`, { key, body: { capabilities } });

async function isRead(uri: string): Promise<boolean> {
  const response = await postLegacy(gateway, rpc("resources/read", { uri }), {}, "/m/srv/mcp");
  return JSON.parse(await response.text()).error === undefined;
}

for (const place of ["/mcp-integrations/s-up", "/mcp-servers/srv"]) {
  test(`whatever ${place} lists is switched by its name, its URI or its template`, async () => {
    const all = await shown(place);
    assert.equal(all.length, 7);
    for (const { type, name, uri, uri_template } of all) {
      for (const given of new Set([name, uri ?? name, uri_template ?? name])) {
        await done(put(place, { type, name: given, enabled: false }));
        const off = (await shown(place)).filter(({ enabled }) => !enabled);
        assert.ok(
          off.length > 0 &&
            off.every((one) => one.type === type && [one.name, one.uri, one.uri_template].includes(given)),
        );
        if (uri !== null) assert.equal(await isRead(uri), !off.some((one) => one.uri === uri));
        await done(put(place, { type, name: given, enabled: true }));
        assert.ok((await shown(place)).every(({ enabled }) => enabled));
      }
    }
  });

  test(`of resources at ${place} with one name all are switched, and a URI means itself`, async () => {
    const uris = async () => (await shown(place)).filter(({ enabled }) => !enabled).map(({ uri }) => uri);
    lists["resources/list"] = {
      resources: [
        { uri: "test://a", name: "same" },
        { uri: "test://b", name: "same" },
      ],
    };
    await done(call(gateway, "POST /mcp-integrations/s-up/sync", { key }));
    await done(put(place, { type: "resource", name: "same", enabled: false }));
    assert.deepEqual((await uris()).sort(), ["test://a", "test://b"]);
    await done(
      put(
        place,
        { type: "resource", name: "same", enabled: true },
        { type: "resource", name: "test://a", enabled: false },
      ),
    );
    assert.deepEqual(await uris(), ["test://a"]);
    await done(put(place, { type: "resource", name: "same", enabled: true }));
    lists["resources/list"] = {
      resources: [
        { uri: "test://plans/2031", name: "plans" },
        { uri: "test://a", name: "same" },
        { uri: "test://b", name: "same" },
        { uri: "same", name: "other" },
      ],
    };
    await done(call(gateway, "POST /mcp-integrations/s-up/sync", { key }));
  });

  test(`a name that ${place} does not list is refused, and nothing is switched`, async () => {
    for (const wrong of [
      { type: "tool", name: "no-such-thing" },
      { type: "prompt", name: "search" },
      { type: "resource", name: "test://template/{id}/data" },
    ]) {
      const body = [
        { type: "tool", name: "search", enabled: false },
        { ...wrong, enabled: false },
      ];
      assert.equal(await refusal(put(place, ...body)), "404 AB02");
    }
    assert.ok((await shown(place)).every(({ enabled }) => enabled));
  });
}

test("definitions are approved by the names that lists show", async () => {
  const approve = (name: string) => {
    const body = { capabilities: [{ type: "resource", name }] };
    return call(gateway, "POST /mcp-integrations/s-up/capabilities/approve", { key, body });
  };
  assert.equal((await done(approve("plans"))).success, true);
  assert.equal(await refusal(approve("nothing")), "404 AB02");
});
