import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { readMasterKeys, toMasterKeysText } from "../../src/auth/master-keys.ts";
import { createVault } from "../../src/control/vault.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { callAdmin, createUsedFolder, withFile } from "../support/commands.ts";
import { runCommand, withGateway } from "../support/process.ts";

const keysFile = (folder: string) => join(folder, "data/master.keys");
const readKeys = (folder: string) => readFileSync(keysFile(folder), "utf8").trim();
const versionsOf = (folder: string) => readMasterKeys(readKeys(folder)).map((key) => key.version);

/** Seals secrets of the first organisation under the first of these keys. */
function addSecrets(folder: string, keysText: string, names: readonly string[]): Promise<string> {
  return withFile(folder, async (database) => {
    const stores = createControlStores(database);
    const [organisation] = await stores.organisations.listAll();
    const [first, ...others] = readMasterKeys(keysText);
    assert.ok(organisation && first);
    const vault = createVault([first, ...others]);
    for (const recordId of names) {
      const place = { organisationId: organisation.id, workspaceId: null, kind: "tests", recordId, field: "key" };
      const row = await vault.seal(place, `secret ${recordId}`, 0);
      await database.write([stores.secrets.insert(place, row)]);
    }
    return organisation.id;
  });
}

/** Every secret of an organisation in clear, opened with the keys of the file. */
function openSecrets(folder: string, organisationId: string, keysText = readKeys(folder)): Promise<string[]> {
  return withFile(folder, async (database) => {
    const rows = await createControlStores(database).secrets.all({ organisationId, workspaceId: null });
    const [first, ...others] = readMasterKeys(keysText);
    assert.ok(first);
    const vault = createVault([first, ...others]);
    return (await Promise.all(rows.map((row) => vault.open(row)))).sort();
  });
}

test("keys rotate and keys drop change the master keys while a gateway serves", async () => {
  await withGateway({}, async (gateway) => {
    const { folder } = gateway;
    const former = readKeys(folder);
    const names = Array.from({ length: 120 }, (_, index) => String(index));
    const organisationId = await addSecrets(folder, former, names);
    const run = (...args: string[]) => runCommand(["keys", ...args], { cwd: folder });

    const refused = await run("drop", "v1");
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.output, /^Cannot drop v1: 121 records name it/);
    assert.equal(readKeys(folder), former);

    const rotated = await run("rotate");
    assert.equal(rotated.code, 0, rotated.output);
    assert.match(rotated.stdout, /^v2 wraps 121 records, 121 of them re-wrapped now\nNo record names v1 any more/);
    assert.deepEqual(versionsOf(folder), ["v2", "v1"]);
    assert.ok(readKeys(folder).endsWith(former));
    if (process.platform !== "win32") assert.equal((statSync(keysFile(folder)).mode & 0o777).toString(8), "600");
    assert.deepEqual(
      readdirSync(join(folder, "data")).filter((name) => name.startsWith("master")),
      ["master.keys"],
    );
    assert.equal((await callAdmin(gateway, "/configs")).status, 200);
    assert.equal((await run("list")).stdout, "v2 wraps 121 records, writes\nv1 wraps 0 records\n");
    const keys = [
      { version: "v2", records: 121, writes: true },
      { version: "v1", records: 0, writes: false },
    ];
    assert.deepEqual(JSON.parse((await run("list", "--json")).stdout), { keys, missing: [] });

    const dropped = await run("drop", "v1");
    assert.deepEqual([dropped.code, dropped.stdout], [0, "Dropped v1 from data/master.keys\n"]);
    assert.deepEqual(versionsOf(folder), ["v2"]);
    assert.match((await run("drop", "v2")).output, /^Cannot drop v2: 121 records name it/);
    assert.deepEqual(await openSecrets(folder, organisationId), names.map((name) => `secret ${name}`).sort());

    await gateway.stop();
    await withGateway({ cwd: folder }, async (restarted) => {
      assert.equal((await callAdmin(restarted, "/configs")).status, 200);
    });
    for (const { output } of [refused, rotated, dropped, await run("list")]) {
      for (const key of [former, readKeys(folder)]) assert.ok(!output.includes(key.slice(3, 20)), output);
    }
  });
});

