import assert from "node:assert/strict";
import { test } from "node:test";
import { openInstallation } from "../../src/auth/first-start.ts";
import { type MasterKey, readMasterKeys, versionOfRootSecret } from "../../src/auth/master-keys.ts";
import {
  countRecords,
  findDropProblem,
  type MasterKeyList,
  nextVersion,
  rewrapAll,
  wrapsAll,
} from "../../src/control/rotation.ts";
import { CredentialUnavailableError, createVault } from "../../src/control/vault.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { createInstallationStore } from "../../src/db/stores/installation.ts";
import { createRotationStore, type RotationStore } from "../../src/db/stores/rotation.ts";
import type { SecretRow } from "../../src/db/tables/secrets.ts";
import { toBase64Url } from "../../src/lib/base64.ts";
import { nodeMac } from "../../src/serve/environment.ts";

/** The master key of a version, the same in every run. */
function keyOf(version: number): MasterKey {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index * 7 + version * 31);
  const [key] = readMasterKeys(`v${version}:${toBase64Url(bytes)}`);
  assert.ok(key);
  return key;
}
const [v1, v2, v3] = [keyOf(1), keyOf(2), keyOf(3)];
const oldKeys: MasterKeyList = [v1];
const newKeys: MasterKeyList = [v2, v1];

const place = (name: string, organisationId = "one") => ({
  organisationId,
  workspaceId: null,
  kind: "integrations",
  recordId: `record ${name}`,
  field: "key",
});

function openIn(database: Database, masterKeys: readonly MasterKey[]) {
  return openInstallation({
    store: createInstallationStore(database),
    masterKeys,
    createMac: nodeMac,
    keyPrefix: "gk",
    now: 0,
    bootstrap: {},
  });
}

/** A database in use, with sealed secrets under the first version. */
async function createUsed(secrets: number) {
  const database = await openDatabase({ url: ":memory:" });
  await migrate(database);
  const installation = await openIn(database, oldKeys);
  const stores = createControlStores(database);
  const store = createRotationStore(database);
  const vault = createVault(oldKeys);
  const add = async (name: string, seal = vault) => {
    const row = await seal.seal(place(name, Number(name) % 2 ? "one" : "two"), `secret ${name}`, 0);
    await database.write([stores.secrets.insert({ organisationId: row.organisationId, workspaceId: null }, row)]);
    return row;
  };
  for (let index = 0; index < secrets; index++) await add(String(index).padStart(4, "0"));
  const all = async () =>
    (
      await Promise.all(
        ["one", "two"].map((organisationId) => stores.secrets.all({ organisationId, workspaceId: null })),
      )
    ).flat();
  return { database, installation, stores, store, add, all };
}

/** Fails unless every secret opens with these keys alone. */
async function requireOpen(rows: readonly SecretRow[], keys: MasterKeyList): Promise<void> {
  const vault = createVault(keys);
  for (const row of rows) assert.equal(`record ${(await vault.open(row)).slice(7)}`, row.recordId);
}

test("rewrapAll() wraps the root secret and every organisation's secrets anew, and seals nothing again", async () => {
  const { database, installation, store, all } = await createUsed(230);
  const before = new Map((await all()).map((row) => [row.recordId, row]));
  const result = await rewrapAll({ store, keys: newKeys });
  assert.deepEqual(result, { version: "v2", records: 231, failed: [] });
  const rows = await all();
  assert.equal(rows.length, 230);
  for (const row of rows) {
    assert.equal(row.kekVersion, "v2");
    const { wrappedKey, ...rest } = row;
    const { wrappedKey: former, ...same } = before.get(row.recordId) ?? row;
    assert.notEqual(wrappedKey, former);
    assert.deepEqual(rest, { ...same, kekVersion: "v2" });
  }
  await requireOpen(rows, [v2]);
  assert.deepEqual((await openIn(database, [v2])).keys, installation.keys);
  assert.deepEqual([...(await countRecords(store))], [["v2", 231]]);
  assert.deepEqual(await rewrapAll({ store, keys: newKeys }), { version: "v2", records: 0, failed: [] });
});

