import assert from "node:assert/strict";
import { test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { openDatabase } from "../../src/db/client.ts";
import { type CallOptions, call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTemporaryFolder, insertKey } from "../support/gateway.ts";
import {
  chat,
  dollarsOfCall,
  holdCall,
  type LimitParts,
  makeKey,
  makePolicy,
  withGateway,
} from "../support/limited.ts";
import { type List, problem } from "../support/people.ts";

interface Entity {
  id: string;
  value_key: string;
  current_usage: number;
  status: string;
}

const path = "/policies/usage-limits";
const conditions = [{ key: "provider", value: "openai" }];
const byUser = { conditions, group_by: [{ key: "metadata.user" }] };

const makeBudget = (parts: LimitParts, members: object = {}) =>
  makePolicy(parts, "usage", { ...byUser, type: "tokens", credit_limit: 3_000, ...members });
const listEntities = ({ gateway }: LimitParts, id: string, query = "", options: CallOptions = {}) =>
  done(call<List<Entity>>(gateway, `GET ${path}/${id}/entities${query}`, options));
const findEntity = async (parts: LimitParts, id: string, user: string): Promise<Entity> => {
  const { data } = await listEntities(parts, id, "?page_size=100");
  return data.find(({ value_key: key }) => key === `metadata.user:${user}`) ?? assert.fail(`no entity of ${user}`);
};
const reset = ({ gateway }: LimitParts, id: string, entityId: string, options: CallOptions = {}) =>
  call(gateway, `PUT ${path}/${id}/entities/${entityId}/reset`, options);
const show = ({ gateway }: LimitParts, id: string, query = "") =>
  done(call<Record<string, unknown>>(gateway, `GET ${path}/${id}${query}`));
const change = ({ gateway }: LimitParts, id: string, body: object) => call(gateway, `PUT ${path}/${id}`, { body });

/** Sends a request of a user of the metadata; returns the status. */
async function ask(parts: LimitParts, key: string, user: string): Promise<number> {
  const { status } = await chat(parts, key, { headers: { "x-gateway-metadata": JSON.stringify({ user }) } });
  return status;
}

test("GET entities lists each counter once it counted, in dollars or tokens, with its status", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const tokens = await makeBudget(parts);
    const cost = await makeBudget(parts, { type: "cost", credit_limit: 100 });
    const everywhere = { workspace_id: "default", type: "tokens", credit_limit: 1 };
    const other = await makeBudget(parts, { ...everywhere, conditions: [{ key: "provider", value: "groq" }] });
    assert.deepEqual(await listEntities(parts, tokens), { object: "list", total: 0, data: [] });
    for (const user of ["bob", "alice", "alice"]) assert.equal(await ask(parts, key, user), 200);
    assert.equal(await ask(parts, key, "alice"), 412);
    const { object, total, data } = await listEntities(parts, tokens);
    const [alice, bob] = data;
    assert.deepEqual([object, total], ["list", 2]);
    assert.deepEqual(data, [
      { id: alice?.id, value_key: "metadata.user:alice", current_usage: 3_000, status: "exhausted" },
      { id: bob?.id, value_key: "metadata.user:bob", current_usage: 1_500, status: "active" },
    ]);
    const paid = await listEntities(parts, cost);
    assert.deepEqual(
      paid.data.map(({ current_usage: dollars, status }) => [dollars, status]),
      [
        [2 * dollarsOfCall, "active"],
        [dollarsOfCall, "active"],
      ],
    );
    const ids = [...data, ...paid.data].map((entity) => entity.id);
    assert.equal(new Set(ids).size, 4);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal((await listEntities(parts, other)).total, 0);
  }));

