import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createControlStores } from "../../src/db/stores/control.ts";
import { answerCommand } from "../../src/serve/cli.ts";
import { version } from "../../src/version.ts";
import { callAdmin, createUsedFolder, withFile } from "../support/commands.ts";
import { createFolder, runCommand, runtime, startGatewayProcess, withGateway } from "../support/process.ts";
import { repository } from "../support/source-files.ts";

test("--version is the one of package.json", async () => {
  assert.equal(version, JSON.parse(readFileSync(join(repository, "package.json"), "utf8")).version);
  const folder = createFolder();
  assert.deepEqual(await runCommand(["--version"], { cwd: folder }), {
    code: 0,
    stdout: `${version}\n`,
    output: `${version}\n`,
  });
});

test("health says whether a gateway serves at HOST and PORT, and touches nothing", async () => {
  const folder = createFolder();
  const askHealth = (env: Record<string, string>) => runCommand(["health"], { cwd: folder, env });
  await withGateway({}, async ({ url }) => {
    const { port } = new URL(url);
    for (const HOST of ["127.0.0.1", "0.0.0.0"]) {
      const { code, output } = await askHealth({ HOST, PORT: port });
      assert.deepEqual([code, output], [0, `http://127.0.0.1:${port}/health answers\n`]);
    }
  });
  const { code, output } = await askHealth({ PORT: "1" });
  assert.equal(code, 1);
  assert.match(output, /^Cannot reach http:\/\/127\.0\.0\.1:1\/health\n/);
  assert.deepEqual(readdirSync(folder), []);
});

for (const args of [["--help"], ["-h"]]) {
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
  const whole = await verify("--json");
  assert.deepEqual([whole.code, JSON.parse(whole.stdout)], [0, { valid: true, broken: [] }]);
  const cut = await verify(...told);
  assert.equal(cut.code, 1);
  assert.match(cut.output, new RegExp(`^Audit log of organisation ${id}: row 4 is missing`));

  await withFile(folder, (database) =>
    database.write([
      "DROP TRIGGER audit_logs_no_update",
      "UPDATE audit_logs SET uri = CAST(x'2fff' AS TEXT) WHERE seq = 2",
    ]),
  );
  const shown = await verify("--json");
  const broken = [{ organisation_id: id, problem: "row 2 was changed" }];
  assert.deepEqual([shown.code, JSON.parse(shown.stdout)], [1, { valid: false, broken }]);
  const changed = await verify();
  assert.deepEqual([changed.code, changed.stdout], [1, ""]);
  assert.equal(changed.output, `Audit log of organisation ${id}: row 2 was changed\n`);
});

test(`commands end by themselves on ${runtime} and leave the database to others`, async () => {
  const folder = await createUsedFolder();
  await runCommand(["organisations", "list"], { cwd: folder });
  await withFile(folder, (database) => database.write(["UPDATE organisations SET name = 'mine'"]));
});
