// A client of the official conformance suite that reaches the suite's servers through a gateway: it connects the account of a
// user where one is asked for, lists the tools and calls them. The address of the server is the last argument.

import process from "node:process";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { addPerson } from "../support/people.ts";
import { serveFetch } from "./conformance.ts";
import { defaultWorkspaceOf, formOf, linkOf, TestBrowser, userScopes } from "./oauth-support.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

const url = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === "2026-07-28";

/** Settings of the integration that a scenario gives. */
function configurations(): Record<string, unknown> {
  const { client_id, client_secret } = context;
  return client_id === undefined ? {} : { oauth_metadata: { client_id, ...(client_secret && { client_secret }) } };
}

const gateway = await createMcpGateway(
  serversOf(mcpServer(url, { authType: "oauth_auto", openConfigurations: async () => configurations() })),
  { trustedHosts: ["127.0.0.1", "localhost"] },
);
const front = await serveFetch((request, connection) => gateway.gateway.fetch(request, connection));
const workspaces = [{ id: await defaultWorkspaceOf(gateway), role: "member" }];
const { key } = await addPerson(gateway, "ada@example.com", { workspaces, scopes: userScopes });

/** Connects the account at an address; false if the gateway refuses to. */
async function connectAccount(address: string): Promise<boolean> {
  const fetchAsIs = (request: Request) => fetch(request, { redirect: "manual" });
  const browser = new TestBrowser({ gateway: { fetch: fetchAsIs } }, front.url);
  let page = await browser.send(address);
  page = await browser.submit(formOf(page), { key });
  page = await browser.submit(formOf(page), { decision: "allow" });
  const link = linkOf(page.text);
  if (link === "") {
    console.error(page.text.replace(/<style.*?<\/style>/s, ""));
    return false;
  }
  const back = await fetch(link, { redirect: "manual" });
  const shown = await browser.send(back.headers.get("location") ?? "");
  if (!/Connected/.test(shown.text)) console.error(shown.text.replace(/<style.*?<\/style>/s, ""));
  return /Connected/.test(shown.text);
}

/** Runs work, connecting an account in between if it is asked for, at most three times. */
async function withAccount<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const data = (error as { data?: { authorization_url?: string } }).data;
      const address = data?.authorization_url ?? /connect your account at (\S+?)(?:["\s]|$)/.exec(String(error))?.[1];
      if (address === undefined || attempt === 3 || !(await connectAccount(address))) throw error;
    }
  }
}

async function connectClient(): Promise<Client> {
  const mode = isModern ? ("auto" as const) : ("legacy" as const);
  const client = new Client({ name: "suite", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${front.url}/m/everything/mcp`), { requestInit }));
  return client;
}

/** Arguments that fit a schema of the suite. */
function argumentsFor(schema: { properties?: Record<string, unknown> } | undefined): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema?.properties ?? {}).map(([name, property]) => {
      const { type } = property as { type?: string };
      const number = name === "a" ? 5 : 3;
      return [name, type === "number" || type === "integer" ? number : type === "boolean" ? true : "a"];
    }),
  );
}

try {
  const client = await withAccount(connectClient);
  const { tools } = await withAccount(() => client.listTools());
  for (const { name, inputSchema } of tools) {
    const call = { name, arguments: argumentsFor(inputSchema as never) };
    await withAccount(() => client.callTool(call)).catch((error) => console.error(String(error)));
  }
  await client.close();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await front.close();
  await gateway.close();
  process.exit();
}
