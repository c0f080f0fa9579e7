// Each kind of record of the control plane: made, seen in its list, opened, changed and deleted in the browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  deleteRecord,
  type FormValues,
  fillForm,
  noConsole,
  openStand,
  submitOf,
  takeSecret,
  textOf,
} from "./support.ts";

interface Journey {
  readonly path: string;
  readonly as: "admin" | "workspace";
  readonly create: FormValues;
  /** What the list and the detail page call the record. */
  readonly name: string;
  readonly update?: FormValues;
  /** What the detail page shows after the change. */
  readonly changed?: string;
  /** A secret is shown once after the record was made. */
  readonly secret?: boolean;
  /** Records of this kind cannot be deleted. */
  readonly stays?: boolean;
  /** A deleted record stays in the list with another status. */
  readonly lingers?: boolean;
  /** What must be typed to delete it. Default: `name`. */
  readonly typed?: string;
}

const gptModels = { lines: [{ "Of the request": "Model", "Is one of": ["gpt-*"], "But not": ["gpt-3*"] }] };

const journeys: readonly Journey[] = [
  {
    path: "/api-keys",
    as: "workspace",
    create: { Name: "Key of a journey", Scopes: ["completions.write"] },
    name: "Key of a journey",
    update: { Description: "Changed by hand" },
    changed: "Changed by hand",
    secret: true,
  },
  {
    path: "/api-keys",
    as: "admin",
    create: { Kind: "Organisation service (admin)", Name: "Admin key of a journey", Scopes: ["workspaces.list"] },
    name: "Admin key of a journey",
    secret: true,
  },
  {
    path: "/api-keys",
    as: "admin",
    create: { Workspace: "default", Name: "First key of an admin", Scopes: ["completions.write"] },
    name: "First key of an admin",
    secret: true,
  },
  {
    path: "/integrations",
    as: "workspace",
    create: {
      Name: "Integration of a journey",
      Provider: "openai",
      Slug: "journey-openai",
      "API key": "sk-not-a-real-key",
      "Create a provider in the workspaces": "off",
    },
    name: "Integration of a journey",
    update: { Name: "Integration renamed" },
    changed: "Integration renamed",
    typed: "Integration renamed",
  },
  {
    path: "/providers",
    as: "workspace",
    create: { Name: "Provider of a journey", Integration: "Kept integration", Slug: "journey-provider" },
    name: "Provider of a journey",
    update: { Description: "For the team" },
  },
  {
    path: "/model-aliases",
    as: "workspace",
    create: { Name: "journey-alias", Model: "@kept/echo-1" },
    name: "journey-alias",
    update: { Model: "@kept/echo-2" },
    changed: "@kept/echo-2",
  },
  {
    path: "/guardrails",
    as: "workspace",
    create: { Name: "Guardrail of a journey", "Add check": "Contains", Words: ["card"] },
    name: "Guardrail of a journey",
    update: { "Deny what fails": "on" },
    changed: "Denies requests and responses that fail",
  },
  {
    path: "/usage-limits",
    as: "workspace",
    create: { Name: "Budget of a journey", Limit: "25", Conditions: gptModels },
    name: "Budget of a journey",
    update: { "Alert at": "20" },
    changed: "20",
  },
  {
    path: "/rate-limits",
    as: "workspace",
    create: { Name: "Rate limit of a journey", Limit: "60", Conditions: gptModels },
    name: "Rate limit of a journey",
    update: { Limit: "90" },
    changed: "90",
  },
  {
    path: "/mcp-integrations",
    as: "workspace",
    create: {
      Name: "Tools of a journey",
      Address: "https://tools.example/mcp",
      Slug: "journey-tools",
      Authorization: "Headers",
      Headers: { lines: [{ Name: "x-tools-key", Value: "not-a-real-key" }] },
    },
    name: "Tools of a journey",
    update: { Name: "Tools renamed" },
    changed: "Tools renamed",
    typed: "Tools renamed",
  },
  {
    path: "/mcp-servers",
    as: "workspace",
    create: { Name: "Server of a journey", Integration: "Kept tools", Slug: "journey-server" },
    name: "Server of a journey",
    update: { Description: "For agents" },
    changed: "For agents",
  },
  {
    path: "/mcp-oauth-clients",
    as: "workspace",
    create: { Name: "Client of a journey", "Redirect URLs": ["https://client.example/back"] },
    name: "Client of a journey",
    secret: true,
  },
  {
    path: "/workspaces",
    as: "admin",
    create: { Name: "Workspace of a journey" },
    name: "Workspace of a journey",
    update: { Description: "A team" },
    changed: "A team",
  },
  {
    path: "/invites",
    as: "admin",
    create: { "E-mail": "journey@example.com" },
    name: "journey@example.com",
    secret: true,
    lingers: true,
  },
  {
    path: "/scim-tokens",
    as: "admin",
    create: { Name: "Token of a journey" },
    name: "Token of a journey",
    secret: true,
  },
  {
    path: "/secret-references",
    as: "admin",
    create: {
      Name: "Secret of a journey",
      Path: "team/key",
      "URL of the vault": "https://vault.example",
      Token: "not-a-real-token",
    },
    name: "Secret of a journey",
    update: { Description: "In the vault" },
  },
  {
    path: "/exports",
    as: "workspace",
    create: { Description: "Export of a journey" },
    name: "Export of a journey",
    stays: true,
  },
  {
    path: "/partials",
    as: "workspace",
    create: { Name: "Partial of a journey", Template: "Kind regards" },
    name: "Partial of a journey",
    update: { Template: "With kind regards", "What changed": "Kinder" },
  },
  {
    path: "/collections",
    as: "workspace",
    create: { Name: "Collection of a journey" },
    name: "Collection of a journey",
    update: { Name: "Collection renamed" },
    changed: "Collection renamed",
    typed: "Collection renamed",
  },
  {
    path: "/labels",
    as: "workspace",
    create: { Name: "journey" },
    name: "journey",
    update: { Description: "Checked by the team" },
    changed: "Checked by the team",
  },
  {
    path: "/scim-groups",
    as: "admin",
    create: { Workspace: "default", Role: "Manager", Group: "Engineers" },
    name: "Engineers",
  },
];

