// Runs the official conformance suite against a server.

import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { ConnectionInfo } from "../../src/context.ts";
import type { Gateway } from "../../src/gateway.ts";
import type { McpServer } from "../../src/mcp/registry/mcp-server.ts";
import type { Listener } from "../../src/serve/listener.ts";
import { workspaceKey } from "../support/gateway.ts";
import { createFixture, type FixtureEras, toPlainRequest } from "./fixture.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

/** Serves a function on a free port of this machine. */
export async function serveFetch(
  answer: (request: Request, connection: ConnectionInfo) => Promise<Response>,
): Promise<Listener & { url: string }> {
  const gateway = { fetch: answer } as Gateway; // listeners call nothing else
  const options = { hostname: "127.0.0.1", port: 0, maxBodyBytes: 2 ** 24, isShared: false };
  const listener =
    "Bun" in globalThis
      ? (await import("../../src/serve/bun.ts")).listenOnBun(gateway, options)
      : await (await import("../../src/serve/node.ts")).listenOnNode(gateway, options);
  return Object.assign(listener, { url: `http://localhost:${listener.port}` });
}

/** A gateway in front of the fixture, on a port; every request carries a key. */
export async function startMcpStack(
  eras: FixtureEras,
  change: (answer: (request: Request) => Promise<Response>) => (request: Request) => Promise<Response> = (answer) =>
    answer,
  server: Partial<McpServer> = {},
) {
  const fixture = await serveFetch(createFixture(eras));
  const upstream = mcpServer(`http://127.0.0.1:${fixture.port}/mcp`, server);
  const gateway = await createMcpGateway(serversOf(upstream), {
    mcp: { hosts: new Set(["localhost", "127.0.0.1", "[::1]"]) },
  });
  const front = await serveFetch(async (request, connection) => {
    const headers = new Headers(request.headers);
    headers.set("x-gateway-api-key", workspaceKey);
    const answer = change((changed) => gateway.gateway.fetch(changed, connection));
    return answer(await toPlainRequest(request, headers));
  });
  return {
    url: `${front.url}/m/everything/mcp`,
    gateway,
    async close() {
      await front.close();
      await gateway.close();
      await fixture.close();
    },
  };
}

/** What the suite found. */
export interface SuiteResult {
  exitCode: number;
  output: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the suite on the pinned Node. */
export function runSuite(args: readonly string[]): Promise<SuiteResult> {
  const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
  const command = ["scripts/run.mjs", "node", suite, ...args];
  // the runner's own settings are not for the suite
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return new Promise((resolve) => {
    execFile("node", command, { cwd: root, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const exitCode = error ? (typeof error.code === "number" ? error.code : 1) : 0;
      resolve({ exitCode, output: stdout + stderr });
    });
  });
}

/**
 * Scored scenarios of a summary, those that passed and those that failed.
 *
 * @param known Unscored scenarios that the summary does not name as such.
 */
export function scored(output: string, known: ReadonlySet<string> = new Set()): { passed: string[]; failed: string[] } {
  const [summary = "", unscored = ""] = output.slice(output.search(/=== (?:SUITE )?SUMMARY ===/)).split(/^Not scored/m);
  const names = (text: string, mark: string) =>
    [...text.matchAll(new RegExp(`^\\s*${mark} ([a-z0-9/-]+)`, "gm"))].map(([, name = ""]) => name);
  const ignored = new Set([...known, ...names(unscored, "✓"), ...names(unscored, "✗")]);
  const of = (mark: string) => names(summary, mark).filter((name) => !ignored.has(name));
  return { passed: of("✓"), failed: of("✗") };
}