test("rewrapAll() that was stopped goes on where it was", async () => {
  const { store, all } = await createUsed(250);
  let batches = 0;
  const stopping: RotationStore = {
    ...store,
    replaceWrappedKeys: (changes) => {
      if (batches++ === 1) throw new Error("stopped");
      return store.replaceWrappedKeys(changes);
    },
  };
  await assert.rejects(rewrapAll({ store: stopping, keys: newKeys }), /stopped/);
  assert.deepEqual([...(await countRecords(store))].sort(), [
    ["v1", 150],
    ["v2", 101],
  ]);
  await requireOpen(await all(), newKeys);
  assert.equal((await rewrapAll({ store, keys: newKeys })).records, 150);
  await requireOpen(await all(), [v2]);
});

test("rewrapAll() names the rows that do not open and goes on with the others", async () => {
  const { database, store, all } = await createUsed(120);
  await database.write([
    "UPDATE secrets SET kek_version = 'v9' WHERE record_id = 'record 0003'",
    "UPDATE secrets SET wrapped_key = 'AAAA.AAAA' WHERE record_id = 'record 0110'",
  ]);
  const { records, failed } = await rewrapAll({ store, keys: newKeys });
  assert.equal(records, 119);
  assert.deepEqual(
    failed.map(({ recordId, kekVersion }) => [recordId, kekVersion]),
    [
      ["record 0003", "v9"],
      ["record 0110", "v1"],
    ],
  );
  assert.equal((await all()).filter(({ kekVersion }) => kekVersion === "v2").length, 118);
});

test("rewrapAll() leaves a secret alone that was replaced while it ran, and takes it in the next pass", async () => {
  const { database, store, stores, all } = await createUsed(3);
  const newer = await createVault(oldKeys).seal(place("0001", "one"), "secret 0001", 0);
  const { organisationId, kind, recordId, field } = newer;
  const tenant = { organisationId, workspaceId: null };
  let replaced = false;
  const racing: RotationStore = {
    ...store,
    async replaceWrappedKeys(changes) {
      if (!replaced) {
        replaced = true;
        await database.write([
          stores.secrets.remove(tenant, { kind, recordId, field }),
          stores.secrets.insert(tenant, newer),
        ]);
      }
      return store.replaceWrappedKeys(changes);
    },
  };
  assert.equal((await rewrapAll({ store: racing, keys: newKeys })).records, 4);
  const rows = await all();
  await requireOpen(rows, [v2]);
  assert.equal(rows.find((row) => row.recordId === recordId)?.sealed, newer.sealed);
});

test("rewrapAll() finds what was sealed under the old version behind it", async () => {
  const { store, add, all } = await createUsed(150);
  let batches = 0;
  const racing: RotationStore = {
    ...store,
    async secretsNotUnder(...options) {
      if (batches++ === 1) await add("-late");
      return store.secretsNotUnder(...options);
    },
  };
  assert.equal((await rewrapAll({ store: racing, keys: newKeys })).records, 152);
  await requireOpen(await all(), [v2]);
});

test("rewrapAll() follows a rotation that overtakes it", async () => {
  const { database, installation, store, all } = await createUsed(150);
  let listed: MasterKeyList = newKeys;
  const racing: RotationStore = {
    ...store,
    async replaceWrappedKeys(changes) {
      const done = await store.replaceWrappedKeys(changes);
      if (listed === newKeys) {
        listed = [v3, v2, v1];
        await rewrapAll({ store, keys: listed });
      }
      return done;
    },
  };
  const { version } = await rewrapAll({ store: racing, keys: newKeys, readMasterKeys: () => listed });
  assert.equal(version, "v3");
  await requireOpen(await all(), [v3]);
  assert.deepEqual((await openIn(database, [v3])).keys, installation.keys);
});

test("rewrapAll() does not write a root secret over one that was replaced", async () => {
  const { store } = await createUsed(0);
  const stored = (await store.readRootSecret()) ?? "";
  assert.equal(await store.replaceRootSecret(`${stored} `, "another"), false);
  assert.equal(await store.readRootSecret(), stored);
  assert.equal(await store.replaceRootSecret(stored, "another"), true);
  assert.equal(await store.readRootSecret(), "another");
});