test("GET entities filters by status and search, and has pages of at most 100", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts, { type: "requests", credit_limit: 2 });
    const users = Array.from({ length: 120 }, (_, index) => `User-${String(index).padStart(3, "0")}`);
    await Promise.all(users.map((user) => ask(parts, key, user)));
    for (const user of users.slice(0, 30)) await ask(parts, key, user);
    const keys = async (query: string) => {
      const { total, data } = await listEntities(parts, id, query);
      return { total, keys: data.map(({ value_key: valueKey }) => valueKey.slice("metadata.user:".length)) };
    };
    assert.deepEqual(await keys(""), { total: 120, keys: users.slice(0, 50) });
    assert.deepEqual(await keys("?page_size=100&current_page=1"), { total: 120, keys: users.slice(100) });
    assert.deepEqual(await keys("?page_size=100&current_page=2"), { total: 120, keys: [] });
    assert.deepEqual(await keys("?status=exhausted"), { total: 30, keys: users.slice(0, 30) });
    assert.deepEqual(await keys("?status=active&page_size=2"), { total: 90, keys: users.slice(30, 32) });
    assert.deepEqual(await keys("?search=user-11"), { total: 10, keys: users.slice(110) });
    assert.deepEqual(await keys("?search=USER-00&status=active"), { total: 0, keys: [] });
    for (const [query, param] of [
      ["page_size=101", "page_size"],
      ["page_size=0", "page_size"],
      ["current_page=-1", "current_page"],
      ["status=archived", "status"],
      ["search=u", "search"],
      ["value_key=x", "value_key"],
    ]) {
      assert.equal(await problem(parts.gateway, `GET ${path}/${id}/entities?${query}`, {}), `400 AB01 ${param}`);
    }
  }));

test("PUT reset sets one counter to 0: its requests pass again, others are not changed", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts);
    for (const user of ["alice", "alice", "bob"]) await ask(parts, key, user);
    assert.equal(await ask(parts, key, "alice"), 412);
    const entity = await findEntity(parts, id, "alice");
    parts.clock.advance(1_000);
    assert.deepEqual(await done(reset(parts, id, entity.id.toUpperCase())), {});
    assert.deepEqual(await findEntity(parts, id, "alice"), { ...entity, current_usage: 0, status: "active" });
    assert.equal((await findEntity(parts, id, "bob")).current_usage, 1_500);
    assert.equal((await show(parts, id)).last_reset_at, new Date(parts.clock.now()).toISOString());
    assert.equal(await ask(parts, key, "alice"), 200);
    assert.equal((await findEntity(parts, id, "alice")).current_usage, 1_500);
    // a second reset, of nothing too, is no error
    for (let count = 0; count < 2; count++) assert.deepEqual(await done(reset(parts, id, entity.id)), {});
    assert.equal((await findEntity(parts, id, "alice")).current_usage, 0);
  }));

test("a reset during a running request leaves its reservation, and counts what it uses", () => {
  const { transport, started, finish } = holdCall(2);
  return withGateway(
    async (parts) => {
      const key = await makeKey(parts, {});
      const id = await makeBudget(parts);
      await ask(parts, key, "alice");
      const second = ask(parts, key, "alice");
      await started;
      await done(reset(parts, id, (await findEntity(parts, id, "alice")).id));
      finish();
      assert.equal(await second, 200);
      assert.equal((await findEntity(parts, id, "alice")).current_usage, 1_500);
    },
    { transport },
  );
});

/** Runs a test with a gateway on a file, and with the file opened beside it. */
async function onFile(use: (database: string) => Promise<void>): Promise<void> {
  const folder = createTemporaryFolder();
  try {
    await use(`file:${folder.path}/gateway.db`);
  } finally {
    folder.remove();
  }
}

/** What the stored counters of a policy hold, in all. */
async function readStored(url: string, policyId: string): Promise<number> {
  const database = await openDatabase({ url });
  const { rows } = await database.read({
    sql: "SELECT coalesce(sum(used), 0) AS used FROM limit_counters WHERE limit_id LIKE ?",
    args: [`${policyId}%`],
  });
  await database.close();
  return Number(rows[0]?.used);
}

