import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { universalLabels } from "../../src/prompts/labels.ts";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const key = workspaceKey;

function ask<Shape = Record<string, unknown>>(route: string, body?: object): Promise<Shape> {
  return done<Shape>(call<Shape>(gateway, route, { key, ...(body && { body }) }));
}

const refused = (route: string, body?: object) => refusal(call(gateway, route, { key, ...(body && { body }) }));

interface Receipt {
  id: string;
  slug: string;
}

interface Collection {
  id: string;
  name: string;
  slug: string;
  workspace_id: string;
  parent_collection_id: string | null;
  is_default: number;
  child_collections: { name: string }[];
  collection_details: Record<string, unknown>;
}

interface Page<Row> {
  data: Row[];
  total: number;
}

const list = <Row>(path: string) => ask<Page<Row>>(`GET ${path}`);

test("every workspace has a default collection that cannot be changed", async () => {
  const { data, total } = await list<Collection>("/collections");
  const [own] = data;
  assert.ok(own);
  assert.deepEqual([total, own.is_default, own.id, own.name], [1, 1, own.workspace_id, "Default"]);
  assert.deepEqual((await ask<Collection>(`GET /collections/${own.slug}`)).id, own.id);
  assert.equal(await refused(`DELETE /collections/${own.id}`), "404 AB08");
  assert.equal(await refused(`PUT /collections/${own.id}`, { name: "x" }), "403 AB03");
});

test("collections hold prompts, partials and collections, and are deleted only empty", async () => {
  const outer = await ask<Receipt>("POST /collections", { name: "Support team" });
  assert.match(outer.slug, /^co-support-te-[0-9a-f]{6}$/);
  const inner = await ask<Receipt>("POST /collections", { name: "Inner", parent_collection_id: outer.slug });
  const prompt = await ask<Receipt>("POST /prompts", {
    name: "p",
    collection_id: inner.slug,
    string: "x",
    parameters: {},
    virtual_key: "",
  });
  const partial = await ask<Receipt>("POST /prompts/partials", { name: "p", string: "x", collection_id: outer.id });
  const record = await ask<Collection>(`GET /collections/${outer.slug}`);
  assert.deepEqual(
    record.child_collections.map(({ name }) => name),
    ["Inner"],
  );
  assert.equal(record.collection_details.child_collections_count, 1);
  assert.equal(record.collection_details.prompts_last_updated_at, null);
  const { data } = await list<Collection>("/collections");
  const shown = data.find(({ id }) => id === inner.id);
  assert.deepEqual([shown?.parent_collection_id, shown?.collection_details.prompts_count], [outer.id, 1]);
  assert.equal(await refused(`DELETE /collections/${outer.id}`), "409 AB07");
  assert.equal(await refused(`DELETE /collections/${inner.id}`), "409 AB07");
  await ask(`DELETE /prompts/${prompt.id}`);
  await ask(`DELETE /collections/${inner.id}`);
  assert.equal(await refused(`DELETE /collections/${outer.id}`), "409 AB07");
  await ask(`DELETE /prompts/partials/${partial.id}`);
  await ask(`PUT /collections/${outer.slug}`, { name: "Renamed" });
  assert.equal((await ask<Collection>(`GET /collections/${outer.id}`)).name, "Renamed");
  assert.deepEqual(await ask(`DELETE /collections/${outer.id}`), {});
  assert.equal(await refused(`GET /collections/${outer.id}`), "404 AB08");
});

test("lists have pages that end with the built-in entries", async () => {
  for (const name of ["zebra 1", "zebra 2"]) await ask("POST /collections", { name });
  const names = async (path: string) => {
    const { data, total } = await list<{ name: string }>(path);
    return [data.map(({ name }) => name).sort(), total];
  };
  assert.deepEqual(await names("/collections?page_size=2"), [["zebra 1", "zebra 2"], 3]);
  assert.deepEqual(await names("/collections?page_size=2&current_page=1"), [["Default"], 3]);
  assert.deepEqual(await names("/collections?page_size=2&current_page=2"), [[], 3]);
  assert.deepEqual(await names("/collections?search=ZEBRA"), [["zebra 1", "zebra 2"], 2]);
  assert.deepEqual(await names("/collections?search=defa"), [["Default"], 1]);
  await ask("POST /labels", { name: "pre-production" });
  assert.deepEqual(await names("/labels?search=production"), [["pre-production", "production"], 2]);
  assert.deepEqual(await names("/labels?page_size=3"), [["pre-production", "production", "staging"], 4]);
  assert.deepEqual(await names("/labels?page_size=3&current_page=1"), [["development"], 4]);
});

test("an admin key names the workspace", async () => {
  assert.equal(await refusal(call(gateway, "GET /collections")), "400 AB01");
  assert.equal(await refusal(call(gateway, "POST /collections", { body: { name: "x" } })), "400 AB01");
  assert.equal(await refusal(call(gateway, "POST /labels", { body: { name: "x" } })), "400 AB01");
  const { data } = await done<Page<Collection>>(call(gateway, "GET /collections?workspace_id=default"));
  const { slug } = data.at(-1) ?? assert.fail();
  assert.equal((await done(call(gateway, `GET /collections/${slug}`))).is_default, 1);
  assert.equal(await refused("POST /collections", { name: "x", parent_collection_id: "co-unknown" }), "404 AB02");
});

