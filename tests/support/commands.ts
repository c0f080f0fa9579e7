// Commands of a gateway that is used: its folder, its database and its control plane.

import { join } from "node:path";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { createFolder, fakeAdminKey, type GatewayProcess, type GatewayProcessOptions, withGateway } from "./process.ts";

/** A folder whose database is in use. */
export async function createUsedFolder(env: GatewayProcessOptions["env"] = {}): Promise<string> {
  const folder = createFolder();
  await withGateway({ cwd: folder, env }, (gateway) => gateway.stop("SIGKILL"));
  return folder;
}

/** Works on the database of a folder beside what else uses it. */
export async function withFile<Value>(folder: string, run: (database: Database) => Promise<Value>): Promise<Value> {
  const database = await openDatabase({ url: `file:${join(folder, "data/gateway.db")}` });
  try {
    return await run(database);
  } finally {
    await database.close();
  }
}

/** Calls a route of the control plane. */
export async function callAdmin(gateway: GatewayProcess, path: string, options: { key?: string; body?: object } = {}) {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: options.body ? "POST" : "GET",
    headers: { "x-gateway-api-key": options.key ?? fakeAdminKey, "content-type": "application/json" },
    ...(options.body && { body: JSON.stringify(options.body) }),
  });
  return { status: response.status, body: await response.json() };
}
