import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { answerCommand } from "../../src/serve/cli.ts";
import { commandExamples } from "../../src/serve/command-examples.ts";
import { commands } from "../../src/serve/commands.ts";
import { createFolder, fakeWorkspaceKey, startGatewayProcess } from "../support/process.ts";

const gateway = await startGatewayProcess();
after(() => gateway.stop("SIGKILL"));
const place = ["--url", gateway.url, "--key", fakeWorkspaceKey];

test("models lists the models that the key may call", async () => {
  const plain = await answerCommand(["models", ...place]);
  assert.deepEqual([plain.code, plain.problems], [0, []]);
  const { lines } = await answerCommand(["models", "--json", ...place]);
  const ids = JSON.parse(lines.join("\n")).data.map(({ id }: { id: string }) => id);
  assert.deepEqual(plain.lines, ids);
});

/** What `models --for` prints for an agent. */
async function settingsFor(...args: readonly string[]): Promise<string> {
  const { code, lines, problems } = await answerCommand(["models", "--for", ...args, ...place]);
  assert.deepEqual([code, problems], [0, []]);
  return lines.join("\n");
}

test("models --for prints settings of agents, with the window and the prices of models", async () => {
  const post = async (path: string, body: object) => {
    const headers = { "x-gateway-api-key": fakeWorkspaceKey, "content-type": "application/json" };
    const response = await fetch(`${gateway.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.status, 200, await response.text());
  };
  await post("/integrations", { name: "Main", slug: "main", ai_provider_id: "openai", key: "fake-provider-key" });
  await post("/model-aliases", { name: "team/fast", target: { model: "@main/gpt-4.1" } });
  await post("/model-aliases", { name: "unheard-of", target: { model: "@main/some-model" } });
  const codex = await settingsFor("codex", "--model", "team/fast");
  assert.match(
    codex,
    /^model = "team\/fast"\nmodel_provider = "gateway"\nmodel_context_window = 1047576\n\n\[model_prov/,
  );
  assert.ok(codex.includes(`base_url = "${gateway.url}/v1"`));
  assert.doesNotMatch(await settingsFor("codex", "--model", "unheard-of"), /window/);
  const claude = await settingsFor("claude-code", "--model", "team/fast");
  assert.match(claude, /^export ANTHROPIC_MODEL='team\/fast'$/m);
  assert.match(claude, /^export CLAUDE_CODE_MAX_CONTEXT_TOKENS=1047576\nexport CLAUDE_CODE_MAX_OUTPUT_TOKENS=32768$/m);
  assert.match(claude, /_DESCRIPTION='1,047,576 tokens, \$2 in and \$8 out per million'/);
  assert.doesNotMatch(await settingsFor("claude-code", "--model", "unheard-of"), /TOKENS|DESCRIPTION/);
  const { models } = JSON.parse(await settingsFor("opencode")).provider.gateway;
  assert.deepEqual(models["team/fast"].limit, { context: 1_047_576, output: 32_768 });
  assert.deepEqual(models["team/fast"].cost, { input: 2, output: 8, cache_read: 0.5 });
  assert.deepEqual(models["team/fast"].modalities.output, ["text"]);
  assert.deepEqual(models["unheard-of"], { name: "unheard-of" });
  assert.equal(models["@main/text-embedding-3-small"], undefined);
  const one = JSON.parse(await settingsFor("opencode", "--model", "team/fast"));
  assert.deepEqual(one.provider.gateway.models, { "team/fast": models["team/fast"] });
});

test("try shows the answer of a model, and with --json the response", async () => {
  const args = ["try", "echo-1", "--provider", "echo", "--prompt", "Good\nmorning", ...place];
  assert.deepEqual(await answerCommand(args), { code: 0, lines: ["Good", "morning"], problems: [] });
  const { lines } = await answerCommand([...args, "--json"]);
  assert.equal(JSON.parse(lines.join("\n")).choices[0].message.content, "Good\nmorning");
});

test("configs explain shows what the config of a file would do", async () => {
  const file = join(createFolder(), "config.json");
  writeFileSync(file, JSON.stringify({ provider: "echo", retry: { attempts: 2 } }));
  const { code, lines, problems } = await answerCommand(["configs", "explain", file, "--metadata", "{}", ...place]);
  assert.deepEqual([code, problems], [0, []]);
  assert.match(lines.join("\n"), /"provider": "echo"/);
});

test("eval run waits for a run, shows its variants, and ends with 1 below --fail-under", async () => {
  const post = async (path: string, body: object) => {
    const headers = { "x-gateway-api-key": fakeWorkspaceKey, "content-type": "application/json" };
    const response = await fetch(`${gateway.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { id: string; slug: string };
  };
  const { slug } = await post("/configs", { name: "Echo", config: { provider: "echo" } });
  const example = (content: string, expected: string) => ({
    body: { model: "echo-1", messages: [{ role: "user", content }] },
    expected,
  });
  const set = await post("/example-sets", { name: "Echoes", examples: [example("One", "One"), example("Two", "2")] });
  const file = join(createFolder(), "schema.json");
  writeFileSync(file, '{"type": "object"}');
  const variants = ["--variant", `config=${slug},name=plain`, "--variant", `config=${slug},model=echo-2`];
  const checks = [
    "--check",
    "exact",
    "--check",
    "contains=o",
    "--check",
    "contains=x",
    "--check",
    `json_schema=${file}`,
  ];
  const run = ["eval", "run", set.slug, ...variants, "--budget", "1", ...place];
  const { code, lines, problems } = await answerCommand([...run, ...checks]);
  assert.deepEqual([code, problems], [0, []]);
  assert.match(
    lines[1] ?? "",
    /^[* ] plain {2}passed 0\.250 \(exact 0\.500, contains 0\.500, contains 2 0\.000, json_schema /,
  );
  const low = await answerCommand([...run, "--check", "exact", "--fail-under", "0.6", "--json"]);
  assert.deepEqual([low.code, low.problems.length], [1, 2]);
  assert.match(low.problems[0] ?? "", /^plain passed 0\.500 of its checks, below 0\.6$/);
  assert.equal(JSON.parse(low.lines.join("\n")).status, "completed");
  assert.equal((await answerCommand([...run, "--check", "exact", "--fail-under", "0.5"])).code, 0);
});

for (const [what, args, code] of [
  ["eval run without a variant", ["eval", "run", "x", "--budget", "1", ...place], 2],
  ["eval run without a budget", ["eval", "run", "x", "--variant", "model=m", ...place], 2],
  ["eval run with an unknown member", ["eval", "run", "x", "--variant", "size=m", "--budget", "1", ...place], 2],
  ["eval run with an unknown check", ["eval", "run", "x", "--variant", "model=m", "--check", "toString", ...place], 2],
  ["eval run of an unknown set", ["eval", "run", "gone", "--variant", "model=m", "--budget", "1", ...place], 1],
  ["models for an unknown agent", ["models", "--for", "toString", ...place], 2],
  ["models for an agent without a model", ["models", "--for", "codex", ...place], 2],
  ["models for an agent with an unknown model", ["models", "--for", "codex", "--model", "gone", ...place], 1],
  ["models with a wrong key", ["models", "--url", gateway.url, "--key", "wrong-key-0000000000"], 1],
  ["models of a gateway that is away", ["models", "--url", "http://127.0.0.1:1", "--key", "k"], 1],
  ["models at no address", ["models", "--url", "nowhere", "--key", "k"], 2],
  ["try without a model", ["try", ...place], 2],
  ["try without a provider", ["try", "gpt-4o", ...place], 1],
  ["configs explain of a file that is away", ["configs", "explain", "./gone.json", ...place], 1],
  ["configs explain of an unknown slug", ["configs", "explain", "gone", ...place], 1],
  ["configs explain with metadata that is no object", ["configs", "explain", "x", "--metadata", "1", ...place], 2],
  ["completion for an unknown shell", ["completion", "tcsh"], 2],
  ["completion for a member of every object", ["completion", "toString"], 2],
] as const) {
  test(`${what} ends with ${code} and says why`, async () => {
    const answer = await answerCommand(args);
    assert.equal(answer.code, code, answer.problems.join("\n"));
    assert.match(answer.problems.join("\n"), /^(?:Cannot|The gateway refused with status 4)/);
  });
}

test("every command has examples, and the help of each shows them", async () => {
  assert.deepEqual(Object.keys(commandExamples).sort(), commands.map(({ name }) => name).sort());
  for (const { name, options, flags = [], lists = [] } of commands) {
    const { code, lines } = await answerCommand([...name.split(" "), "--help"]);
    assert.equal(code, 0);
    for (const example of commandExamples[name] ?? []) {
      assert.ok(lines.join("\n").includes(`  gateway ${example}`), example);
      assert.ok(example.startsWith(name), example);
      const known = [...options, ...flags, ...lists].map((option) => `--${option}`);
      for (const [option = ""] of example.matchAll(/--[a-z0-9-]+/g)) assert.ok(known.includes(option), example);
    }
  }
});

test("a mistake in a command shows the help of this command", async () => {
  const { problems } = await answerCommand(["keys", "rotate", "--force"]);
  assert.match(problems.join("\n"), /^Cannot run keys rotate[^\n]+\n\nUsage: gateway keys rotate\n/);
});

test("variables as JSON have their defaults", async () => {
  const { lines } = await answerCommand(["variables", "--json"]);
  const [port] = JSON.parse(lines.join("\n")).filter(({ name }: { name: string }) => name === "PORT");
  assert.equal(port.default, "8787");
});

/** What bash offers at the end of a line. */
async function complete(line: readonly string[]): Promise<string[]> {
  const { lines } = await answerCommand(["completion", "bash"]);
  const words = ["gateway", ...line].map((word) => `'${word}'`).join(" ");
  const script = `${lines.join("\n")}\nCOMP_WORDS=(${words}); COMP_CWORD=${line.length}; _gateway; echo "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim().split(" ");
}

test("bash completes commands, their second words and their options", async () => {
  assert.deepEqual(await complete(["key"]), ["keys"]);
  assert.deepEqual(await complete(["keys", "r"]), ["rotate"]);
  assert.deepEqual(await complete(["keys", "list", "--j"]), ["--json"]);
  assert.deepEqual(await complete(["models", "u"]), ["update"]);
  assert.deepEqual(await complete(["models", "update", "--s"]), ["--sha256"]);
  assert.ok((await complete([""])).includes("doctor"));
});

test("zsh and fish get a line for every command", async () => {
  for (const shell of ["zsh", "fish"]) {
    const { lines } = await answerCommand(["completion", shell]);
    for (const { name } of commands) assert.ok(lines.join("\n").includes(name), `${shell}: ${name}`);
  }
});
