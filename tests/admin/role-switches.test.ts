import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import type { KeyAccess } from "../../src/auth/access.ts";
import { defaultSecuritySettings } from "../../src/auth/roles.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { inferenceEndpoints } from "../../src/inference/routes/endpoints.ts";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  helloBody,
  type ShownLog,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";

let gateway: TestGateway;
let workspaceId: string;
let organisationId: string;
const userIds = new Map<string, Person>();
const scopes = scopesOfKind("workspace-user");

before(async () => {
  gateway = await createTestGateway();
  const { data } = await done<{ data: { id: string; slug: string; organisation_id: string }[] }>(
    call(gateway, "GET /admin/workspaces"),
  );
  workspaceId = data[0]?.slug ?? "";
  organisationId = data[0]?.organisation_id ?? "";
  for (const role of ["member", "manager"]) {
    userIds.set(
      role,
      await addPerson(gateway, `${role}@example.test`, { workspaces: [{ id: workspaceId, role }], scopes }),
    );
  }
  userIds.set(
    "admin",
    await addPerson(gateway, "admin@example.test", {
      role: "admin",
      workspaces: [{ id: workspaceId, role: "member" }],
      scopes,
    }),
  );
});
after(() => gateway.close());

/** Sets the switches of the organisation: those named are off, all others have their default. */
async function switchOff(...names: string[]): Promise<void> {
  const all = Object.keys(defaultSecuritySettings).map((name) => [name, !names.includes(name)]);
  const body = { security_settings: Object.fromEntries(all) };
  await done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
}

const keyOf = (role: string) => userIds.get(role)?.key ?? "";

/** Endpoints that need a key and can be reached by one of a workspace. */
const rows = [...adminEndpoints, ...inferenceEndpoints].flatMap((row) => {
  const { access } = row;
  if (typeof access === "string" || access.keys === "admin") return [];
  return [{ route: `${row.method} ${row.path.replace("/v1", "")}`, access: access as KeyAccess }]; // the others are words
});

/** Families of scopes by the switches that are named after their records. */
const families: Readonly<Record<string, readonly string[]>> = {
  Configs: ["configs"],
  Prompts: ["prompts"],
  Guardrails: ["guardrails"],
  VirtualKeys: ["providers", "virtual_keys"],
  ApiKeys: ["workspace_user_api_keys", "workspace_service_api_keys"],
  LogMetadata: ["logs"],
  Analytics: ["analytics"],
};
const viewing = ["read", "list", "view", "export", "render"];

/** Whether a switch closes a scope. */
function isClosed(scope: string, kind: "View" | "Write", group: string): boolean {
  const [family = "", verb = ""] = scope.split(".");
  if (!families[group]?.includes(family) || verb === "invoke") return false;
  return group === "LogMetadata" ? verb !== "write" : viewing.includes(verb) === (kind === "View");
}

/** Its response does not end. */
async function askTail(key: string): Promise<number> {
  const response = await gateway.fetch("/v1/logs/tail", { headers: { "x-gateway-api-key": key } });
  await response.body?.cancel();
  return response.status;
}

async function ask(route: string, key: string): Promise<number> {
  const [method = "", path = ""] = route.split(" ");
  const filled = path.replace(/:\w+\+?/g, "00000000-0000-4000-8000-000000000000");
  const body = ["POST", "PUT"].includes(method) ? {} : undefined;
  if (path === "/logs/tail") return askTail(key);
  return (await call(gateway, `${method} ${filled}`, { key, ...(body && { body }) })).status;
}

for (const role of ["member", "manager"]) {
  for (const [kind, group] of [
    ["View", "Configs"],
    ["View", "Prompts"],
    ["View", "Guardrails"],
    ["View", "VirtualKeys"],
    ["View", "LogMetadata"],
    ["View", "Analytics"],
    ["Write", "Configs"],
    ["Write", "Prompts"],
    ["Write", "Guardrails"],
    ["Write", "VirtualKeys"],
  ] as const) {
    test(`${role}s${kind}${group} off closes every endpoint that only its scopes open`, async () => {
      const bound = rows.filter(({ access }) => {
        const held = access.scopes.filter((scope) => scopes.includes(scope));
        return held.length > 0 && held.every((scope) => isClosed(scope, kind, group));
      });
      assert.ok(bound.length > 0);
      await switchOff();
      for (const { route } of bound) assert.notEqual(await ask(route, keyOf(role)), 403, `on: ${route}`);
      await switchOff(`${role}s${kind}${group}`);
      for (const { route } of bound) assert.equal(await ask(route, keyOf(role)), 403, `off: ${route}`);
    });
  }
}

/** Sends a chat and returns its row. */
async function leaveRow(key: string, trace: string): Promise<string> {
  const headers = { "x-gateway-api-key": key, "x-gateway-trace-id": trace };
  await (await chat(gateway, helloBody, headers)).text();
  const [row] = await waitForLogs(gateway, `trace_id=${trace}`);
  return row?.id ?? "";
}

const listed = async (key: string, query = "") =>
  (await done<{ data: ShownLog[] }>(call(gateway, `GET /logs${query}`, { key }))).data;

