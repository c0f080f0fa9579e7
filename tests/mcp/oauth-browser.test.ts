import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readJson } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { sample } from "../support/sample.ts";
import { startServer, type Upstream } from "../support/upstream.ts";
import { noBrowser, openPage, type Page } from "./browser.ts";
import { serveFetch } from "./conformance.ts";
import { challenge, defaultWorkspaceOf, type Tokens, userScopes, verifier } from "./oauth-support.ts";
import { createMcpGateway, mcpServer, rpc, serversOf } from "./support.ts";
import { type Provider, startProvider } from "./upstream-support.ts";

// A browser walks from registration to a call, with the keyboard alone.

let provider: Provider;
let front: Awaited<ReturnType<typeof serveFetch>>;
let gateway: Awaited<ReturnType<typeof createMcpGateway>>;
let callback: Upstream & { answers: URL[] };
let key: string;

before(async () => {
  provider = await startProvider();
  const server = mcpServer(`${provider.url}/mcp`, { authType: "oauth_auto" });
  gateway = await createMcpGateway(serversOf(server));
  front = await serveFetch((request, connection) => gateway.gateway.fetch(request, connection));
  const workspaces = [{ id: await defaultWorkspaceOf(gateway), role: "member" }];
  ({ key } = await addPerson(gateway, "ada@example.com", { workspaces, scopes: userScopes }));
  const answers: URL[] = [];
  callback = Object.assign(
    await startServer((request, response) => {
      if (request.url?.startsWith("/callback")) answers.push(new URL(request.url, "http://127.0.0.1"));
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><link rel=icon href=data:,><p>Done");
    }),
    { answers },
  );
});
after(async () => {
  await front.close();
  await gateway.close();
  await callback.close();
  await provider.close();
});

const post = async (path: string, body: string, type: string) =>
  readJson<Record<string, string>>(
    await fetch(front.url + path, { method: "POST", headers: { "content-type": type }, body }),
  );

/** Whether nothing is wider than the page. */
async function requireFit(page: Page): Promise<void> {
  assert.equal(await page.read("document.documentElement.scrollWidth <= 360"), true);
}

const focused = (page: Page) =>
  page.read("document.activeElement.name + ' ' + document.activeElement.value.slice(0, 5)");

for (const scheme of sample(["light", "dark"] as const, 2)) {
  test(`a browser registers, signs in, consents, connects and calls by keyboard (${scheme})`, {
    skip: noBrowser,
  }, async () => {
    const redirect = `http://127.0.0.1:${callback.port}/callback`;
    const client = await post(
      "/m/oauth/register",
      JSON.stringify({ client_name: "A client", redirect_uris: [redirect] }),
      "application/json",
    );
    const resource = `${front.url}/m/everything/mcp`;
    const asked = new URLSearchParams({
      response_type: "code",
      client_id: client.client_id ?? "",
      redirect_uri: redirect,
      code_challenge: challenge,
      code_challenge_method: "S256",
      resource,
      state: "the state",
    });
    const page = await openPage(scheme);
    try {
      await page.open(`${front.url}/m/oauth/authorize?${asked}`);
      await page.until("document.title === 'Sign in'");
      await requireFit(page);
      assert.equal(await page.read("matchMedia('(prefers-color-scheme: dark)').matches"), scheme === "dark");
      await page.press("Tab");
      assert.equal(await focused(page), "key ");
      assert.notEqual(await page.read("getComputedStyle(document.activeElement).outlineStyle"), "none");
      await page.type(key);
      await page.press("Enter");
      await page.until("document.title === 'Allow access?'");
      await requireFit(page);
      await page.press("Tab");
      assert.equal(await focused(page), "decision allow");
      await page.press("Enter");
      // the upstream answers at once, so that the browser only passes its page
      await page.until("document.body.innerText === 'Done'");
      assert.deepEqual(page.problems, []);
    } finally {
      await page.close();
    }
    const answer = callback.answers.at(-1)?.searchParams;
    assert.equal(answer?.get("state"), "the state");
    assert.equal(answer?.get("iss"), `${front.url}/m`);
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: client.client_id ?? "",
      code: answer?.get("code") ?? "",
      redirect_uri: redirect,
      code_verifier: verifier,
      resource,
    });
    const tokens = (await post(
      "/m/oauth/token",
      form.toString(),
      "application/x-www-form-urlencoded",
    )) as unknown as Tokens;
    const response = await fetch(resource, {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.access_token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      },
      body: rpc("tools/call", { name: "a", arguments: {} }),
    });
    const { result } = await readJson<{ result: { content: { text: string }[] } }>(response);
    assert.match(result.content[0]?.text ?? "", /^Bearer access-/);
  });
}
