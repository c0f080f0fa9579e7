import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, beforeEach, test } from "node:test";
import { answerCommand } from "../../src/serve/cli.ts";
import { createFolder, runCommand, withGateway } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const former = '{"openai":{"rows":[]}}';
const table = JSON.stringify({
  openai: { read: "2031-01-01", rows: [{ match: ["gpt-next*"], facts: { contextWindow: 9_000, takesTools: true } }] },
});
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const toBase64 = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString("base64");

let pair: CryptoKeyPair;
let upstream: RecordingUpstream;
/** Answers of the upstream by path. */
const served = new Map<string, { status?: number; body: string | Uint8Array; location?: string }>();
let folder = "";
let file = "";

const sign = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, new TextEncoder().encode(text)));

before(async () => {
  pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair; // Ed25519 has two keys
  upstream = await startRecordingUpstream(({ path }, response) => {
    const { status = 200, body, location } = served.get(path) ?? { status: 404, body: "Not here" };
    response.writeHead(status, location === undefined ? {} : { location });
    response.end(body);
  });
});

after(() => upstream.close());

beforeEach(() => {
  served.clear();
  folder = createFolder();
  file = join(folder, "facts.json");
  writeFileSync(file, former);
});

/** Runs the command in this process. */
async function update(args: readonly string[], env: Record<string, string> = {}) {
  const names = ["MODEL_FACTS_FILE", "TRUSTED_CUSTOM_HOSTS"];
  const kept = names.map((name) => process.env[name]);
  Object.assign(process.env, { MODEL_FACTS_FILE: file, TRUSTED_CUSTOM_HOSTS: "127.0.0.1", ...env });
  try {
    const { code, lines, problems } = await answerCommand(["models", "update", ...args]);
    return { code, text: [...lines, ...problems].join("\n") };
  } finally {
    for (const [index, name] of names.entries()) {
      const value = kept[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

/** The command must fail with this message and change nothing. */
async function refuses(args: readonly string[], message: RegExp, code = 1, env: Record<string, string> = {}) {
  const found = await update(args, env);
  assert.equal(found.code, code, found.text);
  assert.match(found.text, message);
  assert.equal(readFileSync(file, "utf8"), former);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith("facts.json.")),
    [],
  );
}

const publicKey = async (format: "raw" | "spki") => toBase64(await crypto.subtle.exportKey(format, pair.publicKey));

test("a table with its digest replaces the file, and the list of a gateway that starts then shows it", async () => {
  const source = join(folder, "new.json");
  writeFileSync(source, table);
  const done = await runCommand(["models", "update", source, "--sha256", digestOf(table).toUpperCase()], {
    cwd: folder,
    env: { MODEL_FACTS_FILE: file },
  });
  assert.deepEqual(
    [done.code, done.stdout],
    [0, `Wrote 1 rows of 1 providers to ${file}: gateways that start now use them\n`],
  );
  assert.equal(readFileSync(file, "utf8"), table);
  await withGateway({ env: { MODEL_FACTS_FILE: file } }, async ({ url, workspaceKey }) => {
    const headers = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
    const post = (path: string, body: object, method = "POST") =>
      fetch(`${url}/v1${path}`, { method, headers, body: JSON.stringify(body) });
    const integration = { name: "main", slug: "main-i", ai_provider_id: "openai", key: "fake-provider-key" };
    await post("/integrations", { ...integration, create_default_provider: true, default_provider_slug: "main" });
    await post(
      "/integrations/main-i/models",
      { models: [{ slug: "gpt-next-1", enabled: true, is_custom: true }] },
      "PUT",
    );
    const listed = await (await fetch(`${url}/v1/models/@main/gpt-next-1`, { headers })).json();
    assert.equal(listed.context_length, 9_000, JSON.stringify(listed));
  });
});

for (const format of ["raw", "spki"] as const) {
  test(`a table at an address with a signature by a ${format} key replaces the file`, async () => {
    const signature = await sign(table);
    served.set("/moved", { status: 302, body: "", location: "/facts.json" });
    served.set("/facts.json", { body: table });
    served.set("/moved.sig", {
      body: format === "raw" ? signature : `${Buffer.from(signature).toString("base64url")}\n`,
    });
    const { code, text } = await update([`${upstream.url}/moved`, "--public-key", await publicKey(format)]);
    assert.equal(code, 0, text);
    assert.equal(readFileSync(file, "utf8"), table);
  });
}

test("a signed table older than the file is refused, unless a digest names it", async () => {
  const source = join(folder, "old.json");
  const old = table.replace("2031-01-01", "2030-12-31");
  writeFileSync(source, old);
  writeFileSync(`${source}.sig`, await sign(old));
  writeFileSync(file, table);
  const signed = ["--public-key", await publicKey("raw")];
  const refused = await update([source, ...signed]);
  assert.equal(refused.code, 1);
  assert.match(refused.text, /facts of openai are of 2030-12-31, those of .*facts\.json of 2031-01-01\. Give --sha256/);
  assert.equal(readFileSync(file, "utf8"), table);
  assert.equal((await update([source, ...signed, "--sha256", digestOf(old)])).code, 0);
  assert.equal(readFileSync(file, "utf8"), old);
  writeFileSync(source, table);
  writeFileSync(`${source}.sig`, await sign(table));
  assert.equal((await update([source, ...signed])).code, 0);
});

test("a table is written where there was no file, and through a link", async () => {
  const source = join(folder, "new.json");
  writeFileSync(source, table);
  const place = join(folder, "first.json");
  const args = [source, "--sha256", digestOf(table)];
  assert.equal((await update(args, { MODEL_FACTS_FILE: place })).code, 0);
  assert.equal(readFileSync(place, "utf8"), table);
  const link = join(folder, "link.json");
  symlinkSync(file, link);
  assert.equal((await update(args, { MODEL_FACTS_FILE: link })).code, 0);
  assert.equal(readFileSync(file, "utf8"), table);
});

test("a table that nothing vouches for, and values of another form, are not understood", async () => {
  const source = join(folder, "new.json");
  writeFileSync(source, table);
  await refuses([source], /give --sha256 or --public-key/, 2);
  await refuses([source, "--sha256", "abc"], /Cannot use --sha256/, 2);
  await refuses([source, "--public-key", "AAAA"], /Cannot use --public-key/, 2);
  await refuses([source, "--public-key", "not base64!"], /Cannot use --public-key/, 2);
  await refuses(["--sha256", digestOf(table)], /the number of arguments is wrong/, 2);
  await refuses([source, "--sha256", digestOf(table)], /set MODEL_FACTS_FILE/, 1, { MODEL_FACTS_FILE: "" });
});

test("a table with another digest, without a signature or with a wrong one changes nothing", async () => {
  const source = join(folder, "new.json");
  writeFileSync(source, table);
  const key = await publicKey("raw");
  await refuses([source, "--sha256", digestOf("another")], /its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}/);
  await refuses([source, "--public-key", key], /Cannot read .*new\.json\.sig/);
  for (const signature of [await sign(`${table} `), "AAAA", "", "\u00ff".repeat(64), "A".repeat(300)]) {
    writeFileSync(`${source}.sig`, signature);
    await refuses([source, "--public-key", key], /is not its signature by this key|more than 256 bytes/);
  }
  writeFileSync(`${source}.sig`, await sign(table));
  await refuses([source, "--public-key", Buffer.alloc(32, 7).toString("base64")], /is not its signature by this key/);
  await refuses([source, "--public-key", key, "--sha256", digestOf("another")], /its SHA-256 is/);
});

test("a broken table changes nothing", async () => {
  const source = join(folder, "new.json");
  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
  const values = `{"openai":{"rows":[],"sources":[${'"",'.repeat(250_000)}""]}}`;
  for (const [text, message] of [
    ["", /is not a table of facts/],
    ["{", /is not a table of facts/],
    ["[]", /is not a table of facts\n {2}because: .*object/],
    [deep, /is not a table of facts/],
    [values, /is not a table of facts\n {2}because: .*values/],
    ['{"nobody":{"rows":[]}}', /nobody is not a provider/],
    ['{"openai":{"rows":[{"match":["a"],"facts":{"contextWindow":"large"}}]}}', /contextWindow must be a number/],
    ['{"openai":{"rows":[{"match":["a"],"facts":{"color":"red"}}]}}', /color has no such field/],
    ['{"openai":{"rows":[{"match":["a*b*c*d*e*f"],"facts":{}}]}}', /at most 4 asterisks/],
  ] as const) {
    writeFileSync(source, text);
    await refuses([source, "--sha256", digestOf(text)], message);
  }
  const large = " ".repeat(4 * 2 ** 20) + table;
  writeFileSync(source, large);
  await refuses([source, "--sha256", digestOf(large)], /has more than 4194304 bytes/);
  mkdirSync(join(folder, "directory"));
  await refuses([join(folder, "directory"), "--sha256", digestOf("")], /it is not a file/);
  await refuses([join(folder, "missing"), "--sha256", digestOf("")], /Cannot read .*missing/);
});

test("an address that is refused, does not answer or answers too much changes nothing", async () => {
  const args = (url: string) => [url, "--sha256", digestOf(table)];
  served.set("/private.json", { body: table });
  await refuses(args(`${upstream.url}/private.json`), /because: Cannot call this address/, 1, {
    TRUSTED_CUSTOM_HOSTS: "",
  });
  assert.equal(
    upstream.requests.some(({ path }) => path === "/private.json"),
    false,
  );
  await refuses(args(`${upstream.url}/missing`), /it returned 404/);
  served.set("/loop", { status: 302, body: "", location: "/loop" });
  await refuses(args(`${upstream.url}/loop`), /it redirects too often/);
  served.set("/inside", { status: 302, body: "", location: "http://169.254.169.254/facts.json" });
  await refuses(args(`${upstream.url}/inside`), /because: Cannot call this address/);
  served.set("/large", { body: new Uint8Array(4 * 2 ** 20 + 1) });
  await refuses(args(`${upstream.url}/large`), /has more than 4194304 bytes/);
  assert.equal(existsSync(file), true);
});
