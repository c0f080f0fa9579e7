import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defaultSecuritySettings } from "../../src/auth/roles.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  helloBody,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson, type Person } from "../support/people.ts";

let gateway: TestGateway;
let organisationId: string;
const people = new Map<string, Person>();
/** Rows by who made them. */
const ids = new Map<string, string>();

before(async () => {
  gateway = await createTestGateway();
  organisationId = (await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"))).data.id;
  const scopes = scopesOfKind("workspace-user");
  for (const [name, role, own] of [
    ["member", "member", "member"],
    ["manager", "member", "manager"],
    ["workspace admin", "member", "admin"],
    ["organisation admin", "admin", "member"],
  ] as const) {
    const email = `${name.replace(" ", "-")}@example.test`;
    people.set(name, await addPerson(gateway, email, { role, workspaces: [{ id: "default", role: own }], scopes }));
  }
  for (const maker of [...people.keys(), "service"]) {
    const trace = `by ${maker}`;
    const headers = {
      "x-gateway-api-key": keyOf(maker),
      "x-gateway-trace-id": trace,
      "x-gateway-metadata": '{"team":"harbour"}',
    };
    await (await chat(gateway, helloBody, headers)).text();
    ids.set(maker, (await waitForLog(gateway, trace)).id);
  }
});
after(() => gateway.close());

const keyOf = (name: string) => people.get(name)?.key ?? workspaceKey;

/** Sets the organisation's switches: those named are off, the others have their default. */
function setUp(off: readonly string[], deniedFields: readonly string[] = []) {
  const all = Object.keys(defaultSecuritySettings).map((name) => [name, !off.includes(name)]);
  const body = { security_settings: Object.fromEntries(all), export_settings: { deniedFields } };
  return done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
}

interface Seen {
  /** Makers of the rows in the list. */
  listed: string;
  /** The row it made: contents, figures, or a status. */
  own: string;
  /** Row of the service. */
  other: string;
  /** Requests in the graph, or a status. */
  counted: number | string;
}

const period = "time_of_generation_min=2020-01-01T00:00:00Z&time_of_generation_max=2050-01-01T00:00:00Z";

async function readRow(key: string, id: string): Promise<string> {
  const { status, body } = await call(gateway, `GET /logs/${id}`, { key });
  if (status !== 200) return String(status);
  return Reflect.get(Object(body.request), "body") === null ? "figures" : "contents";
}

async function seenBy(name: string): Promise<Seen> {
  const key = keyOf(name);
  const list = await call<{ data?: { id: string }[] }>(gateway, "GET /logs", { key });
  const shown = new Set(list.body.data?.map(({ id }) => id));
  const isAll = [...ids.values()].every((id) => shown.has(id));
  const isOwn = shown.size === 1 && shown.has(ids.get(name) ?? "");
  const graph = await call<{ summary: { total: number } }>(gateway, `GET /analytics/graphs/requests?${period}`, {
    key,
  });
  return {
    listed: list.status !== 200 ? String(list.status) : isAll ? "all" : isOwn ? "own" : "some",
    own: await readRow(key, ids.get(name) ?? ""),
    other: await readRow(key, ids.get("service") ?? ""),
    counted: graph.status === 200 ? graph.body.summary.total : String(graph.status),
  };
}

const everything: Seen = { listed: "all", own: "contents", other: "contents", counted: 5 };
const figures: Seen = { ...everything, own: "figures", other: "figures" };
const closed: Seen = { ...everything, listed: "403", own: "403", other: "403" };
const onlyOwn: Seen = { listed: "own", own: "contents", other: "404", counted: 1 };
const noFigures: Seen = { ...everything, counted: "403" };

const table: readonly [off: string[], who: string, wanted: Seen][] = [
  [[], "member", everything],
  [[], "manager", everything],
  [["membersViewLogs"], "member", figures],
  [["membersViewLogs"], "manager", everything],
  [["membersViewLogMetadata"], "member", closed],
  [["membersViewAllData"], "member", onlyOwn],
  [["membersViewAllData"], "manager", everything],
  [["membersViewAllData", "membersViewLogs"], "member", { ...onlyOwn, own: "figures" }],
  [["membersViewAnalytics"], "member", noFigures],
  [["managersViewLogs"], "manager", figures],
  [["managersViewLogs"], "member", everything],
  [["managersViewLogMetadata"], "manager", closed],
  [["managersViewAllData"], "manager", onlyOwn],
  [["managersViewAnalytics"], "manager", noFigures],
  [["organisationAdminsViewLogs"], "organisation admin", figures],
  [["organisationAdminsViewLogMetadata"], "organisation admin", closed],
  [["organisationAdminsViewLogs"], "workspace admin", everything],
];
const everySwitch = table.flatMap(([off]) => off);
for (const who of ["workspace admin", "service"]) {
  test(`a ${who} sees everything with all switches off`, async () => {
    await setUp(everySwitch);
    assert.deepEqual(await seenBy(who), everything);
  });
}
for (const [off, who, wanted] of table) {
  test(`a ${who} sees with ${off.join(" and ") || "nothing"} off: ${Object.values(wanted).join(", ")}`, async () => {
    await setUp(off);
    assert.deepEqual(await seenBy(who), wanted);
  });
}

test("figures alone come without results of guardrails, also as type=hooks", async () => {
  const hook = {
    type: "guardrail",
    id: "words",
    checks: [{ id: "default.contains", parameters: { words: ["Hello"], operator: "any" } }],
  };
  const config = JSON.stringify({ provider: "echo", before_request_hooks: [hook] });
  await (
    await chat(gateway, helloBody, {
      "x-gateway-provider": null,
      "x-gateway-config": config,
      "x-gateway-trace-id": "hooked",
    })
  ).text();
  const { id } = await waitForLog(gateway, "hooked");
  await setUp(["membersViewLogs"]);
  for (const query of ["", "?type=hooks"]) {
    const { body } = await call(gateway, `GET /logs/${id}${query}`, { key: keyOf("member") });
    assert.ok(!JSON.stringify(body).includes("default.contains"), query);
  }
  const { body } = await call(gateway, `GET /logs/${id}?type=hooks`, { key: keyOf("manager") });
  assert.ok(JSON.stringify(body).includes("default.contains"));
});

/** Paths of all members of a value. */
function pathsOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([name, member]) => [`${path}/${name}`, ...pathsOf(member, `${path}/${name}`)]);
}

