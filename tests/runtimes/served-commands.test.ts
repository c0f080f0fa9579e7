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

for (const [what, args, code] of [
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