test("keys rotate finishes a rotation that was stopped before it makes another version", async () => {
  const folder = await createUsedFolder();
  const [first] = readMasterKeys(readKeys(folder));
  const organisationId = await addSecrets(folder, readKeys(folder), ["a", "b"]);
  assert.ok(first);
  // the file was written, and nothing else
  const second = { version: "v2", bytes: first.bytes.slice().reverse() };
  writeFileSync(keysFile(folder), toMasterKeysText([second, first]));
  const run = (...args: string[]) => runCommand(["keys", ...args], { cwd: folder });
  assert.match((await run("rotate")).stdout, /^v2 wraps 3 records, 3 of them/);
  assert.deepEqual(versionsOf(folder), ["v2", "v1"]);
  // a record that another process sealed under the former version
  await addSecrets(folder, toMasterKeysText([first]), ["c"]);
  assert.match((await run("drop", "v1")).output, /^Cannot drop v1: 1 record names it/);
  assert.match((await run("rotate")).stdout, /^v2 wraps 4 records, 1 of them/);
  assert.match((await run("rotate")).stdout, /^v3 wraps 4 records, 4 of them/);
  assert.deepEqual(versionsOf(folder), ["v3", "v2", "v1"]);
  assert.deepEqual(await openSecrets(folder, organisationId), ["secret a", "secret b", "secret c"]);
});

test("keys rotate names what does not open and fails; keys list names versions that are not there", async () => {
  const folder = await createUsedFolder();
  await addSecrets(folder, readKeys(folder), ["a", "b"]);
  await withFile(folder, (database) => database.write(["UPDATE secrets SET kek_version = 'v7' WHERE record_id = 'a'"]));
  const list = await runCommand(["keys", "list"], { cwd: folder });
  assert.equal(list.code, 1);
  assert.match(list.output, /v7 wraps 1 record and is not among the master keys/);
  const { code, output } = await runCommand(["keys", "rotate"], { cwd: folder });
  assert.equal(code, 1);
  assert.match(
    output,
    /^Cannot re-wrap key of tests a in organisation \S+: its data key, wrapped by v7, does not open$/m,
  );
});

test("two rotations at once leave nothing that does not open", async () => {
  const folder = await createUsedFolder();
  const names = Array.from({ length: 150 }, (_, index) => String(index));
  const organisationId = await addSecrets(folder, readKeys(folder), names);
  const results = await Promise.all([1, 2].map(() => runCommand(["keys", "rotate"], { cwd: folder })));
  for (const { code, output } of results)
    assert.ok(code === 0 || /another command is changing it|database is locked/.test(output), output);
  assert.equal((await openSecrets(folder, organisationId)).length, 150);
  assert.equal((await runCommand(["keys", "list"], { cwd: folder })).code, 0);
});

test("keys rotate takes the first version of GATEWAY_MASTER_KEYS and leaves every file alone", async () => {
  const one = "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA";
  const two = "v2:IB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgE";
  const folder = await createUsedFolder({ GATEWAY_MASTER_KEYS: one });
  const run = (keys: string, ...args: string[]) =>
    runCommand(["keys", ...args], { cwd: folder, env: { GATEWAY_MASTER_KEYS: keys } });
  const nothing = await run(one, "rotate");
  assert.equal(nothing.code, 0);
  assert.match(nothing.stdout, /^Every record is wrapped by v1 already: list a new version first/);
  await withGateway({ cwd: folder, env: { GATEWAY_MASTER_KEYS: `${one},${two}` } }, async (gateway) => {
    assert.match((await run(`${two},${one}`, "drop", "v1")).output, /^Cannot drop v1: 1 record names it/);
    assert.match((await run(`${two},${one}`, "rotate")).stdout, /^v2 wraps 1 record, 1 of them re-wrapped now/);
    assert.equal((await callAdmin(gateway, "/configs")).status, 200);
    const dropped = await run(`${two},${one}`, "drop", "v1");
    assert.deepEqual([dropped.code, dropped.stdout], [0, "No record names v1: take it out of GATEWAY_MASTER_KEYS\n"]);
  });
  await withGateway({ cwd: folder, env: { GATEWAY_MASTER_KEYS: two } }, (gateway) => gateway.stop("SIGKILL"));
  const lost = await run(one, "list");
  assert.equal(lost.code, 1);
  assert.match(lost.output, /v2 is not among the given ones/);
  assert.equal(existsSync(keysFile(folder)), false);
});

test("keys rotate does not touch a file that others can read, or that another command is changing", {
  skip: process.platform === "win32",
}, async () => {
  const folder = await createUsedFolder();
  const before = readKeys(folder);
  writeFileSync(`${keysFile(folder)}.lock`, "");
  const locked = await runCommand(["keys", "rotate"], { cwd: folder });
  assert.equal(locked.code, 1);
  assert.match(locked.output, /another command is changing it; if that is wrong, remove \S+master\.keys\.lock/);
  chmodSync(keysFile(folder), 0o644);
  const open = await runCommand(["keys", "rotate"], { cwd: folder });
  assert.equal(open.code, 1);
  assert.match(open.output, /others can read it/);
  assert.equal(readKeys(folder), before);
});
