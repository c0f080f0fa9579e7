import assert from "node:assert/strict";
import { test } from "node:test";
import { readMasterKeys } from "../../src/auth/master-keys.ts";
import { logHeadsEveryMs } from "../../src/control/audit-heads.ts";
import { rewrapAll } from "../../src/control/rotation.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createRotationStore } from "../../src/db/stores/rotation.ts";
import { createGateway } from "../../src/gateway.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { call, done } from "../support/control.ts";
import { createTemporaryFolder, createTestGateway, masterKeys } from "../support/gateway.ts";

test("a serving gateway logs the newest audit rows every hour", async () => {
  const intervals: { action: () => void; delayMs: unknown }[] = [];
  const { setInterval: original } = globalThis;
  globalThis.setInterval = ((action: () => void, delayMs: number) => {
    intervals.push({ action, delayMs });
    return original(action, delayMs);
  }) as typeof setInterval; // gateways call it in this form alone
  const lines: string[] = [];
  let gateway: Awaited<ReturnType<typeof createTestGateway>>;
  try {
    gateway = await createTestGateway({ log: (line) => lines.push(line) });
  } finally {
    globalThis.setInterval = original;
  }
  assert.equal(logHeadsEveryMs, 3_600_000);
  const hourly = intervals.filter(({ delayMs }) => delayMs === logHeadsEveryMs);
  await done(
    call(gateway, "POST /configs", { body: { name: "One", config: { provider: "echo" }, workspace_id: "default" } }),
  );
  for (const { action } of hourly) action();
  for (let tries = 0; lines.length === 0 && tries < 200; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.match(lines.join("\n"), /^audit head [0-9a-f-]{36} 1 [A-Za-z0-9_-]{43}$/);
  await gateway.close();
});

test("a gateway that starts while keys are rotated reads them again", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${folder.path}/gateway.db`;
  const [second, first] = readMasterKeys(`v2:IB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE,${masterKeys}`);
  assert.ok(first && second);
  const options = { database, masterKeys, createMac: nodeMac };
  const used = createGateway(options);
  await used.start();
  await used.close();

  const file = await openDatabase({ url: database });
  await rewrapAll({ store: createRotationStore(file), keys: [second, first] });
  await file.close();
  await assert.rejects(createGateway(options).start(), /v2 is not among the given ones/);
  const late = createGateway({
    ...options,
    readMasterKeys: () => `v2:IB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE,${masterKeys}`,
  });
  assert.equal(await late.start(), undefined);
  await late.close();
  folder.remove();
});
