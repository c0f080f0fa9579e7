// deploy/nginx/gateway.conf and deploy/caddy/Caddyfile with the real programs and TLS: streams, MCP, the console, realtime sessions and large bodies.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import WebSocket from "ws";
import { createCertificate } from "../../tests/support/certificate.ts";
import { createFolder, type GatewayProcess, waitFor, withGateway } from "../../tests/support/process.ts";
import { readMessage, startServer } from "../../tests/support/upstream.ts";
import { startSocketUpstream } from "../../tests/support/websocket-upstream.ts";
import { freePort, requirePrograms, root } from "./run.ts";

/** Bytes of a large body. */
const largeBytes = 20_000_000;

interface Site {
  readonly gateway: GatewayProcess;
  readonly url: string;
  /** Certificate of the authority of the site. */
  readonly authority: string;
}

/** Calls the site, whose certificate only the test knows. */
function call({ url, authority, gateway }: Site, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json", ...init.headers };
  return fetch(url + path, Object.assign({ ...init, headers }, { tls: { ca: authority } }));
}

const chat = (content: string, stream = false) =>
  JSON.stringify({ model: "echo-1", stream, messages: [{ role: "user", content }] });
const echo = { "x-gateway-provider": "echo" };

/** Requires that the first event of a stream arrives before the last one was sent. */
async function checkStream(site: Site): Promise<void> {
  const headers = { ...echo, "x-gateway-echo-chunks": "4", "x-gateway-echo-delay-ms": "2000" };
  const response = await call(site, "/v1/chat/completions", {
    method: "POST",
    headers,
    body: chat("one two three four", true),
  });
  const blocks: string[] = [];
  const decoder = new TextDecoder();
  for await (const block of response.body ?? []) blocks.push(decoder.decode(block, { stream: true }));
  assert.ok(blocks.length >= 4, `the stream arrived in ${blocks.length} blocks`);
  assert.doesNotMatch(blocks[0] ?? "", /\[DONE\]/);
  assert.match(blocks.at(-1) ?? "", /\[DONE\]/);
}

async function checkLargeBody(site: Site): Promise<void> {
  const content = "x".repeat(largeBytes);
  const response = await call(site, "/v1/chat/completions", { method: "POST", headers: echo, body: chat(content) });
  const text = await response.text();
  assert.equal(response.status, 200, text.slice(0, 500));
  assert.equal(JSON.parse(text).choices[0].message.content.length, largeBytes);
}

/** Requires the page, and that its cookie is for TLS alone, since the gateway knows how the client came. */
async function checkConsole(site: Site): Promise<void> {
  const { origin, pathname } = new URL(site.url);
  const page = await call(site, "/console");
  assert.ok((await page.text()).includes(`src="${pathname.replace(/\/$/, "")}/console/assets/`));
  const headers = { origin, "sec-fetch-site": "same-origin" };
  const body = JSON.stringify({ key: site.gateway.adminKey });
  const session = await call(site, "/console/session", { method: "POST", headers, body });
  assert.equal(session.status, 200, await session.text());
  assert.match(session.headers.get("set-cookie") ?? "", /; Secure/);
}

/** A tool server with one tool. */
function startToolServer() {
  return startServer(async (message, response) => {
    const { id, method, params } = JSON.parse((await readMessage(message)).toString() || "{}");
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "tools", version: "1" },
      },
      "tools/list": { tools: [{ name: "greet", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "Hello" }] },
    };
    if (id === undefined || message.method !== "POST")
      return void response.writeHead(message.method === "POST" ? 202 : 405).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  });
}

async function checkTools(site: Site): Promise<void> {
  const server = await startToolServer();
  try {
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
      const response = await call(site, path, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await response.text();
      assert.ok(response.ok, `${path} answered ${response.status}: ${text}`);
      return { text, session: response.headers.get("mcp-session-id") };
    };
    const integration = {
      name: "Tools",
      slug: "tools-up",
      url: `${server.url}/mcp`,
      auth_type: "none",
      transport: "http",
    };
    await post("/v1/mcp-integrations", integration);
    await post("/v1/mcp-servers", { name: "Tools", slug: "tools", mcp_integration_id: "tools-up" });
    const protocolVersion = "2025-06-18";
    const accept = { accept: "application/json, text/event-stream", "mcp-protocol-version": protocolVersion };
    const clientInfo = { name: "test", version: "1" };
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion, capabilities: {}, clientInfo },
    };
    const { session } = await post("/m/tools/mcp", initialize, accept);
    const headers = { ...accept, ...(session !== null && { "mcp-session-id": session }) };
    const { text } = await post(
      "/m/tools/mcp",
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "greet", arguments: {} } },
      headers,
    );
    assert.match(text, /"text":"Hello"/);
  } finally {
    await server.close();
  }
}

async function checkRealtime({ gateway, url, authority }: Site): Promise<void> {
  const upstream = await startSocketUpstream({
    open: (socket) => socket.on("message", (data) => socket.send(String(data))),
  });
  try {
    const headers = {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer sk-fake-provider-key-for-tests",
    };
    const socket = new WebSocket(`${url.replace("https", "wss")}/v1/realtime?model=gpt-realtime`, {
      headers,
      ca: authority,
    });
    const event = JSON.stringify({ type: "response.create" });
    const answer = await new Promise<string>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("open", () => socket.send(event));
      socket.on("message", (data) => resolve(String(data)));
    });
    assert.equal(answer, event);
    socket.close();
  } finally {
    await upstream.close();
  }
}

