import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { readCloudFile } from "../../src/serve/environment.ts";
import { readSettings } from "../../src/settings.ts";
import { createTemporaryFolder } from "../support/gateway.ts";

const folder = createTemporaryFolder();
after(() => folder.remove());

test("readCloudFile() reads a token, and no file that is larger than one", async () => {
  const path = join(folder.path, "token");
  writeFileSync(path, "a-token\n");
  assert.equal(await readCloudFile(path), "a-token\n");
  writeFileSync(path, "x".repeat(65_537));
  await assert.rejects(readCloudFile(path), /too large/);
});

test("the cloud environment has the variables of cloud platforms, and nothing else", () => {
  const cloud = { AZURE_CLIENT_ID: "c", IDENTITY_ENDPOINT: "http://127.0.0.1/msi", IDENTITY_HEADER: "h" };
  const { gateway } = readSettings({ ...cloud, IDENTITY_OTHER: "x", PATH: "/bin" });
  assert.deepEqual(gateway.cloudEnvironment, cloud);
});
