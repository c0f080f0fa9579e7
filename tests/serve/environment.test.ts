import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { loadSettings, loadUsedSettings } from "../../src/serve/environment.ts";
import { changeKeysFile, createKeysFile, readKeysFile } from "../../src/serve/keys-file.ts";
import { masterKeys } from "../support/gateway.ts";
import { createFolder } from "../support/process.ts";

test("loadSettings() reads the file of master keys again each time it is asked to", async () => {
  const folder = createFolder();
  const file = join(folder, "master.keys");
  const { gateway } = loadSettings({
    DATABASE_URL: `file:${join(folder, "gateway.db")}`,
    GATEWAY_MASTER_KEYS_FILE: writeKeys(file),
  });
  assert.equal(gateway.masterKeys, masterKeys);
  assert.equal(gateway.readMasterKeys?.(), masterKeys);
  await changeKeysFile(file, async (text) => `${text},changed`);
  assert.equal(gateway.readMasterKeys?.(), `${masterKeys},changed`);
});

const factRow = { match: ["nova-*"], facts: { sampling: "none" } };

test("loadSettings() reads facts of models from the file of MODEL_FACTS_FILE", () => {
  const file = join(createFolder(), "facts.json");
  writeFileSync(file, JSON.stringify({ openai: { rows: [factRow] } }));
  const { gateway } = loadSettings({ DATABASE_URL: ":memory:", MODEL_FACTS_FILE: file });
  assert.deepEqual(gateway.modelFacts, { openai: { rows: [factRow] } });
});

for (const [content, names] of [
  ["{", /MODEL_FACTS_FILE/],
  ["[]", /MODEL_FACTS_FILE.*must be an object/],
  [{ openai: {} }, /MODEL_FACTS_FILE.*openai\.rows/],
  [{ openai: { rows: [], newest: {} } }, /openai\.newest has no such field/],
  [{ openai: { rows: [{ match: [], facts: {} }] } }, /openai\.rows\.0\.match must name a model/],
  [{ openai: { rows: [{ match: ["GPT"], facts: {} }] } }, /openai\.rows\.0\.match\.0 must be in lower case/],
  [{ openai: { rows: [{ match: ["a"], facts: { mood: 1 } }] } }, /openai\.rows\.0\.facts\.mood has no such field/],
  [{ openai: { rows: [{ match: ["a"], facts: { sampling: 1 } }] } }, /rows\.0\.facts\.sampling must be one of any/],
] as const) {
  test(`loadSettings() refuses the facts of models ${JSON.stringify(content)}`, () => {
    const file = join(createFolder(), "facts.json");
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    assert.throws(() => loadSettings({ DATABASE_URL: ":memory:", MODEL_FACTS_FILE: file }), names);
  });
}

test("loadSettings() has nothing to read again where the variable gives the master keys", () => {
  const environment = { DATABASE_URL: "libsql://database.example.com", GATEWAY_MASTER_KEYS: masterKeys };
  assert.equal(loadSettings(environment).gateway.readMasterKeys, undefined);
  assert.equal(loadSettings({ DATABASE_URL: ":memory:" }).gateway.readMasterKeys, undefined);
});

for (const isThere of [false, true]) {
  test(`the files of a database ${isThere ? "that others could read" : "that is new"} are their owner's alone`, async () => {
    const path = join(createFolder(), "a database.db");
    const url = `file:${path.replaceAll(" ", "%20")}`;
    const files = () => ["", "-wal", "-shm"].map((end) => path + end).filter((file) => existsSync(file));
    if (isThere) {
      const opened = await openDatabase({ url });
      await opened.write(["CREATE TABLE a (b)"]);
      for (const file of files()) chmodSync(file, 0o644);
    }
    loadSettings({ DATABASE_URL: url, GATEWAY_MASTER_KEYS: masterKeys });
    const database = await openDatabase({ url });
    await database.write([isThere ? "INSERT INTO a VALUES (1)" : "CREATE TABLE a (b)"]);
    const made = files();
    assert.ok(made.length > 1, made.join());
    if (process.platform !== "win32") for (const file of made) assert.equal(statSync(file).mode & 0o777, 0o600, file);
    await database.close();
  });
}

