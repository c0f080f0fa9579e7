import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import { checkRows, Requests, readMetric, startChats, untilMetric } from "../support/outage.ts";
import { createFolder, startGatewayProcess } from "../support/process.ts";

test("while another program locks the database file, no request fails; a kill during it loses no row that waits", async () => {
  const [upstream, folder] = [await startChats(), createFolder()];
  const url = `file:${join(folder, "data/gateway.db")}`;
  const start = () => startGatewayProcess({ cwd: folder });
  let gateway = await start();
  try {
    const requests = await Requests.create(gateway, upstream.url);
    await requests.sendFor(gateway, 300);
    await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
    const other = createClient({ url, timeout: 5_000 });
    const lock = await other.transaction("write");
    await requests.sendFor(gateway, 2_500);
    await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
    assert.ok((await readMetric(gateway, "gateway_log_spill_rows")) > 0);
    for (const name of readdirSync(join(folder, "data")).filter((one) => one.startsWith("gateway.db-spill"))) {
      if (process.platform !== "win32") assert.equal(statSync(join(folder, "data", name)).mode & 0o077, 0, name);
    }
    await gateway.stop("SIGKILL");
    await lock.rollback();
    other.close();
    gateway = await start();
    await checkRows(gateway, url, requests);
    await requests.sendFor(gateway, 200);
    await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
    assert.equal(await readMetric(gateway, "gateway_log_spill_rows"), 0);
    assert.equal(requests.refused, 0);
    await checkRows(gateway, url, requests);
  } finally {
    await gateway.stop("SIGKILL");
    await upstream.close();
  }
});