/** Waits until the rows of requests are stored. */
async function untilStored(url: string, policyId: string, used: number): Promise<void> {
  const end = performance.now() + 10_000;
  while ((await readStored(url, policyId)) !== used) {
    if (performance.now() > end) assert.fail(`the stored counter is not ${used}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("a reset holds after a restart, also of a counter that only an earlier process used", () =>
  onFile(async (database) => {
    let key = "";
    let id = "";
    const ids: string[] = [];
    await withGateway(
      async (parts) => {
        key = await makeKey(parts, {});
        id = await makeBudget(parts);
        for (const user of ["alice", "alice", "bob", "carol"]) await ask(parts, key, user);
        ids.push((await findEntity(parts, id, "alice")).id);
        // the rows of its requests may not be stored yet
        await done(reset(parts, id, ids[0] ?? ""));
        assert.equal(await ask(parts, key, "alice"), 200);
      },
      { database },
    );
    assert.equal(await readStored(database, id), 3 * 1_500);
    await withGateway(
      async (parts) => {
        const { data } = await listEntities(parts, id);
        assert.deepEqual(
          data.map(({ current_usage: used }) => used),
          [1_500, 1_500, 1_500],
        );
        assert.equal(data[0]?.id, ids[0]);
        await done(reset(parts, id, (await findEntity(parts, id, "bob")).id));
        assert.equal((await findEntity(parts, id, "bob")).current_usage, 0);
        await untilStored(database, id, 2 * 1_500);
        for (const wanted of [200, 200, 412]) assert.equal(await ask(parts, key, "bob"), wanted);
      },
      { database },
    );
    await withGateway(async (parts) => assert.equal(await ask(parts, key, "bob"), 412), { database });
  }));

test("a counter from which a reset took more than was stored begins at 0", () =>
  onFile(async (database) => {
    let key = "";
    let id = "";
    await withGateway(
      async (parts) => {
        key = await makeKey(parts, {});
        id = await makeBudget(parts);
        await ask(parts, key, "alice");
      },
      { database },
    );
    const file = await openDatabase({ url: database });
    // as if the process had ended after the reset and before it stored the row of the request
    await file.write([{ sql: "UPDATE limit_counters SET used = -1500", args: [] }]);
    await file.close();
    await withGateway(
      async (parts) => {
        assert.equal((await findEntity(parts, id, "alice")).current_usage, 0);
        for (const wanted of [200, 200, 412]) assert.equal(await ask(parts, key, "alice"), wanted);
      },
      { database },
    );
  }));

test("a reset that cannot be stored changes nothing: the counter continues, and no audit row says otherwise", () =>
  onFile((url) =>
    withGateway(
      async (parts) => {
        const key = await makeKey(parts, {});
        const id = await makeBudget(parts);
        for (const user of ["alice", "alice"]) await ask(parts, key, user);
        await untilStored(url, id, 3_000);
        const entity = await findEntity(parts, id, "alice");
        const file = await openDatabase({ url });
        await file.write([
          `CREATE TRIGGER full BEFORE UPDATE ON limit_counters BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
        ]);
        const byValue = { reset_usage_for_value: entity.value_key, name: "renamed" };
        const failures = [await reset(parts, id, entity.id), await change(parts, id, byValue)];
        for (const { status } of failures) assert.notEqual(status, 200);
        assert.deepEqual(await findEntity(parts, id, "alice"), entity);
        const { last_reset_at: at, name } = await show(parts, id);
        assert.deepEqual([at, name], [null, null]);
        assert.equal(await ask(parts, key, "alice"), 412);
        await file.write(["DROP TRIGGER full"]);
        await file.close();
        await done(reset(parts, id, entity.id));
        await untilStored(url, id, 0);
        assert.equal(await ask(parts, key, "alice"), 200);
      },
      { database: url },
    ),
  ));

test("two nodes that write to the control plane at once reset a counter exactly once", () =>
  onFile((database) =>
    withGateway(
      (parts) =>
        withGateway(
          async (node) => {
            const key = await makeKey(parts, {});
            const id = await makeBudget(parts, { credit_limit: 1_000_000 });
            for (let count = 0; count < 5; count++) await ask(parts, key, "alice");
            const entity = await findEntity(parts, id, "alice");
            const writes = Array.from({ length: 10 }, () => [makeBudget(node), reset(parts, id, entity.id)]);
            await Promise.all(writes.flat());
            assert.equal((await findEntity(parts, id, "alice")).current_usage, 0);
            await untilStored(database, id, 0);
          },
          { database },
        ),
      { database },
    ),
  ));