test("a vault asks for more keys when a row names a version it does not know", async () => {
  const row = await createVault(newKeys).seal(place("x"), "secret x", 0);
  let reads = 0;
  const read = () => {
    reads++;
    return newKeys;
  };
  const serving = createVault(oldKeys, read);
  assert.equal(await serving.open(row), "secret x");
  assert.equal(await serving.open(row), "secret x");
  assert.equal(reads, 1);
  await assert.rejects(createVault(oldKeys).open(row), CredentialUnavailableError);
  await assert.rejects(createVault(oldKeys, () => undefined).open(row), CredentialUnavailableError);
  await assert.rejects(createVault(oldKeys, () => oldKeys).open(row), CredentialUnavailableError);
});

test("a vault wraps with the version listed first now, and still opens what it knows", async () => {
  let listed: MasterKeyList | undefined = oldKeys;
  const serving = createVault(oldKeys, () => listed);
  const before = await serving.seal(place("before"), "secret before", 0);
  assert.equal(before.kekVersion, "v1");
  listed = [v2];
  const after = await serving.seal(place("after"), "secret after", 0);
  assert.deepEqual([after.kekVersion, serving.version], ["v2", "v2"]);
  listed = undefined;
  assert.equal((await serving.rewrap(before)).kekVersion, "v2");
  assert.equal(await serving.open(before), "secret before");
});

test("a vault refuses a version whose key became another", async () => {
  const other: MasterKey = { version: "v1", bytes: v2.bytes };
  const serving = createVault(oldKeys, () => [other]);
  await assert.rejects(serving.seal(place("x"), "secret", 0), /v1: it differs from the one/);
});

test("openInstallation() asks for more keys when the root secret names none it was given", async () => {
  const { database, installation, store } = await createUsed(0);
  await rewrapAll({ store, keys: newKeys });
  await assert.rejects(openIn(database, oldKeys), /v2 is not among the given ones/);
  const opened = await openInstallation({
    store: createInstallationStore(database),
    masterKeys: oldKeys,
    createMac: nodeMac,
    keyPrefix: "gk",
    now: 0,
    bootstrap: {},
    readMasterKeys: () => newKeys,
  });
  assert.deepEqual(opened.keys, installation.keys);
});

test("countRecords() counts secrets and the root secret, each under its version", async () => {
  const { store, add } = await createUsed(2);
  await add("0007", createVault(newKeys));
  assert.deepEqual([...(await countRecords(store))].sort(), [
    ["v1", 3],
    ["v2", 1],
  ]);
  assert.equal(versionOfRootSecret((await store.readRootSecret()) ?? ""), "v1");
});

for (const [counts, wanted] of [
  [[], true],
  [[["v2", 3]], true],
  [
    [
      ["v2", 3],
      ["v1", 0],
    ],
    true,
  ],
  [
    [
      ["v2", 3],
      ["v1", 1],
    ],
    false,
  ],
  [[["v1", 1]], false],
] as const) {
  test(`wrapsAll() is ${wanted} for v2 and ${JSON.stringify(counts)}`, () => {
    assert.equal(wrapsAll("v2", new Map(counts)), wanted);
  });
}

for (const [versions, wanted] of [
  [["v1"], "v2"],
  [["v2", "v1"], "v3"],
  [["v9", "v10"], "v11"],
  [["v2", "v1", "v7"], "v8"],
  [["", "broken"], "v1"],
] as const) {
  test(`nextVersion() of ${versions.join(", ")} is ${wanted}`, () => {
    assert.equal(nextVersion(versions), wanted);
  });
}

for (const [version, counts, wanted] of [
  ["v1", [["v2", 5]], undefined],
  ["v1", [["v1", 1]], /1 record names it/],
  [
    "v1",
    [
      ["v1", 12],
      ["v2", 1],
    ],
    /12 records name it/,
  ],
  ["v2", [["v2", 5]], /5 records name it/],
  ["v2", [["v1", 5]], /it is the version that wraps new secrets/],
  ["v3", [["v2", 5]], /it is not among the master keys/],
] as const) {
  test(`findDropProblem() of ${version} with ${JSON.stringify(counts)}: ${wanted ?? "none"}`, () => {
    const problem = findDropProblem(version, newKeys, new Map(counts));
    if (wanted) assert.match(problem ?? "", wanted);
    else assert.equal(problem, undefined);
  });
}
