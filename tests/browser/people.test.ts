// Users, workspaces and the ways to come in, as an admin: from the invite to the removal.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { changeOrganisation, keyOf } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  confirmName,
  createRecord,
  deleteRecord,
  editorOf,
  enterKey,
  fillCode,
  fillForm,
  noConsole,
  openStand,
  submitOf,
  takeSecret,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
let admin: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  admin = await stand.signIn(stand.gateway.adminKey);
});
after(() => stand?.close());

const keyScopes = ["completions.write", "logs.list"];

/** Invites a person to the workspace `default` with the form; returns the link. */
async function invite(email: string): Promise<string> {
  await createRecord(admin, "/invites", {
    "E-mail": email,
    Workspaces: ["default"],
    "Role in the workspaces": "Member",
    "Scopes of the key made for the user": keyScopes,
  });
  return takeSecret(admin.page);
}

/** Accepts an invite behind its link and returns the key that is shown. */
async function acceptLink(link: string, first: string): Promise<string> {
  const invited = await stand.visit();
  const { page } = invited;
  await page.goto(link);
  await page.getByLabel("First name").fill(first);
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByRole("heading", { name: "You are a user now" }).waitFor();
  const key = await textOf(page.locator("pre"));
  await page.getByRole("link", { name: "Sign in" }).click();
  await enterKey(page, key);
  await page.getByRole("button", { name: "Account" }).waitFor();
  assertClean(invited);
  await invited.context.close();
  return key;
}