test("loadUsedSettings() makes neither a database nor master keys", () => {
  const folder = createFolder();
  assert.throws(
    () => loadUsedSettings({ DATABASE_URL: `file:${join(folder, "data/gateway.db")}` }),
    /Cannot find the database/,
  );
  assert.deepEqual(readdirSync(folder), []);
});

function writeKeys(file: string): string {
  writeFileSync(file, `${masterKeys}\n`, { mode: 0o600 });
  return file;
}

test("changeKeysFile() replaces the file whole, for its owner alone, and leaves nothing else", async () => {
  const folder = createFolder();
  const file = writeKeys(join(folder, "master.keys"));
  const { ino } = statSync(file);
  await changeKeysFile(file, async (text) => {
    assert.equal(text, masterKeys);
    assert.equal(readFileSync(file, "utf8"), `${masterKeys}\n`);
    return "new";
  });
  assert.equal(readFileSync(file, "utf8"), "new\n");
  assert.deepEqual(readdirSync(folder), ["master.keys"]);
  if (process.platform !== "win32") assert.equal((statSync(file).mode & 0o777).toString(8), "600");
  assert.notEqual(statSync(file).ino, ino);
});

test("changeKeysFile() leaves the file alone when nothing changes or the change fails", async () => {
  const folder = createFolder();
  const file = writeKeys(join(folder, "master.keys"));
  const { ino } = statSync(file);
  await changeKeysFile(file, async () => undefined);
  await assert.rejects(
    changeKeysFile(file, async () => Promise.reject(new Error("not now"))),
    /not now/,
  );
  assert.equal(statSync(file).ino, ino);
  assert.deepEqual(readdirSync(folder), ["master.keys"]);
});

test("changeKeysFile() lets one in at a time; a lock that was left behind holds for a minute", async () => {
  const folder = createFolder();
  const file = writeKeys(join(folder, "master.keys"));
  await changeKeysFile(file, async (text) => {
    await assert.rejects(
      changeKeysFile(file, async () => "other"),
      /another command is changing it/,
    );
    return `${text},mine`;
  });
  assert.equal(readKeysFile(file), `${masterKeys},mine`);
  writeFileSync(`${file}.lock`, "");
  await assert.rejects(changeKeysFile(file, async () => "other"));
  const before = Date.now() / 1000 - 61;
  utimesSync(`${file}.lock`, before, before);
  await changeKeysFile(file, async () => "later");
  assert.equal(readKeysFile(file), "later");
  assert.equal(existsSync(`${file}.lock`), false);
});

test("changeKeysFile() follows a link and refuses a file others can read", {
  skip: process.platform === "win32",
}, async () => {
  const folder = createFolder();
  const file = writeKeys(join(folder, "real.keys"));
  const link = join(folder, "master.keys");
  symlinkSync(file, link);
  await changeKeysFile(link, async () => "new");
  assert.equal(readFileSync(file, "utf8"), "new\n");
  assert.deepEqual(readdirSync(folder).sort(), ["master.keys", "real.keys"]);
  assert.equal(readFileSync(link, "utf8"), "new\n");
  chmodSync(file, 0o640);
  await assert.rejects(
    changeKeysFile(link, async () => "other"),
    /others can read it/,
  );
});

test("createKeysFile() keeps a file that is there", () => {
  const file = writeKeys(join(createFolder(), "master.keys"));
  assert.equal(createKeysFile(file), masterKeys);
});

test("loadSettings() puts the file for log rows beside a database file", () => {
  const folder = createFolder();
  const load = (environment: Readonly<Record<string, string>>) =>
    loadSettings({ GATEWAY_MASTER_KEYS: masterKeys, ...environment }).gateway.logSpill;
  const file = join(folder, "gateway.db");
  assert.deepEqual(load({ DATABASE_URL: `file:${file}` }), { path: `${file}-spill`, bytes: 268_435_456 });
  const remote = { DATABASE_URL: "libsql://database.example.com" };
  assert.equal(load(remote)?.path, "data/log-spill.db");
  assert.equal(load({ ...remote, LOG_SPILL_FILE: "/var/spill" })?.path, "/var/spill");
  assert.equal(load({ ...remote, LOG_SPILL_BYTES: "0" }), undefined);
  assert.equal(load({ DATABASE_URL: ":memory:" }), undefined);
});