test("a member without membersViewAllData finds no rows of others, in lists, by filter or by id", async () => {
  await switchOff();
  const own = await leaveRow(keyOf("member"), "own-row");
  const other = await leaveRow(keyOf("manager"), "row-of-another");
  assert.ok((await listed(keyOf("member"))).some(({ id }) => id === other));
  await switchOff("membersViewAllData");
  const seen = await listed(keyOf("member"));
  assert.ok(seen.some(({ id }) => id === own));
  assert.deepEqual([...new Set(seen.map(({ api_key_id }) => api_key_id))], [userIds.get("member")?.keyId]);
  for (const query of ["?trace_id=row-of-another", `?api_key_id=${userIds.get("manager")?.keyId}`]) {
    assert.deepEqual(await listed(keyOf("member"), query), [], query);
  }
  assert.equal((await call(gateway, `GET /logs/${other}`, { key: keyOf("member") })).status, 404);
  assert.equal((await call(gateway, `GET /logs/${own}`, { key: keyOf("member") })).status, 200);
  assert.equal((await call(gateway, `GET /logs/${other}`, { key: keyOf("manager") })).status, 200);
});

test("contents of the log are hidden from roles that may see only metadata", async () => {
  await switchOff();
  const id = await leaveRow(keyOf("manager"), "with-contents");
  for (const [role, name] of [
    ["member", "membersViewLogs"],
    ["manager", "managersViewLogs"],
    ["admin", "organisationAdminsViewLogs"],
  ] as const) {
    await switchOff();
    const whole = await done<ShownLog>(call(gateway, `GET /logs/${id}`, { key: keyOf(role) }));
    assert.deepEqual(whole.request.body, helloBody, role);
    await switchOff(name);
    const figures = await done<ShownLog>(call(gateway, `GET /logs/${id}`, { key: keyOf(role) }));
    const shown = [figures.request, figures.response].map(({ headers, body, truncated }) => [headers, body, truncated]);
    assert.deepEqual(shown, Array(2).fill([{}, null, false]));
    assert.equal(figures.status, 200);
    await switchOff(name.replace("Logs", "LogMetadata"));
    assert.equal((await call(gateway, "GET /logs", { key: keyOf(role) })).status, 403, role);
    assert.equal((await call(gateway, `GET /logs/${id}`, { key: keyOf(role) })).status, 403, role);
  }
});

test("saved configs and prompts a role may not see are not shown by explaining or rendering them", async () => {
  await switchOff();
  const config = { provider: "echo", override_params: { user: "hidden" } };
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { body: { name: "Hidden", config, workspace_id: workspaceId } }),
  );
  const body = { config: slug, request: { path: "/v1/chat/completions", body: helloBody } };
  assert.equal((await call(gateway, "POST /configs/explain", { key: keyOf("member"), body })).status, 200);
  await switchOff("membersViewConfigs");
  assert.equal((await call(gateway, "POST /configs/explain", { key: keyOf("member"), body })).status, 403);
  const inline = { ...body, config: { provider: "echo" } };
  assert.equal((await call(gateway, "POST /configs/explain", { key: keyOf("member"), body: inline })).status, 200);
  const used = await chat(gateway, helloBody, { "x-gateway-api-key": keyOf("member"), "x-gateway-config": slug });
  assert.equal(used.status, 200, "using a config shows nothing of it");
});

test("a prompt a role may not see is sent only to the prompt's own provider", async () => {
  await switchOff();
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /collections", { key: workspaceKey }));
  const prompt = {
    name: "Hidden",
    collection_id: data[0]?.id ?? "",
    string: '[{"role":"user","content":"hidden words"}]',
    parameters: {},
    virtual_key: "",
    model: "m",
  };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /prompts", { key: workspaceKey, body: prompt }));
  const complete = (headers: Record<string, string>, model?: string) =>
    call(gateway, `POST /prompts/${slug}/completions`, {
      key: keyOf("member"),
      headers,
      body: { variables: {}, ...(model !== undefined && { model }) },
    });
  const config = { name: "Elsewhere", config: { provider: "echo", override_params: { model: "echo-1" } } };
  const { slug: elsewhere } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key: workspaceKey, body: config }),
  );
  const alias = { name: "elsewhere", target: { config: elsewhere } };
  await done(call(gateway, "POST /model-aliases", { key: workspaceKey, body: alias }));
  const echo = { "x-gateway-provider": "echo" };
  assert.match(JSON.stringify((await complete({}, "elsewhere")).body), /hidden words/);
  assert.match(JSON.stringify((await complete(echo)).body), /hidden words/);
  await switchOff("membersViewPrompts");
  for (const headers of [
    echo,
    { "x-gateway-config": '{"provider":"echo"}' },
    { "x-gateway-custom-host": "http://127.0.0.1:8123" },
    { "x-gateway-virtual-key": "any" },
  ]) {
    assert.equal((await complete(headers)).status, 403, JSON.stringify(headers));
  }
  for (const model of ["@any/m", "elsewhere", elsewhere]) assert.equal((await complete({}, model)).status, 403, model);
  assert.equal((await complete({})).status, 400, "the prompt names no provider");
});

test("users who left the workspace cannot reach any endpoint with a key", async () => {
  await switchOff();
  const left = await addPerson(gateway, "left@example.test", {
    workspaces: [{ id: workspaceId, role: "member" }],
    scopes,
  });
  await done(call(gateway, `DELETE /admin/workspaces/${workspaceId}/users/${left.id}`));
  for (const route of ["GET /logs", "POST /chat/completions", "POST /configs/explain"]) {
    assert.ok([401, 403].includes(await ask(route, left.key)), route);
  }
});
