// Single sign-on in a real browser: from the page that was asked for to the identity provider and back to it.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { chat } from "./data.ts";
import { type ConsolePage, type ConsoleStand, enterKey, noConsole, openStand, signOut, textOf } from "./support.ts";

type Provider = Awaited<ReturnType<typeof startIdentityProvider>>;

let stand: ConsoleStand;
let provider: Provider | undefined;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const { call, gateway, workspaceId } = stand;
  const workspaces = [{ id: workspaceId, role: "manager" }];
  await call("POST /v1/admin/users/invites", gateway.adminKey, {
    email: "ada@example.com",
    role: "member",
    workspaces,
  });
  for (const model of ["echo-1", "echo-2"]) await chat(stand, "Hello", { model });
});
afterEach(async () => {
  await provider?.close();
  provider = undefined;
});
after(() => stand?.close());

/** Starts an identity provider that asks its users, and makes it that of the organisation. */
async function trust(claims: object = {}): Promise<void> {
  provider = await startIdentityProvider({ claims, asks: true });
  const { call, gateway } = stand;
  const { data } = await call("GET /v1/organisations/self", gateway.adminKey);
  const id = typeof data === "object" && data !== null ? String(Reflect.get(data, "id")) : "";
  const oidc = { issuer: provider.url, client_id: "gateway", client_secret: "aFakeSecret" };
  await call(`PUT /v1/organisations/${id}/auth-settings`, gateway.adminKey, { oidc });
}

/** Address of the console under another name than that of the identity provider: the browser sees two sites. */
const origin = () => stand.gateway.url.replace("127.0.0.1", "localhost");

/** Asks for a page and goes to the identity provider. */
async function goToProvider(path: string): Promise<ConsolePage> {
  const one = await stand.visit();
  await one.page.goto(`${origin()}/console${path}`);
  await one.page.getByRole("link", { name: "Sign in with your identity provider" }).click();
  await one.page.waitForURL(`${provider?.url}/authorize?*`);
  return one;
}

const decide = ({ page }: ConsolePage, decision: "allow" | "refuse") =>
  page.getByRole("button", { name: decision }).click();

/** What went wrong, but for pages of the gateway under its other name and of the identity provider. */
const problemsOf = ({ problems }: ConsolePage) =>
  problems
    .splice(0)
    .filter(
      (problem) => !problem.startsWith(`loaded: ${origin()}/`) && !problem.startsWith(`loaded: ${provider?.url}/`),
    );

test("a user signs in at the identity provider, is back at the page that was asked for, and signs out", {
  skip: noConsole,
}, async () => {
  await trust();
  const one = await goToProvider("/logs?model=echo-2");
  const { page, context } = one;
  await decide(one, "allow");
  await page.waitForURL(`${origin()}/console/logs?model=echo-2`);
  await page.locator("[data-index='0']").waitFor();
  assert.equal(await page.locator("[data-index]").count(), 1);
  const cookies = (await context.cookies()).filter(({ name }) => name === "gateway-console");
  assert.deepEqual(
    cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]),
    [[true, "Strict"]],
  );
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByText("ada@example.com").waitFor();
  await page.keyboard.press("Escape");
  await signOut(one);
  await page.reload();
  await page.getByLabel("Gateway key").waitFor();
  assert.deepEqual(problemsOf(one), []);
});

test("a refusal at the identity provider is shown, and a key then leads to the page that was asked for", {
  skip: noConsole,
}, async () => {
  await trust();
  const one = await goToProvider("/logs?model=echo-2");
  const { page } = one;
  await decide(one, "refuse");
  await page.waitForURL(`${origin()}/console/sign-in?*`);
  assert.match(await textOf(page.getByRole("alert")), /^The identity provider did not confirm who you are$/);
  await enterKey(page, stand.gateway.workspaceKey);
  await page.locator("[data-index='0']").waitFor();
  assert.equal(page.url(), `${origin()}/console/logs?model=echo-2`);
  assert.deepEqual(problemsOf(one), []);
});

test("whom the gateway does not know gets its message, and may begin again", { skip: noConsole }, async () => {
  await trust({ email: "nobody@example.com", sub: "nobody" });
  const one = await goToProvider("/guardrails");
  const { page } = one;
  await decide(one, "allow");
  await page.waitForURL(`${origin()}/console/sign-in?*`);
  assert.match(await textOf(page.getByRole("alert")), /^You are not a user of this organisation. Ask for an invite$/);
  const link = page.getByRole("link", { name: "Sign in with your identity provider" });
  assert.equal(await link.getAttribute("href"), "/console/sign-in/oidc?return_to=%2Fconsole%2Fguardrails");
  await page.reload();
  await page.getByLabel("Gateway key").waitFor();
  assert.deepEqual(problemsOf(one), []);
});

test("an identity provider that does not answer is said so on the sign-in page", { skip: noConsole }, async () => {
  await trust();
  await provider?.close();
  const one = await stand.visit();
  const { page } = one;
  await page.goto(`${origin()}/console/logs?model=echo-2`);
  await page.getByRole("link", { name: "Sign in with your identity provider" }).click();
  await page.waitForURL(`${origin()}/console/sign-in?problem=unreachable&*`);
  assert.match(await textOf(page.getByRole("alert")), /^The identity provider does not answer$/);
  await enterKey(page, stand.gateway.workspaceKey);
  await page.locator("[data-index='0']").waitFor();
  assert.equal(page.url(), `${origin()}/console/logs?model=echo-2`);
  assert.deepEqual(problemsOf(one), []);
});
