// The client of the official conformance suite: it reaches the suite's servers through a gateway, connects the account of a
// user where one is asked for, lists the tools and calls them.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import { addPerson } from "../support/people.ts";
import { serveFetch } from "./conformance.ts";
import { defaultWorkspaceOf, formOf, linkOf, TestBrowser, userScopes } from "./oauth-support.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

/** What the suite says of a scenario. */
export interface ClientScenario {
  /** Address of the suite's server. */
  readonly url: string;
  readonly name: string;
  /** Whether the client speaks 2026-07-28. */
  readonly isModern: boolean;
  /** Registered clients, and the calls to make, where a scenario names them. */
  readonly context: Readonly<Record<string, unknown>>;
}

/** The document that the suite takes for a client's own: an operator names it as the client's id. */
const metadataDocument = "https://conformance-test.local/client-metadata.json";

/** Longest duration of a call of a tool: a server may wait for an answer that it does not get. */
const callTimeoutMs = 15_000;
/** Most accounts that a user connects before giving up. */
const maxConnections = 3;

/** The integration as an operator would make it for a scenario. */
function integrationOf({ name, context }: ClientScenario): Partial<McpServer> {
  if (!name.startsWith("auth/")) return { authType: "none" };
  const { client_id, client_secret, private_key_pem } = context;
  const client = {
    ...(typeof client_id === "string" && { client_id }),
    ...(typeof client_secret === "string" && { client_secret }),
    ...(typeof private_key_pem === "string" && {
      private_key: private_key_pem,
      token_endpoint_auth_method: "private_key_jwt",
    }),
    ...(name === "auth/basic-cimd" && { client_id: metadataDocument }),
  };
  const isMachine = name.startsWith("auth/client-credentials-");
  return {
    authType: isMachine ? "oauth_client_credentials" : "oauth_auto",
    openConfigurations: async () => (Object.keys(client).length > 0 ? { oauth_metadata: client } : {}),
  };
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

/** A user with a browser, who connects accounts at upstream servers. */
class AccountOwner {
  readonly #base: string;
  readonly #key: string;
  #connections = 0;

  constructor(base: string, key: string) {
    this.#base = base;
    this.#key = key;
  }

  /** Connects the account at an address; false if the gateway refuses to. */
  async #connect(address: string): Promise<boolean> {
    const fetchAsIs = (request: Request) => fetch(request, { redirect: "manual" });
    const browser = new TestBrowser({ gateway: { fetch: fetchAsIs } }, this.#base);
    let page = await browser.send(address);
    page = await browser.submit(formOf(page), { key: this.#key });
    page = await browser.submit(formOf(page), { decision: "allow" });
    const link = linkOf(page.text);
    if (link === "") return false;
    const back = await fetch(link, { redirect: "manual" });
    await back.body?.cancel();
    return /Connected/.test((await browser.send(back.headers.get("location") ?? "")).text);
  }

  /** Runs work, connecting an account in between if it is asked for. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const { data } = error as { data?: { authorization_url?: string } };
        const asked = data?.authorization_url ?? /connect your account at (\S+?)(?:["\s]|$)/.exec(String(error))?.[1];
        if (asked === undefined || ++this.#connections > maxConnections || !(await this.#connect(asked))) throw error;
      }
    }
  }
}

function createClient(isModern: boolean): Client {
  const client = new Client(
    { name: "suite", version: "1" },
    {
      versionNegotiation: { mode: isModern ? "auto" : "legacy" },
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
    },
  );
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: {} }));
  return client;
}

/** The calls of a scenario: those it names, else one of each tool. */
async function callsOf({ context }: ClientScenario, client: Client) {
  const { tools } = await client.listTools();
  const [first] = tools;
  if (Array.isArray(context.toolCalls)) return context.toolCalls as { name: string; arguments: object }[];
  return tools.map(({ name, inputSchema }) => ({
    name,
    // the suite compares the schema of its first tool with the one that comes back
    arguments: name === "json_schema_echo" ? { schema: first?.inputSchema } : argumentsFor(inputSchema as never),
  }));
}

/**
 * Runs a scenario; rejects where its client would end with an error.
 *
 * @returns What went wrong in single calls.
 */
export async function runClientScenario(scenario: ClientScenario): Promise<string[]> {
  const gateway = await createMcpGateway(serversOf(mcpServer(scenario.url, integrationOf(scenario))), {
    trustedHosts: ["127.0.0.1", "localhost"],
  });
  const front = await serveFetch((request, connection) => gateway.gateway.fetch(request, connection));
  const workspaces = [{ id: await defaultWorkspaceOf(gateway), role: "member" }];
  const { key } = await addPerson(gateway, "ada@example.com", { workspaces, scopes: userScopes });
  const owner = new AccountOwner(front.url, key);
  const problems: string[] = [];
  try {
    const client = await owner.run(async () => {
      const begun = createClient(scenario.isModern);
      const requestInit = { headers: { authorization: `Bearer ${key}` } };
      const address = new URL(`${front.url}/m/everything/mcp`);
      await begun.connect(new StreamableHTTPClientTransport(address, { requestInit }));
      return begun;
    });
    for (const call of await owner.run(() => callsOf(scenario, client))) {
      await owner
        .run(() => client.callTool(call as never, { timeout: callTimeoutMs }))
        .catch((error) => problems.push(String(error)));
    }
    await client.close();
    return problems;
  } finally {
    await front.close();
    await gateway.close();
  }
}