/** A program in front of the gateway. */
interface Proxy {
  stop(): Promise<void>;
}

/** Starts a proxy, and waits until an address of it answers. */
async function startProxy(
  command: readonly string[],
  folder: string,
  probe: string,
  authority?: string,
): Promise<Proxy> {
  const [program = "", ...args] = command;
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (text: Buffer) => {
    output += text.toString();
  });
  const stop = async () => void child.kill("SIGKILL");
  let isUp = false;
  const init: RequestInit = Object.assign({ method: "GET" }, { tls: authority === undefined ? {} : { ca: authority } });
  const look = setInterval(() => {
    fetch(probe, init).then(
      ({ ok }) => {
        isUp ||= ok;
      },
      () => {},
    );
  }, 100);
  await waitFor(`${program} to serve`, 30_000, () => isUp || child.exitCode !== null).finally(() =>
    clearInterval(look),
  );
  if (!isUp) await stop();
  assert.ok(isUp, output);
  return { stop };
}

/** Starts nginx with a site, and waits until an address of it answers. */
export function startNginx(site: string, probe: string, authority?: string): Promise<Proxy> {
  const folder = createFolder();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(join(folder, "site.conf"), site);
  writeFileSync(
    join(folder, "nginx.conf"),
    `user root; daemon off; master_process off; pid ${folder}/pid; error_log stderr warn; events {}
    http { access_log off; ${temporary.join(" ")} include ${folder}/site.conf; }`,
  );
  return startProxy(["nginx", "-c", join(folder, "nginx.conf")], folder, probe, authority);
}

/** Starts Caddy with a site, and waits until an address of it answers. */
function startCaddy(site: string, probe: string, authority: string): Promise<Proxy> {
  const folder = createFolder();
  const file = join(folder, "Caddyfile");
  writeFileSync(file, site);
  return startProxy(["caddy", "run", "--adapter", "caddyfile", "--config", file], folder, probe, authority);
}

/** How a program serves the site of deploy/ with other ports and files. */
interface ProxyKind {
  readonly program: string;
  /** Below which the gateway is. */
  readonly basePath?: string;
  readonly start: (site: string, probe: string, authority: string) => Promise<Proxy>;
  readonly site: (folder: string, port: number, upstream: string) => string;
}

const nginx: ProxyKind = {
  program: "nginx",
  start: startNginx,
  site: (folder, port, upstream) =>
    readFileSync(join(root, "deploy/nginx/gateway.conf"), "utf8")
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("/etc/ssl/gateway.pem", join(folder, "cert.pem"))
      .replace("/etc/ssl/gateway.key", join(folder, "key.pem"))
      .replace("http://127.0.0.1:8787", upstream),
};

/** The same below a path, by the line that the documentation has for it. */
const nginxBelowPath: ProxyKind = {
  ...nginx,
  basePath: "/gateway",
  site(...place) {
    const documented = readFileSync(join(root, "docs/production.md"), "utf8");
    const location = /^location ~ .*gateway.* \{$/m.exec(documented)?.[0] ?? "";
    return nginx.site(...place).replace("location / {", () => location);
  },
};

const caddy: ProxyKind = {
  program: "caddy",
  start: startCaddy,
  // it gets certificates from an authority by itself, which a test does not
  site: (folder, port, upstream) =>
    `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${readFileSync(join(root, "deploy/caddy/Caddyfile"), "utf8")}`
      .replace(/^gateway\.example\.com \{/m, (line) =>
        [
          line.replace("gateway.example.com", `https://127.0.0.1:${port}`),
          `\ttls ${folder}/cert.pem ${folder}/key.pem`,
        ].join("\n"),
      )
      .replace("reverse_proxy 127.0.0.1:8787", `reverse_proxy ${upstream}`),
};

/** Serves the gateway behind a proxy with TLS, and requires that everything passes through. */
async function checkBehind({ program, basePath = "", start, site: siteOf }: ProxyKind): Promise<void> {
  requirePrograms(program);
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const url = origin + basePath;
  const env = { TRUSTED_PROXIES: "127.0.0.1", MCP_GATEWAY_BASE_URL: origin, BASE_PATH: basePath };
  await withGateway({ env }, async (gateway) => {
    const folder = createFolder();
    const { cert, key, authority } = createCertificate();
    writeFileSync(join(folder, "cert.pem"), cert);
    writeFileSync(join(folder, "key.pem"), key, { mode: 0o600 });
    const proxy = await start(siteOf(folder, port, gateway.url), `${url}/health`, authority);
    const site = { gateway, url, authority };
    try {
      await checkStream(site);
      await checkConsole(site);
      await checkTools(site);
      await checkRealtime(site);
      await checkLargeBody(site);
    } finally {
      await proxy.stop();
    }
  });
  console.log(
    `  ${program} with TLS${basePath && ` below ${basePath}`}: streams, the console, MCP, realtime and a body of 20 MB pass`,
  );
}

export async function checkNginx(): Promise<void> {
  await checkBehind(nginx);
  await checkBehind(nginxBelowPath);
}
export const checkCaddy = () => checkBehind(caddy);
