// Each write of each page of records as admin, manager and member: what the role allows works, and what it does not allow is
// neither shown nor accepted by the API.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fillStand, keyOf } from "./data.ts";
import { type RoleRow, roleRows, type Verb, type Viewer, viewers } from "./role-rows.ts";
import { callAs, deleteButton, editLink, failuresOf, settle, signInAll, type Viewers } from "./role-viewers.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  deleteRecord,
  fillForm,
  listPages,
  noConsole,
  openStand,
  submitOf,
  takeSecret,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
let opened: Viewers;

/** What `fillStand` does not make. */
async function fillMore(): Promise<void> {
  const { gateway, call, workspaceId } = stand;
  const { adminKey, workspaceKey } = gateway;
  const form = new FormData();
  form.set("purpose", "batch");
  const line = { custom_id: "1", method: "POST", url: "/v1/chat/completions", body: { model: "echo-1", messages: [] } };
  form.set("file", new File([JSON.stringify(line)], "kept.jsonl"));
  const headers = { "x-gateway-api-key": workspaceKey };
  const uploaded = await fetch(`${gateway.url}/v1/files`, { method: "POST", headers, body: form });
  const file: { id: string } = await uploaded.json();
  const batch = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  await call("POST /v1/batches", workspaceKey, batch);
  const client = { name: "Example", redirect_uris: ["https://client.example/back"] };
  await call("POST /v1/mcp-oauth-clients", workspaceKey, client);
  const group = { workspace_id: workspaceId, role: "member", scim_group_name: "kept-group" };
  await call("POST /v1/scim/workspaces", adminKey, group);
  await call("POST /v1/secret-references", adminKey, {
    name: "Kept secret",
    manager_type: "hashicorp_vault",
    secret_path: "team/key",
    auth_config: { vault_auth_type: "token", vault_addr: "https://vault.example", vault_token: "not-a-real-token" },
  });
  await keyOf(stand, "member", "leaving");
}

/** Records of the organisation that its workspaces may use. */
async function share(): Promise<void> {
  const { gateway, call, workspaceId } = stand;
  const { adminKey } = gateway;
  const workspaces = [{ id: workspaceId, enabled: true }];
  await call("POST /v1/integrations", adminKey, { name: "Shared", slug: "shared", ai_provider_id: "echo" });
  await call("PUT /v1/integrations/shared/workspaces", adminKey, { workspaces });
  const server = { url: "https://tools.example/mcp", auth_type: "none", transport: "http" };
  await call("POST /v1/mcp-integrations", adminKey, { name: "Shared", slug: "shared-tools", ...server });
  await call("PUT /v1/mcp-integrations/shared-tools/workspaces", adminKey, { workspaces });
  const checks = [{ id: "default.contains", parameters: { words: ["card"], operator: "none" } }];
  await call("POST /v1/guardrails", adminKey, { name: "Shared", checks, actions: {} });
}

before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  await fillMore();
  await share();
  opened = await signInAll(stand);
});
after(() => stand?.close());

/** The record that everyone sees, as its owner sees it. */
async function findExisting({
  api,
  owner,
  existing = "",
  stored = existing,
  address = "id",
}: RoleRow): Promise<string> {
  const answer = await stand.call(`GET ${api}`, stand.gateway[owner]);
  const rows = [answer.data, answer.mappings, answer.workspaces].find(Array.isArray) ?? [];
  const found = rows.find((row: unknown) => JSON.stringify(row).includes(stored));
  assert.ok(found, JSON.stringify(answer));
  return String(Reflect.get(found, address));
}

/** Requires that the API refuses what a verb does. */
async function requireRefused(one: ConsolePage, row: RoleRow, verb: Verb, id: string): Promise<void> {
  const at = `${row.api}/${encodeURIComponent(id)}`;
  const calls = { create: `POST ${row.makes ?? row.api}`, edit: `PUT ${at}`, delete: `DELETE ${at}` };
  assert.equal(await callAs(one, calls[verb], verb === "delete" ? undefined : {}), 403, calls[verb]);
}

const newLink = ({ page }: ConsolePage, { page: path }: RoleRow) => page.locator(`main a[href="/console${path}/new"]`);
const rowOf = ({ page }: ConsolePage, name: string) =>
  page
    .getByRole("row")
    .filter({ hasText: new RegExp(name) })
    .first();

async function openRecord(one: ConsolePage, name: string): Promise<string> {
  const { page } = one;
  await rowOf(one, name).click();
  await page.getByRole("tab", { name: "Details" }).waitFor();
  return decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
}

/** Makes a record by its form and leads to its page. */
async function create(one: ConsolePage, row: RoleRow, name: string): Promise<string> {
  const { page } = one;
  await newLink(one, row).first().click();
  await submitOf(page).waitFor();
  await fillForm(page, row.form?.(name) ?? {});
  await submitOf(page).click();
  if (row.secret === true) await takeSecret(page);
  await page.waitForURL(({ pathname }) => !pathname.endsWith("/new"));
  const { pathname } = new URL(page.url());
  if (pathname === `/console${row.page}`) return openRecord(one, row.called?.(name) ?? name);
  await page.getByRole("tab", { name: "Details" }).waitFor();
  return decodeURIComponent(pathname.split("/").at(-1) ?? "");
}