test("built-in labels cannot be changed", async () => {
  for (const { id, name } of universalLabels) {
    const record = await ask(`GET /labels/${id}`);
    assert.deepEqual([record.name, record.is_universal, record.workspace_id], [name, true, null]);
    assert.equal(await refused(`PUT /labels/${id}`, { name: "other" }), "403 AB03");
    assert.equal(await refused(`DELETE /labels/${id}`), "403 AB03");
    assert.equal(await refused("POST /labels", { name }), "409 AB07");
  }
});

test("labels are created, changed and removed", async () => {
  const { id } = await ask<Receipt>("POST /labels", { name: "canary", description: "a few", color_code: "#00aa88" });
  const record = await ask(`GET /labels/${id}`);
  assert.deepEqual(
    [record.name, record.description, record.color_code, record.is_universal, record.status],
    ["canary", "a few", "#00aa88", false, "active"],
  );
  assert.equal(await refused("POST /labels", { name: "canary" }), "409 AB07");
  await ask(`PUT /labels/${id}`, { name: "beta", description: null });
  const changed = await ask(`GET /labels/${id}`);
  assert.deepEqual([changed.name, changed.description, changed.color_code], ["beta", null, "#00aa88"]);
  assert.equal(await refused(`PUT /labels/${id}`, { name: "staging" }), "409 AB07");
  assert.deepEqual(await ask(`DELETE /labels/${id}`), {});
  assert.equal(await refused(`GET /labels/${id}`), "404 AB08");
  assert.equal(await refused("GET /labels/canary"), "404 AB08");
});

for (const name of ["", "a b", "a@b", "latest", "default", "42", "é", "n".repeat(256)]) {
  test(`a label cannot be named ${JSON.stringify(name.slice(0, 8))}`, async () => {
    assert.equal(await refused("POST /labels", { name }), "400 AB01");
  });
}

test("a label of the organisation marks versions in each workspace, and only its keys change it", async () => {
  const admin = <Shape = Record<string, unknown>>(route: string, body?: object) =>
    done<Shape>(call<Shape>(gateway, route, body ? { body } : {}));
  const { organisation_id, workspace_id: home } = await ask<Record<string, string>>(
    `GET /labels/${(await ask<Receipt>("POST /labels", { name: "local" })).id}`,
  );
  const { id } = await admin<Receipt>("POST /labels", { name: "release", organisation_id });
  const shown = await ask(`GET /labels/${id}`);
  assert.deepEqual(
    [shown.name, shown.is_universal, shown.workspace_id, shown.organisation_id],
    ["release", true, null, organisation_id],
  );
  assert.ok((await list<{ id: string }>("/labels?page_size=100")).data.some((label) => label.id === id));

  // names are unique where they can be used
  assert.equal(await refused("POST /labels", { name: "release" }), "409 AB07");
  const again = (body: object) => refusal(call(gateway, "POST /labels", { body: { organisation_id, ...body } }));
  assert.equal(await again({ name: "release" }), "409 AB07");
  assert.equal(await again({ name: "local" }), "409 AB07");
  assert.equal(await again({ name: "production" }), "409 AB07");
  assert.equal(await again({ name: "x", organisation_id: "other" }), "403 AB03");

  // a key of a workspace uses it and cannot change it
  assert.equal(await refused(`PUT /labels/${id}`, { name: "x" }), "403 AB03");
  assert.equal(await refused(`DELETE /labels/${id}`), "403 AB03");
  const own = await ask<Receipt>("POST /labels", { name: "own", organisation_id });
  assert.equal((await ask(`GET /labels/${own.id}`)).is_universal, false);

  const other = await admin<Receipt>("POST /admin/workspaces", { name: "Beside" });
  const prompts = await Promise.all(
    [home, other.id].map((workspace_id) =>
      admin<Receipt & { version_id: string; prompt_version_id: string }>("POST /prompts", {
        name: "p",
        workspace_id,
        collection_id: workspace_id,
        string: "Hello",
        parameters: {},
        virtual_key: "",
        model: "m",
      }),
    ),
  );
  const [first] = prompts;
  for (const { slug, version_id, prompt_version_id } of prompts) {
    await admin(`PUT /prompts/${slug}/versions/${version_id ?? prompt_version_id}`, { label_id: id });
    const { prompt_version_labels: labels } = await admin<{ prompt_version_labels: object[] }>(`GET /prompts/${slug}`);
    assert.deepEqual(labels, [{ id, name: "release" }]);
  }
  const render = (label: string) =>
    call(gateway, `POST /prompts/${first?.slug}@${label}/render`, { key, body: { variables: {} } });
  assert.equal((await render("release")).status, 200);
  await admin(`PUT /labels/${id}`, { name: "shipped" });
  assert.equal((await render("shipped")).status, 200);
  assert.equal((await render("release")).status, 404);
  await admin(`DELETE /labels/${id}`);
  assert.equal((await render("shipped")).status, 404);
  for (const { slug } of prompts) {
    assert.deepEqual(
      (await admin<{ prompt_version_labels: object[] }>(`GET /prompts/${slug}`)).prompt_version_labels,
      [],
    );
  }
});
