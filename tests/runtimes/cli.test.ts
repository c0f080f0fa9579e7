import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { readMasterKeys, toMasterKeysText } from "../../src/auth/master-keys.ts";
import { createVault } from "../../src/control/vault.ts";
import { type Database, openDatabase } from "../../src/db/client.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { answerCommand } from "../../src/serve/cli.ts";
import { version } from "../../src/version.ts";
import {
  createFolder,
  fakeAdminKey,
  type GatewayProcess,
  type GatewayProcessOptions,
  runCommand,
  runtime,
  startGatewayProcess,
  withGateway,
} from "../support/process.ts";
import { repository } from "../support/source-files.ts";

const keysFile = (folder: string) => join(folder, "data/master.keys");
const readKeys = (folder: string) => readFileSync(keysFile(folder), "utf8").trim();
const versionsOf = (folder: string) => readMasterKeys(readKeys(folder)).map((key) => key.version);

/** A folder whose database is in use. */
async function createUsedFolder(env: GatewayProcessOptions["env"] = {}): Promise<string> {
  const folder = createFolder();
  await withGateway({ cwd: folder, env }, (gateway) => gateway.stop("SIGKILL"));
  return folder;
}

/** Works on the database of a folder beside what else uses it. */
async function withFile<Value>(folder: string, run: (database: Database) => Promise<Value>): Promise<Value> {
  const database = await openDatabase({ url: `file:${join(folder, "data/gateway.db")}` });
  try {
    return await run(database);
  } finally {
    await database.close();
  }
}

/** Calls a route of the control plane. */
async function callAdmin(gateway: GatewayProcess, path: string, options: { key?: string; body?: object } = {}) {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: options.body ? "POST" : "GET",
    headers: { "x-gateway-api-key": options.key ?? fakeAdminKey, "content-type": "application/json" },
    ...(options.body && { body: JSON.stringify(options.body) }),
  });
  return { status: response.status, body: await response.json() };
}

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

test("--version is the one of package.json", async () => {
  assert.equal(version, JSON.parse(readFileSync(join(repository, "package.json"), "utf8")).version);
  const folder = createFolder();
  assert.deepEqual(await runCommand(["--version"], { cwd: folder }), {
    code: 0,
    stdout: `${version}\n`,
    output: `${version}\n`,
  });
});

for (const args of [["--help"], ["keys", "rotate", "-h"]]) {
  test(`${args.join(" ")} shows every command and touches nothing`, async () => {
    const folder = createFolder();
    const { code, stdout, output } = await runCommand(args, { cwd: folder });
    assert.equal(code, 0);
    assert.equal(stdout, output);
    for (const name of [
      "keys list",
      "keys rotate",
      "keys drop vN",
      "audit verify",
      "organisations create",
      "list",
      "prices reprice",
      "storage compact",
    ]) {
      assert.ok(stdout.includes(name), name);
    }
    assert.match(stdout, /Restart every process\s+with both versions first/);
    assert.deepEqual(readdirSync(folder), []);
  });
}

for (const args of [
  ["serve"],
  ["keys"],
  ["keys", "frobnicate"],
  ["keys", "rotate", "--force"],
  ["keys", "rotate", "v2"],
  ["keys", "drop"],
  ["keys", "drop", "1"],
  ["keys", "drop", "v1", "v2"],
  ["audit", "verify", "--head", "1:AAAA", "--organisation", "x"],
  ["audit", "verify", "--head", `1:${"A".repeat(43)}`],
  ["organisations", "create"],
  ["organisations", "create", "--name", ""],
  ["organisations", "create", "--name", "***"],
  ["organisations", "create", "--name", "A", "--slug", "a b"],
  ["organisations", "create", "--name", "A", "--owner-email", "nobody"],
  ["prices"],
  ["prices", "reprice"],
  ["prices", "reprice", "--from", "2026-01-01"],
  ["prices", "reprice", "--from", "yesterday", "--to", "2026-01-02"],
  ["prices", "reprice", "--from", "2026-01-02", "--to", "2026-01-02"],
  ["prices", "reprice", "--from", "2026-01-01", "--to", "2026-01-02", "--dry-run=yes"],
  ["prices", "reprice", "--from", "2026-01-01", "--to", "2026-01-02", "gpt-4o"],
]) {
  test(`${args.join(" ").slice(0, 50)} is not understood: usage and exit code 2`, async () => {
    const { code, lines, problems } = await answerCommand(args);
    assert.deepEqual([code, lines], [2, []]);
    assert.match(problems.join(), /^Cannot [^\n]+\n\nUsage: gateway/);
  });
}

test("an unknown command prints to standard error and touches nothing", async () => {
  const folder = createFolder();
  const { code, stdout, output } = await runCommand(["frobnicate"], { cwd: folder });
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(output, /^Cannot run "frobnicate": there is no such command\n\nUsage: gateway/);
  assert.deepEqual(readdirSync(folder), []);
});

