import assert from "node:assert/strict";
import { test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { chat, type LimitParts, withGateway } from "../support/limited.ts";
import { type List, problem } from "../support/people.ts";

interface Key {
  id: string;
  name: string;
  status: string;
}

const budget = (credit_limit: number) => ({ usage_limits: { type: "tokens", credit_limit } });

/** Makes a key of the default workspace; each one is newer than the last. */
async function make({ gateway, clock, workspaceId }: LimitParts, name: string, members: object = {}) {
  clock.advance(1_000);
  const body = { name, workspace_id: workspaceId, scopes: scopesOfKind("workspace-service"), ...members };
  return done(call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", { body }));
}

const list = ({ gateway }: Pick<LimitParts, "gateway">, query: string, key?: string) =>
  done(call<List<Key>>(gateway, `GET /api-keys?${query}`, key === undefined ? {} : { key }));
/** Names of a page, and the total. */
const names = async (parts: LimitParts, query: string) => {
  const { total, data } = await list(parts, `type=workspace-service&workspace_id=default&${query}`);
  return { total, names: data.map(({ name }) => name) };
};

test("GET /api-keys?status finds keys by what was used of their budgets, with the right pages and totals", () =>
  withGateway(async (parts) => {
    const keys = new Map<string, { id: string; key: string }>();
    for (const [name, members] of [
      ["unlimited", {}],
      ["used-1", budget(1_500)],
      ["large", budget(9_000)],
      ["used-2", budget(1_000)],
      ["unused", budget(1_500)],
      ["used-3", budget(1_500)],
      ["expiring", { ...budget(1_500), expires_at: new Date(parts.clock.now() + 60_000).toISOString() }],
    ] as const) {
      keys.set(name, await make(parts, name, members));
    }
    const ask = async (name: string) =>
      (await chat(parts, keys.get(name)?.key ?? "", { body: { max_tokens: 1 } })).status;
    const change = (name: string, body: object) =>
      done(call(parts.gateway, `PUT /api-keys/${keys.get(name)?.id}`, { body }));
    const active = ["expiring", "used-3", "unused", "used-2", "large", "used-1", "unlimited"];
    const first = (await names(parts, "status=active")).names.filter((name) => !keys.has(name));
    assert.deepEqual(await names(parts, "status=exhausted"), { total: 0, names: [] });
    assert.deepEqual(await names(parts, "status=active"), {
      total: active.length + first.length,
      names: [...active, ...first],
    });
    for (const name of ["unlimited", "used-1", "large", "used-2", "used-3"]) assert.equal(await ask(name), 200);
    for (const name of ["used-1", "used-2", "used-3"]) assert.equal(await ask(name), 412);
    const left = [...active.filter((name) => !name.startsWith("used")), ...first];
    assert.deepEqual(await names(parts, "status=exhausted"), { total: 3, names: ["used-3", "used-2", "used-1"] });
    assert.deepEqual(await names(parts, "status=exhausted&page_size=2"), { total: 3, names: ["used-3", "used-2"] });
    assert.deepEqual(await names(parts, "status=exhausted&page_size=2&current_page=1"), {
      total: 3,
      names: ["used-1"],
    });
    assert.deepEqual(await names(parts, "status=exhausted&current_page=1"), { total: 3, names: [] });
    assert.deepEqual(await names(parts, "status=active"), { total: left.length, names: left });
    for (let page = 0; page < left.length; page++) {
      const found = await names(parts, `status=active&page_size=1&current_page=${page}`);
      assert.deepEqual(found, { total: left.length, names: [left[page]] });
    }
    const both = await names(parts, "");
    assert.deepEqual(both, { total: active.length + first.length, names: [...active, ...first] });
    const ids = ["used-1", "unused"].map((name) => keys.get(name)?.id).join(",");
    assert.deepEqual(await names(parts, `status=exhausted&ids=${ids}`), { total: 1, names: ["used-1"] });
    assert.deepEqual(await names(parts, `status=active&ids=${ids}`), { total: 1, names: ["unused"] });
    const { data } = await list(parts, "status=exhausted");
    assert.ok(data.every(({ status }) => status === "exhausted"));
    parts.clock.advance(1);
    await change("used-1", { reset_usage: true });
    await change("used-2", budget(5_000));
    assert.deepEqual(await names(parts, "status=exhausted"), { total: 1, names: ["used-3"] });
    await done(call(parts.gateway, `DELETE /api-keys/${keys.get("used-3")?.id}`));
    assert.deepEqual(await names(parts, "status=exhausted"), { total: 0, names: [] });
    assert.equal(await problem(parts.gateway, "GET /api-keys?status=used", {}), "400 AB01 status");
  }));

test("GET /api-keys?status=exhausted shows the keys of the caller's tenant alone", () =>
  withGateway(
    async (parts) => {
      const other = await createOrganisation(await parts.gateway.openFile(), "other");
      const { key, id } = await make(parts, "used", budget(1_500));
      assert.equal((await chat(parts, key)).status, 200);
      for (const foreign of [other.adminKey, other.workspaceKey]) {
        assert.equal((await list(parts, "status=exhausted", foreign)).total, 0);
      }
      const { data } = await list(parts, "status=exhausted");
      assert.deepEqual(
        data.map((found) => found.id),
        [id],
      );
    },
    { inFile: true },
  ));

test("GET /api-keys?status finds more keys than are looked up at a time", () =>
  withGateway(
    async (parts) => {
      const database = await parts.gateway.openFile();
      // budgets of 0 and 1 tokens in turn
      const copy = `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2099)
        INSERT INTO api_keys (id, lookup_id, digest, organisation_id, workspace_id, name, kind, masked, scopes, status, created_at, usage_limits)
        SELECT 'key-' || n, 'lookup-' || n, 'digest-' || n, organisation_id, workspace_id, name, kind, masked, scopes, status, n,
          json_object('id', 'budget-' || n, 'type', 'tokens', 'credit_limit', n % 2, 'alert_threshold', NULL,
            'periodic_reset', NULL, 'periodic_reset_days', NULL, 'next_usage_reset_at', NULL)
        FROM api_keys, numbers WHERE kind = 'workspace-service'`;
      await database.write([{ sql: copy, args: [] }]);
      const exhausted = await list(parts, "status=exhausted&page_size=1000&current_page=1");
      assert.deepEqual([exhausted.total, exhausted.data.length], [1_050, 50]);
      const active = await list(parts, "status=active&type=workspace-service&page_size=1000&current_page=1");
      // and the one of the first start
      assert.deepEqual([active.total, active.data.length], [1_051, 51]);
    },
    { inFile: true },
  ));
