import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { addPerson } from "../support/people.ts";
import { startServer } from "../support/upstream.ts";
import { serveFetch } from "./conformance.ts";
import { createFixture } from "./fixture.ts";
import { defaultWorkspaceOf, formOf, TestBrowser, userScopes } from "./oauth-support.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

let fixture: Awaited<ReturnType<typeof serveFetch>>;
let front: Awaited<ReturnType<typeof serveFetch>>;
let gateway: Awaited<ReturnType<typeof createMcpGateway>>;
let key: string;

before(async () => {
  fixture = await serveFetch(createFixture("both"));
  gateway = await createMcpGateway(serversOf(mcpServer(`http://127.0.0.1:${fixture.port}/mcp`)));
  front = await serveFetch((request, connection) => gateway.gateway.fetch(request, connection));
  const workspaces = [{ id: await defaultWorkspaceOf(gateway), role: "member" }];
  ({ key } = await addPerson(gateway, "ada@example.com", { workspaces, scopes: userScopes }));
});
after(async () => {
  await front.close();
  await gateway.close();
  await fixture.close();
});

const redirectUrl = "http://localhost:9/callback";
const information = { name: "test", version: "1" };

/** Signs in and consents in a browser; the address it is sent back to. */
async function consent(address: string): Promise<URL> {
  const fetchAsIs = (request: Request) => fetch(request, { redirect: "manual" });
  const browser = new TestBrowser({ gateway: { fetch: fetchAsIs } }, front.url);
  let page = await browser.send(address);
  page = await browser.submit(formOf(page), { key });
  page = await browser.submit(formOf(page), { decision: "allow" });
  return new URL(page.headers.get("location") ?? "");
}

/** What a client library asks its program for. */
function createProvider() {
  const held: Record<string, unknown> = {};
  let asked: URL | undefined;
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: "A real client",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => held.client,
    saveClientInformation: (client: unknown) => {
      held.client = client;
    },
    tokens: () => held.tokens,
    saveTokens: (tokens: unknown) => {
      held.tokens = tokens;
    },
    redirectToAuthorization: (url: URL) => {
      asked = url;
    },
    saveCodeVerifier: (verifier: string) => {
      held.verifier = verifier;
    },
    codeVerifier: () => String(held.verifier),
    saveDiscoveryState: (state: unknown) => {
      held.discovery = state;
    },
    discoveryState: () => held.discovery,
  };
  return { provider: provider as never, asked: () => String(asked), held };
}

/** What the test asks of a client, whatever its library. */
interface AnyClient {
  connect(transport: never): Promise<void>;
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const address = () => new URL(`${front.url}/m/everything/mcp`);
const modern = (mode: "legacy" | "auto") => new ModernClient(information, { versionNegotiation: { mode } });

for (const [name, create, createTransport, finish] of [
  [
    "the client of version 1",
    () => new FirstClient(information),
    (authProvider: never) => new FirstTransport(address(), { authProvider }),
    (transport: FirstTransport, answer: URL) => transport.finishAuth(answer.searchParams.get("code") ?? ""),
  ],
  ...(["legacy", "auto"] as const).map(
    (mode) =>
      [
        `the client of version 2, mode ${mode},`,
        () => modern(mode),
        (authProvider: never) => new ModernTransport(address(), { authProvider }),
        (transport: ModernTransport, answer: URL) => transport.finishAuth(answer.searchParams),
      ] as const,
  ),
] as const) {
  test(`${name} discovers, registers, authorizes, lists and calls`, async () => {
    const { provider, asked, held } = createProvider();
    const transport = createTransport(provider);
    // the libraries' types do not allow for exactOptionalPropertyTypes
    await assert.rejects((create() as unknown as AnyClient).connect(transport as never));
    const answer = await consent(asked());
    await finish(transport as never, answer);
    const client = create() as unknown as AnyClient;
    await client.connect(createTransport(provider) as never);
    const { tools } = await client.listTools();
    assert.ok(tools.some((tool) => tool.name === "test_simple_text"));
    const { content } = (await client.callTool({ name: "test_simple_text", arguments: {} })) as { content: unknown };
    assert.deepEqual(content, [{ type: "text", text: "This is a simple text response for testing." }]);
    assert.ok((held.tokens as { refresh_token?: string }).refresh_token);
    await client.close();
  });
}

/** Registers a client for an address. */
async function register(redirectUri: string): Promise<string> {
  const body = JSON.stringify({ client_name: "The suite", redirect_uris: [redirectUri] });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${front.url}/m/oauth/register`, { method: "POST", headers, body });
  return String(JSON.parse(await response.text()).client_id);
}

/** A port that nobody listens on now. */
async function freePort(): Promise<number> {
  const server = await startServer(() => {});
  await server.close();
  return server.port;
}

test("the authorization scenarios of the official conformance suite pass against the issuer", async () => {
  const port = await freePort();
  const clientId = await register(`http://127.0.0.1:${port}/callback`);
  const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
  const resource = `${front.url}/m/everything/mcp`;
  const args = ["authorization", "--url", `${front.url}/m`, "--client-id", clientId, "--resource", resource];
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const child = spawn("node", ["scripts/run.mjs", "node", suite, ...args, "--port", String(port)], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env,
  });
  let output = "";
  const walked: Promise<unknown>[] = [];
  const seen = new Set<string>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    for (const [found] of output.matchAll(/http:\/\/localhost:\d+\/m\/oauth\/authorize\?\S+(?=\s)/g)) {
      if (seen.has(found)) continue;
      seen.add(found);
      walked.push(consent(found).then((answer) => fetch(answer)));
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const exitCode = await new Promise((resolve) => child.on("close", resolve));
  await Promise.all(walked);
  assert.equal(exitCode, 0, output);
  assert.ok(seen.size > 0, output);
});