test("a command without a database in use makes none", async () => {
  const folder = createFolder();
  for (const env of [{}, { DATABASE_URL: ":memory:" }, { PORT: "nowhere" }]) {
    const { code, output } = await runCommand(["keys", "rotate"], { cwd: folder, env });
    assert.equal(code, 1);
    assert.match(output, /^Cannot (?:find the database|work on a database in memory|use PORT)/);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test("an organisation made beside a serving gateway can be used at once, and its slug is taken", async () => {
  await withGateway({}, async (gateway) => {
    const folder = { cwd: gateway.folder };
    const args = ["organisations", "create", "--name", "Café & Co.", "--owner-email", "Owner@Example.com"];
    const made = await runCommand(args, folder);
    assert.equal(made.code, 0, made.output);
    const answer = JSON.parse(made.stdout);
    assert.deepEqual(Object.keys(answer), ["organisation_id", "workspace_id", "admin_key", "workspace_key"]);
    const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": answer.workspace_key,
        "x-gateway-provider": "echo",
      },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
    });
    assert.equal((await chat.json()).choices[0].message.content, "Hello");
    const body = { name: "Theirs", config: { retry: { attempts: 1 } }, workspace_id: answer.workspace_id };
    assert.equal((await callAdmin(gateway, "/configs", { key: answer.admin_key, body })).status, 200);
    const own = await callAdmin(gateway, "/configs");
    assert.equal(own.body.total, 0, "the first organisation sees another's config");

    const again = await runCommand(args, folder);
    assert.deepEqual([again.code, again.stdout], [1, ""]);
    assert.match(
      again.output,
      /^Cannot create the organisation: the slug "cafe-co" is taken; give another with --slug\n$/,
    );
    const other = await runCommand([...args, "--slug", "other"], folder);
    assert.equal(other.code, 0, other.output);

    const list = await runCommand(["organisations", "list"], folder);
    const shown = JSON.parse(list.stdout).map(({ name, slug }: { name: string; slug: string }) => [name, slug]);
    assert.deepEqual(shown, [
      ["default", "default"],
      ["Café & Co.", "cafe-co"],
      ["Café & Co.", "other"],
    ]);
    const owners = await withFile(gateway.folder, (database) =>
      database.read("SELECT email FROM users ORDER BY email"),
    );
    assert.deepEqual(
      owners.rows.map(({ email }) => email),
      ["owner@example.com", "owner@example.com", "owner@localhost"],
    );
    for (const key of [answer.admin_key, answer.workspace_key]) {
      assert.ok(!`${list.output}${again.output}${gateway.output()}`.includes(key));
    }
  });
});

test("keys create-admin makes an admin key that works at once beside a serving gateway", async () => {
  await withGateway({}, async (gateway) => {
    const folder = { cwd: gateway.folder };
    const made = await runCommand(["keys", "create-admin"], folder);
    assert.equal(made.code, 0, made.output);
    const answer = JSON.parse(made.stdout);
    assert.deepEqual(Object.keys(answer), ["organisation_id", "id", "admin_key"]);
    assert.equal((await callAdmin(gateway, "/configs", { key: answer.admin_key })).status, 200);
    assert.ok(!gateway.output().includes(answer.admin_key));

    const other = await runCommand(["organisations", "create", "--name", "Other"], folder);
    const { organisation_id: id } = JSON.parse(other.stdout);
    assert.equal((await runCommand(["keys", "create-admin"], folder)).code, 2, "two organisations");
    assert.equal((await runCommand(["keys", "create-admin", "--organisation", "x"], folder)).code, 1);
    const theirs = await runCommand(["keys", "create-admin", "--organisation", id], folder);
    assert.equal(JSON.parse(theirs.stdout).organisation_id, id);
  });
});

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

test("audit verify says nothing of an honest log and names the first broken row of a changed one", async () => {
  const gateway = await startGatewayProcess();
  const { folder } = gateway;
  try {
    for (const name of ["One", "Two", "Three", "Four"]) {
      const { status, body } = await callAdmin(gateway, "/configs", {
        body: { name, config: { provider: "echo" }, workspace_id: "default" },
      });
      assert.equal(status, 200, JSON.stringify(body));
    }
    const honest = await runCommand(["audit", "verify"], { cwd: folder });
    assert.deepEqual(honest, { code: 0, stdout: "", output: "" });
  } finally {
    await gateway.stop("SIGKILL");
  }
  const verify = (...args: string[]) => runCommand(["audit", "verify", ...args], { cwd: folder });
  const [id, head] = await withFile(folder, async (database) => {
    const stores = createControlStores(database);
    const [organisation] = await stores.organisations.listAll();
    assert.ok(organisation);
    return [organisation.id, await stores.audit.head(organisation.id)] as const;
  });
  assert.equal(head.seq, 4);
  const told = ["--organisation", id, "--head", `4:${head.mac}`];
  assert.deepEqual(await verify(...told), { code: 0, stdout: "", output: "" });
  assert.equal((await verify("--organisation", "nobody")).output, "Cannot find organisation nobody\n");

  await withFile(folder, (database) =>
    database.write(["DROP TRIGGER audit_logs_no_delete", "DELETE FROM audit_logs WHERE seq = 4"]),
  );
  assert.deepEqual((await verify()).code, 0);
  const cut = await verify(...told);
  assert.equal(cut.code, 1);
  assert.match(cut.output, new RegExp(`^Audit log of organisation ${id}: row 4 is missing`));

  await withFile(folder, (database) =>
    database.write([
      "DROP TRIGGER audit_logs_no_update",
      "UPDATE audit_logs SET uri = CAST(x'2fff' AS TEXT) WHERE seq = 2",
    ]),
  );
  const changed = await verify();
  assert.deepEqual([changed.code, changed.stdout], [1, ""]);
  assert.equal(changed.output, `Audit log of organisation ${id}: row 2 was changed\n`);
});

test(`commands end by themselves on ${runtime} and leave the database to others`, async () => {
  const folder = await createUsedFolder();
  await runCommand(["organisations", "list"], { cwd: folder });
  await withFile(folder, (database) => database.write(["UPDATE organisations SET name = 'mine'"]));
});