async function edit(one: ConsolePage, row: RoleRow, id: string): Promise<void> {
  const { page } = one;
  await editLink(one).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  await fillForm(page, row.change ?? {});
  await page.getByRole("button", { name: "Save" }).click();
  await editLink(one).waitFor();
  const stored = await stand.call(`GET ${row.api}/${encodeURIComponent(id)}`, stand.gateway[row.owner]);
  assert.ok(JSON.stringify(stored).includes(row.changed ?? "nothing"), JSON.stringify(stored));
}

async function remove(one: ConsolePage, row: RoleRow, id: string): Promise<void> {
  const { page } = one;
  await deleteRecord(page, await textOf(page.getByRole("heading", { level: 1 })));
  await page.waitForURL(({ pathname }) => pathname === `/console${row.page}`);
  if (row.lingers === true) return;
  const left = await stand.call(`GET ${row.api}`, stand.gateway[row.owner]);
  assert.ok(!JSON.stringify(left).includes(`"${id}"`), JSON.stringify(left));
}

/** What anybody may do to records of a page. */
const verbsOf = ({ may }: RoleRow): readonly Verb[] => [...new Set(viewers.flatMap((viewer) => may[viewer] ?? []))];

async function requireHidden(one: ConsolePage, row: RoleRow): Promise<void> {
  await one.open("/prompts");
  const links = one.page.getByRole("navigation", { name: "Pages" }).locator(`a[href="/console${row.page}"]`);
  await one.page.getByRole("navigation", { name: "Pages" }).getByRole("link").first().waitFor();
  assert.equal(await links.count(), 0);
  assert.equal(await callAs(one, `GET ${row.api}`), 403);
  const id = await findExisting(row);
  for (const verb of verbsOf(row)) await requireRefused(one, row, verb, id);
  if (row.form === undefined) return;
  await one.open(`${row.page}/new`);
  await one.page.getByText("Your session does not include the right to write this").waitFor();
}

/** Requires that the open record shows exactly what a viewer may do to it. */
async function requireShown(one: ConsolePage, row: RoleRow, viewer: Viewer, id: string): Promise<void> {
  const may = row.may[viewer] ?? [];
  await settle(one);
  assert.equal(await editLink(one).count(), may.includes("edit") ? 1 : 0, "Edit");
  assert.equal(await deleteButton(one).count(), may.includes("delete") ? 1 : 0, "Delete");
  for (const control of row.controls ?? []) {
    const isAllowed = control.may.includes(viewer);
    const buttons = one.page.getByRole("main").getByRole("button", { name: control.name, exact: true });
    assert.equal(await buttons.count(), isAllowed ? 1 : 0, control.name);
    if (!isAllowed) assert.equal(await callAs(one, control.row.replace("{id}", encodeURIComponent(id)), {}), 403);
  }
  assert.deepEqual(await failuresOf(one), []);
}

/** The page of a viewer who sees the records. */
async function walk(one: ConsolePage, row: RoleRow, viewer: Viewer): Promise<void> {
  const may = row.may[viewer] ?? [];
  await one.open(row.page);
  if (row.existing !== undefined) await rowOf(one, row.existing).waitFor();
  else await one.page.waitForLoadState("networkidle");
  assert.equal((await newLink(one, row).count()) > 0, may.includes("create"), "the link to the form");
  const id = may.includes("create")
    ? await create(one, row, `${viewer}${row.page.replace("/", "-")}`)
    : await openRecord(one, row.existing ?? "");
  await requireShown(one, row, viewer, id);
  for (const verb of verbsOf(row)) if (!may.includes(verb)) await requireRefused(one, row, verb, id);
  if (may.includes("edit")) await edit(one, row, id);
  if (may.includes("delete")) await remove(one, row, id);
}

for (const row of roleRows) {
  // who deletes what everyone sees comes last
  for (const viewer of ["member", "manager", "admin"] as const) {
    const may = row.may[viewer];
    const what = may === undefined ? "is hidden" : may.length === 0 ? "is read" : may.join(", ");
    test(`${row.page} as ${viewer}: ${what}`, { skip: noConsole }, async () => {
      const one = opened[viewer];
      if (may === undefined) await requireHidden(one, row);
      else await walk(one, row, viewer);
      assertClean(one);
    });
  }
}

/** Pages that are not made of records, or have separate tests. */
const others = [
  "/",
  "/logs",
  "/analytics",
  "/health",
  "/sessions",
  "/playground",
  "/prompts",
  "/configs",
  "/models",
  "/settings",
  "/audit",
];

test("every page of records has a row", { skip: noConsole }, async () => {
  const shown = new Set([...(await listPages(opened.admin)), ...(await listPages(opened.manager))]);
  const records = [...shown].filter((page) => !others.includes(page));
  assert.deepEqual(records.toSorted(), roleRows.map(({ page }) => page).toSorted());
});

for (const path of ["/integrations", "/mcp-integrations", "/guardrails"]) {
  test(`${path}: what the organisation shares is shown to a manager, who cannot change it`, {
    skip: noConsole,
  }, async () => {
    const one = opened.manager;
    await one.open(path);
    await openRecord(one, "Shared");
    await settle(one);
    assert.equal(await editLink(one).count(), 0);
    assert.equal(await deleteButton(one).count(), 0);
    assert.deepEqual(await failuresOf(one), []);
    assertClean(one);
  });
}
