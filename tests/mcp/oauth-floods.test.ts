import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestClock, readJson } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import {
  authorize,
  authorizeAddress,
  codeForm,
  createOauthStack,
  getTokens,
  type OauthStack,
  origin,
  redirectUri,
  type Tokens,
} from "./oauth-support.ts";
import { mcpServer } from "./support.ts";

// What anyone may ask of the authorization server without a credential costs little, and pushes nobody out.

const minute = 60_000;
const clock = createTestClock(Date.now());
let documents: RecordingUpstream;
let stack: OauthStack;
let isBroken = false;
before(async () => {
  documents = await startRecordingUpstream(({ path }, response) => {
    if (isBroken) return response.writeHead(404).end();
    response.setHeader("content-type", "application/json");
    const document = { client_id: `${documents.url}${path}`, client_name: "A document", redirect_uris: [redirectUri] };
    response.end(JSON.stringify({ ...document, padding: "x".repeat(10_000) }));
  });
  stack = await createOauthStack(mcpServer("http://127.0.0.1:9/mcp"), { inFile: true, clock });
});
after(async () => {
  await stack.close();
  await documents.close();
});

const count = async (table: string): Promise<number> => {
  const { rows } = await (await stack.openFile()).read(`SELECT count(*) AS found FROM ${table}`);
  return Number(rows[0]?.found);
};

let asked = 0;
const newDocument = () => `${documents.url}/client-${++asked}`;

/** A request with a form from an address. */
function postFrom(address: string, path: string, form: Record<string, string>): Promise<Response> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams(form).toString();
  const request = new Request(origin + path, { method: "POST", headers, body });
  return stack.gateway.fetch(request, { remoteAddress: address });
}

for (const [path, form] of [
  ["/m/oauth/token", { grant_type: "refresh_token", refresh_token: "none" }],
  ["/m/oauth/revoke", { token: "none" }],
  ["/m/oauth/introspect", { token: "none" }],
] as const) {
  test(`${path} makes the gateway fetch few documents for one address, and stores none`, async () => {
    clock.advance(minute);
    const before = documents.requests.length;
    const statuses: number[] = [];
    for (let index = 0; index < 40; index++) {
      const answer = await postFrom("198.51.100.7", path, { ...form, client_id: newDocument() });
      statuses.push(answer.status);
    }
    assert.equal(documents.requests.length - before, 30);
    assert.equal(statuses.filter((status) => status === 429).length, 10);
    assert.equal(await count("oauth_clients WHERE kind = 'document'"), 0);
  });
}

test("many addresses together make the gateway fetch few documents, and authorization pages count with them", async () => {
  clock.advance(minute);
  const before = documents.requests.length;
  for (let index = 0; index < 250; index++) {
    const address = `2001:db8:${index.toString(16)}::1`;
    if (index % 2 === 0) await postFrom(address, "/m/oauth/revoke", { token: "none", client_id: newDocument() });
    else {
      const request = new Request(authorizeAddress(newDocument()));
      await stack.gateway.fetch(request, { remoteAddress: address });
    }
  }
  assert.equal(documents.requests.length - before, 200);
  assert.equal(await count("oauth_clients WHERE kind = 'document'"), 0);
});

test("documents that cannot be used count as wrong credentials", async () => {
  clock.advance(minute);
  const strict = await createOauthStack(undefined, { authFailuresPerMinute: 3, clock });
  isBroken = true;
  const statuses: number[] = [];
  for (let index = 0; index < 5; index++) {
    const form = { client_id: newDocument(), grant_type: "refresh_token", refresh_token: "none" };
    const answer = await strict.gateway.fetch(
      new Request(`${origin}/m/oauth/token`, { method: "POST", body: new URLSearchParams(form) }),
      { remoteAddress: "198.51.100.9" },
    );
    statuses.push(answer.status);
  }
  isBroken = false;
  await strict.close();
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
});