for (const [field, gone, filter] of [
  ["ai_model", ["/model", "/metrics/ai_model"], "model=echo-1"],
  ["ai_org", ["/provider", "/metrics/ai_org"], "provider=echo"],
  ["ai_org", ["/provider", "/metrics/ai_org"], "labels=%7B%22tier%22%3A%22gold%22%7D"],
  ["metadata", ["/metadata", "/metrics/metadata.key", "/metrics/metadata.value"], "metadata.team=harbour"],
  ["response_status_code", ["/status", "/response/status", "/metrics/response_status_code"], "status=200"],
  ["trace_id", ["/trace_id", "/metrics/trace_id"], "trace_id=x"],
  ["request", ["/request"], undefined],
  ["response", ["/response"], undefined],
  ["cost", ["/cost", "/metrics/cost"], "cost_max=1"],
  ["total_units", ["/usage", "/metrics/total_units"], "total_units_min=1"],
  ["req_units", ["/usage", "/metrics/req_units"], "prompt_token_min=1"],
  ["res_units", ["/usage", "/metrics/res_units"], "completion_token_max=9"],
  ["config", ["/metrics/config"], "configs=x"],
  ["prompt_slug", ["/metrics/prompt_slug"], "prompt_slug=x"],
  ["request_url", ["/path", "/request/url", "/metrics/request_url"], undefined],
  ["response_time", ["/duration_ms", "/response/responseTime", "/metrics/response_time"], undefined],
] as const) {
  test(`the denied field ${field} is shown to nobody, and not found by`, async () => {
    const id = ids.get("service");
    for (const key of [workspaceKey, adminKey, keyOf("manager")]) {
      await setUp([]);
      const whole = pathsOf(await done(call(gateway, `GET /logs/${id}`, { key })));
      await setUp([], [field]);
      const paths = pathsOf(await done(call(gateway, `GET /logs/${id}`, { key })));
      const { data } = await done<{ data: object[] }>(call(gateway, "GET /logs", { key }));
      for (const path of gone) {
        assert.ok(whole.includes(path), path);
        assert.ok(!paths.includes(path), path);
        assert.ok(
          data.every((row) => !pathsOf(row).includes(path)),
          path,
        );
      }
      assert.ok(paths.includes("/id") && data.length >= 5);
      if (filter === undefined) continue;
      const refused = await call(gateway, `GET /logs?${filter}`, { key });
      assert.deepEqual([refused.status, Reflect.get(Object(refused.body.error), "param")], [403, field]);
      const followed = await call(gateway, `GET /logs/tail?${filter}`, { key });
      assert.deepEqual([followed.status, Reflect.get(Object(followed.body.error), "param")], [403, field]);
    }
  });
}
