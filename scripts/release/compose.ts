// deploy/compose: the file is read as Compose reads it, and its services run as processes, since no container engine is needed to
// see that two gateways, a database server, Redis and nginx work together.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder, startGatewayProcess } from "../../tests/support/process.ts";
import { hasRedis, startRedis } from "../../tests/support/redis.ts";
import { goProgram } from "./charts.ts";
import { startNginx } from "./proxy.ts";
import { CannotCheckError, freePort, requireAnswer, requirePrograms, root, run } from "./run.ts";

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
}

/** The services of the file, with its variables set. */
async function readServices(): Promise<Readonly<Record<string, Service>>> {
  const folder = createFolder();
  cpSync(join(root, "deploy/compose"), folder, { recursive: true });
  const compose = await goProgram("compose");
  const read = () => run(compose, ["-format", "json", "compose.yaml"], { cwd: folder });
  await assert.rejects(read(), /required variable GATEWAY_MASTER_KEYS is missing a value/);
  const values: Readonly<Record<string, string>> = {
    GATEWAY_MASTER_KEYS: `v1:${randomBytes(32).toString("base64url")}`,
    BOOTSTRAP_ADMIN_KEY: "fake-admin-key-for-tests",
    BOOTSTRAP_WORKSPACE_KEY: "fake-workspace-key-for-tests",
  };
  // the program that reads the file takes no variables
  const file = join(folder, "compose.yaml");
  const text = readFileSync(file, "utf8").replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => values[name] ?? "");
  writeFileSync(file, text);
  return JSON.parse(await read()).services;
}

/** Reads the file, and runs its services. */
export async function checkCompose(): Promise<void> {
  // not before: its packages are installed after this module is loaded
  const { startLibsqlServer, withoutLibsqlServer } = await import("../../tests/support/libsql-server.ts");
  if (withoutLibsqlServer) throw new CannotCheckError(withoutLibsqlServer);
  requirePrograms("nginx");
  if (!hasRedis) throw new CannotCheckError("install redis-server");
  const services = await readServices();
  assert.deepEqual(Object.keys(services).sort(), ["gateway-1", "gateway-2", "nginx", "redis", "sqld"]);
  const [database, redis] = [await startLibsqlServer(), await startRedis()];
  const running: { stop(): Promise<unknown> }[] = [];
  try {
    const places = { DATABASE_URL: database.url, REDIS_URL: redis.url, TRUSTED_PROXIES: "127.0.0.1" };
    let site = readFileSync(join(root, "deploy/compose/nginx.conf"), "utf8");
    let key = "";
    for (const name of ["gateway-1", "gateway-2"]) {
      assert.equal(services[name]?.read_only, true);
      const gateway = await startGatewayProcess({ env: { ...services[name]?.environment, ...places } });
      running.push(gateway);
      key = gateway.workspaceKey;
      site = site.replace(`${name}:8787`, new URL(gateway.url).host);
    }
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    running.push(await startNginx(site.replace("listen 80", `listen 127.0.0.1:${port}`), `${url}/health`));
    // nginx sends them to both in turn
    for (const hasConsole of [true, false, false, false]) await requireAnswer(url, key, hasConsole);
    for (let rows = 0; rows !== 4; await new Promise((resolve) => setTimeout(resolve, 200))) {
      const response = await fetch(`${url}/v1/logs`, { headers: { "x-gateway-api-key": key } });
      rows = (await response.json()).data.length;
    }
  } finally {
    for (const one of running.reverse()) await one.stop();
    await Promise.all([database.kill(), redis.kill()]);
  }
  console.log("  the file is valid; two gateways answer behind nginx and share a database and Redis");
}