test("GET of a usage limit with include_usage maps every counter to its use and alerts", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts, { alert_threshold: 1_500 });
    for (const user of ["alice", "alice", "bob"]) await ask(parts, key, user);
    const alerts = { is_threshold_alerts_sent: true, is_exhausted_alerts_sent: false };
    const plain = await show(parts, id);
    assert.equal("value_key_usage_map" in plain, false);
    assert.deepEqual(await show(parts, id, "?include_usage=false"), plain);
    const untilAlerted = async () => {
      const isAlerted = /"is_exhausted_alerts_sent":true.*"is_threshold_alerts_sent":true/;
      const until = performance.now() + 10_000;
      for (;;) {
        const shown = await show(parts, id, "?include_usage=true");
        if (isAlerted.test(JSON.stringify(shown)) || performance.now() > until) return shown;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    assert.deepEqual(await untilAlerted(), {
      ...plain,
      value_key_usage_map: {
        "metadata.user:alice": {
          current_usage: 3_000,
          status: "exhausted",
          ...alerts,
          is_exhausted_alerts_sent: true,
        },
        "metadata.user:bob": { current_usage: 1_500, status: "active", ...alerts },
      },
    });
    // raised above its use, the counter is active again
    await done(change(parts, id, { credit_limit: 4_500, alert_threshold: null }));
    const { value_key_usage_map: raised } = await show(parts, id, "?include_usage=true");
    assert.deepEqual(raised, {
      "metadata.user:alice": {
        current_usage: 3_000,
        status: "active",
        is_threshold_alerts_sent: false,
        is_exhausted_alerts_sent: false,
      },
      "metadata.user:bob": {
        current_usage: 1_500,
        status: "active",
        is_threshold_alerts_sent: false,
        is_exhausted_alerts_sent: false,
      },
    });
    assert.equal(await ask(parts, key, "alice"), 200);
    for (const value of ["yes", "1"]) {
      assert.equal(
        await problem(parts.gateway, `GET ${path}/${id}?include_usage=${value}`, {}),
        "400 AB01 include_usage",
      );
    }
  }));

test("counters of the current period alone are shown", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts, { periodic_reset: "weekly" });
    await ask(parts, key, "alice");
    assert.equal((await listEntities(parts, id)).total, 1);
    const { id: entityId } = await findEntity(parts, id, "alice");
    parts.clock.advance(7 * 86_400_000);
    assert.equal((await listEntities(parts, id)).total, 0);
    assert.equal(await refusal(reset(parts, id, entityId)), "404 AB08");
  }));

test("PUT with reset_usage_for_value resets the counter with this whole name, with the other changes", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts);
    for (const user of ["alice", "alice", "bob"]) await ask(parts, key, user);
    const before = await show(parts, id, "?include_usage=true");
    for (const [body, wanted] of [
      [{ reset_usage_for_value: "alice" }, "404 AB02 reset_usage_for_value"],
      [{ reset_usage_for_value: "metadata.user:carol" }, "404 AB02 reset_usage_for_value"],
      [{ reset_usage_for_value: "" }, "400 AB01 reset_usage_for_value"],
      [{ reset_usage_for_value: 5 }, "400 AB01 reset_usage_for_value"],
      [{ reset_usage_for_value: ["metadata.user:alice"] }, "400 AB01 reset_usage_for_value"],
      [{ reset_usage_for_value: "metadata.user:alice", credit_limit: -1 }, "400 AB01 credit_limit"],
      // refused after the policy is read: the counter must not be reset before
      [{ reset_usage_for_value: "metadata.user:alice", alert_threshold: 3_000 }, "400 AB01 alert_threshold"],
    ] as const) {
      assert.equal(await problem(parts.gateway, `PUT ${path}/${id}`, { body }), wanted);
    }
    assert.deepEqual(await show(parts, id, "?include_usage=true"), before);
    await done(change(parts, id, { reset_usage_for_value: null, name: "Team" }));
    assert.equal((await show(parts, id)).last_reset_at, null);
    await done(change(parts, id, { reset_usage_for_value: "metadata.user:alice", credit_limit: 1_500 }));
    const { credit_limit: limit, last_reset_at: at, name } = await show(parts, id);
    assert.deepEqual([limit, at, name], [1_500, new Date(parts.clock.now()).toISOString(), "Team"]);
    assert.equal((await findEntity(parts, id, "alice")).current_usage, 0);
    assert.equal((await findEntity(parts, id, "bob")).status, "exhausted");
    assert.deepEqual([await ask(parts, key, "alice"), await ask(parts, key, "bob")], [200, 412]);
  }));