/** Status of a request to a model with a key. */
async function statusOf(key: string): Promise<number> {
  const response = await fetch(`${stand.gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

test("a person is invited, accepts by the link, signs in, gets another role and is removed", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  const key = await acceptLink(await invite("ada@example.com"), "Ada");
  assert.equal(await statusOf(key), 200);
  await admin.open("/users");
  const inviting = page.getByRole("link", { name: "Invite user" });
  assert.match((await inviting.getAttribute("href")) ?? "", /\/invites\/new$/);
  await page.getByRole("row", { name: /ada@example\.com Ada/ }).click();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  await fillForm(page, { Role: "Admin" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dd").getByText("Admin", { exact: true }).waitFor();
  await deleteRecord(page, "ada@example.com");
  await page.getByRole("row", { name: /ada@example\.com/ }).waitFor({ state: "detached" });
  assert.equal(await statusOf(key), 401);
  assertClean(admin);
});

test("an invite that is sent again has a new link, and the former one is refused in the gateway's words", {
  skip: noConsole,
}, async () => {
  const { page } = admin;
  const former = await invite("bob@example.com");
  await page.getByRole("button", { name: "Send again" }).click();
  const link = await takeSecret(page);
  assert.notEqual(link, former);
  const late = await stand.visit();
  await late.page.goto(former);
  await late.page.getByRole("button", { name: "Accept" }).click();
  assert.match(await textOf(late.page.getByRole("alert")), /invite[\s\S]*Status 4\d\d/i);
  await late.context.close();
  await acceptLink(link, "Bob");
  await admin.open("/invites");
  await page.getByRole("row", { name: /bob@example\.com Member Accepted/ }).waitFor();
  assertClean(admin);
});

test("a workspace is made, and members of it are added, changed and removed", { skip: noConsole }, async () => {
  const { page } = admin;
  await acceptLink(await invite("cleo@example.com"), "Cleo");
  await createRecord(admin, "/workspaces", { Name: "Research" });
  await page.getByRole("heading", { name: "Research" }).waitFor();
  const members = page.getByRole("region", { name: "Members" });
  await members.getByText("No members yet.").waitFor();
  await members.getByLabel("User", { exact: true }).click();
  await page.getByRole("option", { name: "cleo@example.com" }).click();
  await members.getByRole("button", { name: "Add member" }).click();
  const role = members.getByLabel("Role: cleo@example.com");
  await role.click();
  await page.getByRole("option", { name: "manager" }).click();
  const id = page.url().split("/").at(-1);
  const read = () => stand.call(`GET /v1/admin/workspaces/${id}/users`, stand.gateway.adminKey);
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('[aria-label="Role: cleo@example.com"]')?.value === "Manager",
  );
  assert.match(JSON.stringify(await read()), /"role":"manager"/);
  await confirmName(page, "cleo@example.com", "Remove");
  await members.getByText("No members yet.").waitFor();
  await deleteRecord(page, "Research");
  assertClean(admin);
});

test("a manager of a workspace adds a member by the e-mail address", { skip: noConsole }, async () => {
  await acceptLink(await invite("dora@example.com"), "Dora");
  const manager = await stand.signIn(await keyOf(stand, "manager"));
  const { page } = manager;
  const { data } = JSON.parse(JSON.stringify(await stand.call("GET /v1/admin/workspaces", stand.gateway.adminKey)));
  const [{ id }] = data;
  const users = JSON.parse(JSON.stringify(await stand.call("GET /v1/admin/users", stand.gateway.adminKey))).data;
  const dora = users.find((user: { email: string }) => user.email === "dora@example.com");
  await stand.call(`DELETE /v1/admin/workspaces/${id}/users/${dora.id}`, stand.gateway.adminKey);
  await manager.open(`/workspaces/${id}`);
  const members = page.getByRole("region", { name: "Members" });
  await members.getByLabel("E-mail address of the user").fill("Dora@Example.com");
  await members.getByRole("button", { name: "Add member" }).click();
  await members.getByLabel("Role: dora@example.com").waitFor();
  assert.equal(await members.getByLabel("E-mail address of the user").inputValue(), "");
  assertClean(manager);
  await manager.context.close();
});

test("defaults, limits and permissions of a workspace are set by a form", { skip: noConsole }, async () => {
  const { page } = admin;
  await stand.call("POST /v1/guardrails", stand.gateway.adminKey, {
    name: "For requests",
    checks: [{ id: "default.contains", parameters: { words: ["card"], operator: "none" } }],
  });
  const opened = ["configs", "user_api_keys"];
  await changeOrganisation(stand, { workspace_override: opened });
  await createRecord(admin, "/workspaces", {
    Name: "Formed",
    Metadata: { lines: [{ Name: "team", Value: "search" }] },
    "Guardrails on requests": ["For requests"],
  });
  await page.getByRole("heading", { name: "Formed" }).waitFor();
  const id = page.url().split("/").at(-1);
  const read = async () => stand.call(`GET /v1/admin/workspaces/${id}`, stand.gateway.adminKey);
  const made = JSON.parse(JSON.stringify(await read()));
  assert.deepEqual(made.defaults.metadata, { team: "search" });
  assert.equal(made.defaults.input_guardrails.length, 1);
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Maximum keys per user").fill("2");
  await page.getByLabel("Members: view configs").setChecked(false);
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "PUT"),
    page.getByRole("button", { name: "Save" }).click(),
  ]);
  assert.deepEqual(sent.postDataJSON(), {
    settings: { user_api_key_count: 2 },
    security_settings: { membersViewConfigs: false },
  });
  await page.getByRole("link", { name: "Edit" }).waitFor();
  const changed = JSON.parse(JSON.stringify(await read()));
  assert.equal(changed.settings.user_api_key_count, 2);
  assert.equal(changed.security_settings.membersViewConfigs, false);
  assert.deepEqual(changed.defaults, made.defaults);
  assertClean(admin);
});

test("an API key that was written as JSON is made by the form it fills", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/api-keys/new");
  const choose = (side: string) =>
    page.getByRole("radiogroup", { name: "Form" }).getByText(side, { exact: true }).click();
  await fillForm(page, { Name: "First name" });
  await choose("JSON");
  const body = {
    kind: "workspace/service",
    name: "Typed",
    scopes: ["logs.list"],
    rate_limits: [{ type: "requests", unit: "rpm", value: 5 }],
    defaults: { metadata: { team: "search" } },
  };
  const editor = editorOf(page, "JSON");
  await editor.locator(".cm-line").first().waitFor();
  await fillCode(page, editor, JSON.stringify({ ...body, rate_limits: 5 }));
  await choose("Form");
  await page.getByRole("alert").filter({ hasText: "cannot show rate_limits" }).waitFor();
  await fillCode(page, editor, JSON.stringify(body));
  await choose("Form");
  assert.equal(await page.getByLabel("Name", { exact: false }).first().inputValue(), "Typed");
  const limit = page.getByRole("group", { name: "Rate limits 1" }).getByRole("textbox", { name: "Limit" });
  assert.equal(await limit.inputValue(), "5");
  await page.locator("form button[type=submit]").click();
  await takeSecret(page);
  const { data } = await stand.call("GET /v1/api-keys", stand.gateway.workspaceKey);
  const made = JSON.parse(JSON.stringify(data)).find(({ name }: { name: string }) => name === "Typed");
  assert.deepEqual(made.scopes, ["logs.list"]);
  assert.deepEqual(made.defaults.metadata, { team: "search" });
  assertClean(one);
  await one.context.close();
});

test("a SCIM token is shown once, works, and no longer does once it is deleted", { skip: noConsole }, async () => {
  const { page } = admin;
  await createRecord(admin, "/scim-tokens", { Name: "Directory" });
  const token = await takeSecret(page);
  const list = () => fetch(`${stand.gateway.url}/scim/v2/Users`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await list()).status, 200);
  await page.getByRole("row", { name: /Directory/ }).click();
  assert.equal((await textOf(page.getByRole("main"))).includes(token), false);
  await deleteRecord(page, "Directory");
  assert.equal((await list()).status, 401);
  assertClean(admin);
});

test("the budget of an API key has its unit and its period beside it", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/api-keys/new");
  await fillForm(page, { Name: "With a budget", Scopes: ["logs.list"], Budget: "5" });
  await page.getByRole("combobox", { name: "Starts again" }).click();
  await page.getByRole("option", { name: "Weekly" }).click();
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/v1/api-keys/")),
    submitOf(page).click(),
  ]);
  const { usage_limits: budget } = sent.postDataJSON();
  assert.deepEqual(budget, { credit_limit: 5, periodic_reset: "weekly", type: "cost" });
  await takeSecret(page);
  assertClean(one);
});

test("an API key is rotated: the new secret is shown once and works", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  await createRecord(one, "/api-keys", { Name: "To rotate", Scopes: ["completions.write"] });
  const former = await takeSecret(one.page);
  await one.page.getByRole("heading", { name: "To rotate" }).waitFor();
  await one.page.getByText("default", { exact: true }).first().waitFor();
  await one.page.getByRole("button", { name: "Rotate" }).click();
  await one.page.getByText("The key has a new secret").waitFor();
  const secret = await takeSecret(one.page);
  assert.notEqual(secret, former);
  assert.equal(await statusOf(secret), 200);
  assertClean(one);
  await one.context.close();
});

test("a secret reference is mapped to the key of an integration", { skip: noConsole }, async () => {
  const { page } = admin;
  await createRecord(admin, "/secret-references", {
    Name: "Key in the vault",
    Slug: "vault-key",
    Path: "team/key",
    "URL of the vault": "https://vault.example",
    Token: "not-a-real-token",
  });
  await page.getByRole("heading", { name: "Key in the vault" }).waitFor();
  assert.equal((await textOf(page.getByRole("main"))).includes("not-a-real-token"), false);
  await createRecord(admin, "/integrations", {
    Name: "With a vault",
    Provider: "openai",
    Slug: "with-a-vault",
    "Secret references": { lines: [{ Member: "key", "Secret reference": "Key in the vault" }] },
    "Create a provider in the workspaces": "off",
  });
  await page.getByRole("heading", { name: "With a vault" }).waitFor();
  await page
    .getByText(/vault-key/)
    .first()
    .waitFor();
  assertClean(admin);
});