let stand: ConsoleStand;
const opened: Partial<Record<Journey["as"], ConsolePage>> = {};

before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const { gateway, call } = stand;
  await call("POST /v1/integrations", gateway.workspaceKey, {
    name: "Kept integration",
    ai_provider_id: "echo",
    slug: "kept",
  });
  await call("POST /v1/mcp-integrations", gateway.workspaceKey, {
    name: "Kept tools",
    slug: "kept-tools",
    url: "https://tools.example/mcp",
    auth_type: "none",
    transport: "http",
  });
  opened.admin = await stand.signIn(gateway.adminKey);
  opened.workspace = await stand.signIn(gateway.workspaceKey);
});
after(() => stand?.close());

async function create(page: Page, { create, secret = false }: Journey): Promise<void> {
  await fillForm(page, create);
  await submitOf(page).click();
  if (!secret) return;
  assert.ok((await takeSecret(page)).length >= 16);
}

async function change(page: Page, { update, changed }: Journey): Promise<void> {
  if (update === undefined) return;
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  await fillForm(page, update);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "Edit" }).waitFor();
  if (changed !== undefined) await page.getByRole("main").getByText(changed).first().waitFor();
}

async function remove(page: Page, journey: Journey): Promise<void> {
  const name = journey.typed ?? journey.name;
  await deleteRecord(page, name);
  if (journey.lingers !== true) {
    await page.getByRole("row", { name: new RegExp(name) }).waitFor({ state: "detached" });
  }
}

for (const journey of journeys) {
  test(`${journey.path} as ${journey.as}: made, listed, changed, deleted`, { skip: noConsole }, async () => {
    const one = opened[journey.as];
    if (one === undefined) throw new TypeError("The stand is not open");
    const { page } = one;
    await one.open(`${journey.path}/new`);
    await create(page, journey);
    await submitOf(page).waitFor({ state: "hidden" });
    await one.open(journey.path);
    await page
      .getByRole("row", { name: new RegExp(journey.name) })
      .first()
      .click();
    await page.getByRole("tab", { name: "Details" }).waitFor();
    await change(page, journey);
    if (journey.stays !== true) await remove(page, journey);
    assertClean(one);
  });
}