test("entities of archived policies, of other tenants and of other policies are not found", () =>
  withGateway(
    async (parts) => {
      const { gateway } = parts;
      const database = await gateway.openFile();
      const other = await createOrganisation(database, "other");
      const second = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Two" } }));
      const { organisation_id: organisationId } = await done(
        call<{ organisation_id: string }>(gateway, "GET /admin/workspaces/default"),
      );
      const { key: secondKey } = mintApiKey("gk");
      const scopes = JSON.stringify(["policies.read", "policies.update"]);
      await insertKey(database, secondKey, { organisationId, workspaceId: second.id, scopes });
      const key = await makeKey(parts, {});
      const id = await makeBudget(parts);
      const sibling = await makeBudget(parts);
      await ask(parts, key, "alice");
      const entity = await findEntity(parts, id, "alice");
      const ofSibling = await findEntity(parts, sibling, "alice");
      assert.notEqual(entity.id, ofSibling.id);
      for (const foreign of [other.adminKey, other.workspaceKey, secondKey]) {
        const options = { key: foreign };
        assert.equal(await refusal(call(gateway, `GET ${path}/${id}/entities`, options)), "404 AB08");
        assert.equal(await refusal(call(gateway, `GET ${path}/${id}?include_usage=true`, options)), "404 AB08");
        assert.equal(await refusal(reset(parts, id, entity.id, options)), "404 AB08");
        const body = { reset_usage_for_value: entity.value_key };
        assert.equal(await refusal(call(gateway, `PUT ${path}/${id}`, { ...options, body })), "404 AB08");
      }
      for (const unknown of [ofSibling.id, crypto.randomUUID(), "alice", entity.value_key]) {
        assert.equal(await refusal(reset(parts, id, unknown)), "404 AB08", unknown);
      }
      assert.deepEqual(await findEntity(parts, id, "alice"), entity);
      await done(call(gateway, `DELETE ${path}/${id}`));
      assert.equal(await refusal(call(gateway, `GET ${path}/${id}/entities`)), "404 AB08");
      assert.equal(await refusal(reset(parts, id, entity.id)), "404 AB08");
      // an archived policy refuses nothing, and continues where it was
      await done(call(gateway, `DELETE ${path}/${sibling}`));
      for (let count = 0; count < 3; count++) assert.equal(await ask(parts, key, "alice"), 200);
      await done(change(parts, id, { status: "active" }));
      assert.deepEqual(await findEntity(parts, id, "alice"), entity);
      for (const wanted of [200, 412]) assert.equal(await ask(parts, key, "alice"), wanted);
    },
    { inFile: true },
  ));

test("each reset leaves an audit row that names its policy, value and workspace, and each refused one too", () =>
  withGateway(async (parts) => {
    const { gateway, workspaceId } = parts;
    const key = await makeKey(parts, {});
    const id = await makeBudget(parts);
    await ask(parts, key, "alice");
    const entity = await findEntity(parts, id, "alice");
    await done(reset(parts, id, entity.id));
    await reset(parts, id, crypto.randomUUID());
    const times = "start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z";
    const { records } = await done(
      call<{ records: Record<string, unknown>[] }>(
        gateway,
        `GET /audit-logs?${times}&resource_type=usage_limit_policies&action=reset`,
      ),
    );
    const shown = records.map((row) => [row.resource_id, row.workspace_id, row.response_status_code, row.uri]);
    const route = `/v1${path}/${id}/entities`;
    assert.deepEqual(shown[1], [id, workspaceId, 200, `${route}/${entity.id}/reset`]);
    assert.deepEqual(shown[0]?.slice(0, 3), [id, workspaceId, 404]);
    const named = JSON.parse(String(records[1]?.request_body));
    assert.deepEqual(named, { reset_usage_for_value: entity.value_key });
    assert.equal(shown.length, 2);
  }));
