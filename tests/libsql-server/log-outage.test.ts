import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { checkRows, Requests, readMetric, startChats, untilMetric } from "../support/outage.ts";
import { createFolder, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { isWhole } from "../support/sample.ts";

const running = new Set<GatewayProcess>();
/** Ends what the test started, in any case: an open server would hold a failed test's process. */
const cleanUps: (() => Promise<unknown>)[] = [];
after(async () => {
  await Promise.all([...running].map((gateway) => gateway.stop("SIGKILL")));
  await Promise.all(cleanUps.map((cleanUp) => cleanUp()));
});

const outageMs = isWhole ? 10_000 : 2_500;

async function start(cwd: string, database: string): Promise<GatewayProcess> {
  const masterKeys = "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";
  const env = { GATEWAY_MASTER_KEYS: masterKeys, DATABASE_URL: database };
  const gateway = await startGatewayProcess({ cwd, env });
  running.add(gateway);
  return gateway;
}

test("an outage of the database fails no request and loses no row, also if the process is killed during it", {
  skip: withoutLibsqlServer,
}, async () => {
  const [server, upstream, folder] = [await startLibsqlServer(), await startChats(), createFolder()];
  cleanUps.push(server.kill, () => upstream.close());
  let gateway = await start(folder, server.url);
  const requests = await Requests.create(gateway, upstream.url);
  await requests.sendFor(gateway, 500);

  await server.kill();
  await requests.sendFor(gateway, outageMs);
  assert.ok((await readMetric(gateway, "gateway_log_spill_rows")) > 0);
  await server.start();
  await requests.sendFor(gateway, 500);
  await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
  await untilMetric(gateway, "gateway_log_spill_rows", (rows) => rows === 0);
  assert.equal(await readMetric(gateway, "gateway_log_rows_dropped_total"), 0);
  await checkRows(gateway, server.url, requests);

  await server.kill();
  await requests.sendFor(gateway, outageMs);
  await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
  assert.ok((await readMetric(gateway, "gateway_log_spill_rows")) > 0);
  await gateway.stop("SIGKILL");
  await server.start();
  gateway = await start(folder, server.url);
  await checkRows(gateway, server.url, requests);
  await requests.sendFor(gateway, 300);
  await untilMetric(gateway, "gateway_log_queue_rows", (rows) => rows === 0);
  await checkRows(gateway, server.url, requests);
  console.log(`# ${requests.traces.length} rows, two outages of ${outageMs} ms, ${requests.refused} refused`);
  await gateway.stop();
});