test("a time is shown and changed in the viewer's zone, and stays as it is where it is not changed", {
  skip: noConsole,
}, async () => {
  const { workspaceKey } = stand.gateway;
  const made = await stand.call("POST /v1/api-keys/workspace/service", workspaceKey, {
    name: "Key that expires",
    scopes: ["completions.write"],
    expires_at: "2099-01-01T00:00:30.000Z",
  });
  const expiry = async () => (await stand.call(`GET /v1/api-keys/${made.id}`, workspaceKey)).expires_at;
  const one = await stand.signIn(workspaceKey, { timeZone: "Asia/Kolkata" });
  const { page } = one;
  const save = async (values: FormValues) => {
    await one.open(`/api-keys/${made.id}/edit`);
    await fillForm(page, values);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("heading", { name: "Key that expires" }).waitFor();
  };
  await one.open(`/api-keys/${made.id}/edit`);
  assert.equal(await page.getByLabel("Expires").inputValue(), "2099-01-01T05:30");
  await save({ Description: "Changed" });
  await page.getByText("Changed", { exact: true }).first().waitFor();
  assert.equal(await expiry(), "2099-01-01T00:00:30.000Z");
  await save({ Expires: "2099-01-01T07:00" });
  await page.getByText("Jan 1, 2099, 07:00").waitFor();
  assert.equal(await expiry(), "2099-01-01T01:30:00.000Z");
  assertClean(one);
});

/** The stored record with a name. */
async function storedOf(path: string, name: string): Promise<Record<string, unknown>> {
  const { data } = await stand.call(`GET /v1${path}`, stand.gateway.workspaceKey);
  const found = (data as Record<string, unknown>[]).find((one) => one.name === name); // a list of records
  assert.ok(found, `${name} in ${path}`);
  return found;
}

test("the queue of a rate limit is made, shown, changed and taken away in the form of the limit", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  const name = "Limit with a queue";
  const queued = (most: string, wait: string): FormValues => ({
    "Wait for room": { lines: [{ "Most that wait": most, "Longest wait (ms)": wait }] },
  });
  await one.open("/rate-limits/new");
  await fillForm(page, { Name: name, Limit: "60", Conditions: gptModels, ...queued("20", "1500") });
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  const facts = page.getByRole("main");
  assert.match(await textOf(facts), /Wait for room.*20.*1,?500/s);
  const made = await storedOf("/policies/rate-limits", name);
  assert.deepEqual(made.queue, { max_waiting: 20, max_wait_ms: 1_500 });
  await change(page, { path: "", as: "workspace", create: {}, name, update: queued("5", "1500") });
  assert.deepEqual((await storedOf("/policies/rate-limits", name)).queue, { max_waiting: 5, max_wait_ms: 1_500 });
  await page.getByRole("link", { name: "Edit" }).click();
  await fillForm(page, queued("0", "1500"));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/These fields need a change: .*Wait for room/).waitFor();
  await page.getByRole("group", { name: "Wait for room 1" }).getByRole("button").click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("link", { name: "Edit" }).waitFor();
  assert.equal((await storedOf("/policies/rate-limits", name)).queue ?? null, null);
  assertClean(one);
});

test("an alias of a pool is made, shown and changed in the form of aliases, and a pool of one model is refused there", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  const [name, models] = ["journey-pool", ["@kept/echo-1", "@kept/echo-2"].map((model) => ({ model }))];
  const pool = (value: object): FormValues => ({ Pool: JSON.stringify(value) });
  await one.open("/model-aliases/new");
  await fillForm(page, { Name: name, ...pool({ models: models.slice(1) }) });
  await submitOf(page).click();
  await page.getByText("At least 2 entries").waitFor();
  await fillForm(page, pool({ models }));
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  assert.match(await textOf(page.getByRole("main")), /@kept\/echo-1.*@kept\/echo-2/s);
  const weighed = { mode: "loadbalance", models: models.map((model) => ({ ...model, weight: 2 })) };
  await change(page, { path: "", as: "workspace", create: {}, name, update: pool(weighed), changed: "loadbalance" });
  assert.deepEqual((await storedOf("/model-aliases", name)).target, { pool: weighed });
  await one.open("/model-aliases");
  await page.getByRole("row", { name: /journey-pool.*@kept\/echo-1, @kept\/echo-2/ }).click();
  await deleteRecord(page, name);
  assertClean(one);
});