test("a document is stored when a user consents, and serves the token endpoint while no other can be fetched", async () => {
  clock.advance(minute);
  const id = newDocument();
  const answer = await authorize(stack, id);
  assert.equal(await count(`oauth_clients WHERE id = '${id}'`), 1);
  const form = codeForm(id, answer.searchParams.get("code") ?? "");
  const tokens = await readJson<Tokens>(await stack.post("/m/oauth/token", form));
  assert.equal(tokens.error, undefined);
  // its hour is over, and others used up the minute
  clock.advance(61 * minute);
  for (let index = 0; index < 250; index++) {
    const address = `2001:db8:${index.toString(16)}::1`;
    await postFrom(address, "/m/oauth/revoke", { token: "none", client_id: newDocument() });
  }
  const again = { grant_type: "refresh_token", client_id: id, refresh_token: tokens.refresh_token };
  assert.equal((await readJson<Tokens>(await stack.post("/m/oauth/token", again))).error, undefined);
});

/** Registers a client from an address. */
async function register(address: string): Promise<{ status: number; client_id: string }> {
  const body = JSON.stringify({ client_name: "A client", redirect_uris: [redirectUri] });
  const headers = { "content-type": "application/json" };
  const request = new Request(`${origin}/m/oauth/register`, { method: "POST", headers, body });
  const answer = await stack.gateway.fetch(request, { remoteAddress: address });
  return { status: answer.status, client_id: (await readJson<{ client_id: string }>(answer)).client_id };
}

test("many addresses together register few clients", async () => {
  clock.advance(minute);
  const statuses: number[] = [];
  for (let index = 0; index < 220; index++) statuses.push((await register(`2001:db8:${index.toString(16)}::1`)).status);
  assert.deepEqual(
    [statuses.filter((one) => one === 201).length, statuses.filter((one) => one === 429).length],
    [200, 20],
  );
});

test("registrations of strangers push out unused clients, and none with tokens or a consent", async () => {
  clock.advance(minute);
  const { clientId, tokens } = await getTokens(stack);
  const { client_id: consented } = await register("192.0.2.200");
  await authorize(stack, consented);
  const { client_id: unused } = await register("192.0.2.201");
  clock.advance(minute);
  const database = await stack.openFile();
  const columns = "name, redirect_uris, grant_types, auth_method, scope, application_type, digest, created_at";
  const values = "'', '[]', '[]', 'none', '', 'native', '', 0";
  await database.write([
    {
      sql: `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10100)
        INSERT INTO oauth_clients (id, kind, last_used_at, ${columns})
        SELECT 'flood_' || n, CASE n % 2 WHEN 0 THEN 'dynamic' ELSE 'document' END, ?, ${values} FROM numbers`,
      args: [clock.now()],
    },
  ]);
  clock.advance(minute);
  await register("192.0.2.202");
  assert.equal(await count("oauth_clients WHERE kind <> 'registered'"), 10_000);
  assert.equal(await count(`oauth_clients WHERE id = '${unused}'`), 0);
  assert.equal(await count(`oauth_clients WHERE id = '${consented}'`), 1);
  const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
  assert.equal((await readJson<Tokens>(await stack.post("/m/oauth/token", form))).error, undefined);
  // at most once in a minute: registering stays cheap however many there are
  await register("192.0.2.203");
  assert.equal(await count("oauth_clients WHERE kind <> 'registered'"), 10_001);
});

for (const scheme of [
  "vbscript.x",
  "blob.x",
  "javascript.x",
  "data.a.b",
  "file.x",
  "JavaScript.x",
  "intent.x",
  "about.x",
]) {
  test(`the scheme ${scheme} cannot be registered for redirects`, async () => {
    clock.advance(minute);
    const body = JSON.stringify({ client_name: "A client", redirect_uris: [`${scheme}:/callback`] });
    const headers = { "content-type": "application/json" };
    const request = new Request(`${origin}/m/oauth/register`, { method: "POST", headers, body });
    assert.equal((await stack.gateway.fetch(request, { remoteAddress: "192.0.2.204" })).status, 400);
  });
}

test("private schemes of apps can be registered", async () => {
  clock.advance(minute);
  for (const address of ["com.example.app:/callback", "cursor://anysphere.cursor-mcp/oauth", "org.data.app:/x"]) {
    const { client_id } = await stack.register({ redirect_uris: [address] });
    assert.ok(client_id, address);
  }
});
