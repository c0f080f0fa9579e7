import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { isObject, parseJson } from "../../src/lib/json.ts";
import { createFolder, type GatewayProcess, runtime, startGatewayProcess } from "../support/process.ts";
import { repository } from "../support/source-files.ts";
import type { RecordingUpstream } from "../support/upstream.ts";
import { type Block, type Page, readPages } from "./pages.ts";
import { startVendor } from "./vendor.ts";

/** Blocks that cannot run here, by their first line. */
const notRun: readonly { page: string; line: string; why: string }[] = [
  {
    page: "README.md",
    line: "npm start\n",
    why: "installs, and serves until it is stopped; the test starts mod.ts itself",
  },
  { page: "README.md", line: "npm test", why: "runs this test" },
  {
    page: "docs/realtime.md",
    line: "npx wscat",
    why: "downloads a program; tests/runtimes/realtime.test.ts opens sessions",
  },
  {
    page: "docs/operations.md",
    line: "npm start -- audit verify --organisation",
    why: "quotes the log of another gateway",
  },
  { page: "docs/logs.md", line: "curl -N ", why: "does not end; tests/admin/log-tail.test.ts follows the log" },
  { page: "docs/performance.md", line: "npm run bench", why: "takes minutes" },
  { page: "docs/model-facts.md", line: "curl -X PUT", why: "changes an integration that the reader has" },
  { page: "docs/install.md", line: "npm run release:check", why: "takes minutes; the release runs it" },
  { page: "docs/install.md", line: "npx @gateway/gateway", why: "downloads programs; npm run release:check runs them" },
  {
    page: "docs/install.md",
    line: "npm run compile",
    why: "needs Docker; npm run release:check builds and runs the image",
  },
  { page: "docs/production.md", line: "docker run", why: "needs Docker; npm run release:check runs the image" },
  {
    page: "docs/deployments.md",
    line: "docker compose",
    why: "needs Docker; npm run release:check runs what the file names",
  },
];

/** Replacements in a block before it runs: addresses that only a reader has become addresses of the test. */
const substitutions = (gateway: string, upstream: string): readonly [string, string][] => [
  ["http://127.0.0.1:8787", gateway],
  ["http://127.0.0.1:11434", upstream],
  ["http://vllm.internal:8000", upstream],
  ["https://crm.example.com", upstream],
  // must be new, also for the next run on this machine
  ["/tmp/gateway-backup", '"$NOTES/backup"'],
  // a resource's address is made from its name, so the gateway checks it and does not send it by `fetch`
  [
    '-H "x-gateway-azure-resource-name: my-resource"',
    `-H "x-gateway-azure-resource-name: my-resource" -H "x-gateway-custom-host: ${upstream}/openai"`,
  ],
];

/** Credentials and files a reader has. */
const vendorKeys = ["ANTHROPIC", "AZURE", "COHERE", "DEEPSEEK", "EXA", "GEMINI", "MISTRAL", "OPENAI", "VOYAGE"];
const readersFiles = ["talk.mp3", "lock.png", "boat.png"];

/** The gateway's requests are redirected by a file that Bun loads first. */
const skip = runtime !== "bun";

/** Longest time for a page, and longer than that for what the test does around it: a busy machine takes a while. */
const pageTimeMs = 180_000;
const timeout = 240_000;
const pages = readPages();
const [readme, ...others] = pages as [Page, ...Page[]]; // the README is always there
const shellBlocks = ({ blocks }: Page): Block[] => blocks.filter(({ language }) => language === "sh");
const isRun = ({ path }: Page, { text }: Block): boolean =>
  !notRun.some(({ page, line }) => page === path && text.startsWith(line));

const blocksToRun = (page: Page): Block[] => shellBlocks(page).filter((block) => isRun(page, block));

/** Blocks that only set variables and name the program. Those of the README apply to every page. */
const isSetting = ({ text }: Block): boolean => /^(?:(?:export |gateway\(\) ).*\n)+$/.test(text);

/** The run of a page. */
interface Run {
  code: number | null;
  output: string;
  /** Place and status of each response. */
  answers: string[];
}

let gateway: GatewayProcess;
let vendor: RecordingUpstream;
let programs: string;
/** The run of the README. Every page needs what it sets up. */
let first: Run;

/**
 * Writes programs in place of those of a clone. `curl` is the real one and notes the status of each response. Where a page
 * shows a list, it waits until the list has something: readers wait longer than a busy machine may need.
 */
function writePrograms(): string {
  const folder = createFolder();
  const curl = execFileSync("bash", ["-c", "command -v curl"], { encoding: "utf8" }).trim();
  const serve = `exec '${process.execPath}' run '${join(repository, "mod.ts")}' "$@"`;
  const scripts = {
    curl: `for attempt in $(seq 1 100); do
  '${curl}' -sS --max-time 60 -D "$NOTES/head" "$@" > "$NOTES/body" || { code=$?; cat "$NOTES/body"; exit $code; }
  [[ " $* " =~ " "(-d|-F|-X|-T|--data-binary)" " ]] && break
  grep -q '"data":\\[\\]' "$NOTES/body" || break
  sleep 0.2
done
cat "$NOTES/body"
echo "$BLOCK $(sed -n 's/^HTTP[^ ]* \\([0-9]*\\).*/\\1/p' "$NOTES/head" | tail -1)" >> "$NOTES/answers"`,
    npm: `[ "$1" = start ] && [ "$2" = --silent ] && set -- start "\${@:3}"
[ "$1 $2" = "start --" ] || { echo "npm $*: only npm start -- runs in this test" >&2; exit 1; }
shift 2; ${serve}`,
  };
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

async function setUp(): Promise<void> {
  if (skip) return;
  vendor = await startVendor();
  programs = writePrograms();
  gateway = await startGatewayProcess({
    command: [
      process.execPath,
      "run",
      "--preload",
      join(import.meta.dirname, "redirect.ts"),
      join(repository, "mod.ts"),
    ],
    env: {
      BOOTSTRAP_WORKSPACE_KEY: undefined,
      BOOTSTRAP_ADMIN_KEY: undefined,
      BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
      DOCS_VENDOR: vendor.url,
    },
  });
  first = await runPage(readme);
}

before(setUp, { timeout });
after(async () => {
  await gateway?.stop("SIGKILL");
  await vendor?.close();
});

/** The blocks as one script. */
function toScript(blocks: readonly Block[]): string {
  const lines = blocks.map(({ place, text }) => `BLOCK='${place}'; echo "--- $BLOCK"\n${text}`).join("\n");
  const replaced = substitutions(gateway.url, vendor.url).reduce((all, [from, to]) => all.replaceAll(from, to), lines);
  return `set -euo pipefail\nexport BLOCK\n${replaced}`;
}

/** Runs a script where the gateway was started. */
async function run(script: string): Promise<Run> {
  const notes = createFolder();
  for (const name of readersFiles) writeFileSync(join(gateway.folder, name), "bytes");
  writeFileSync(join(notes, "answers"), "");
  const keys = Object.fromEntries(vendorKeys.map((name) => [`${name}_API_KEY`, "fake-provider-key"]));
  // pages about agents use the key that docs/agents.md creates
  const env = {
    ...keys,
    AGENT_KEY: "fake-agent-key",
    PATH: `${programs}:${process.env.PATH}`,
    HOME: notes,
    NOTES: notes,
  };
  const child = spawn("bash", ["-c", script], { cwd: gateway.folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const timer = setTimeout(() => child.kill("SIGKILL"), pageTimeMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  clearTimeout(timer);
  for (const name of readdirSync(gateway.folder)) {
    if (name !== "data") rmSync(join(gateway.folder, name), { recursive: true });
  }
  return { code, output, answers: readFileSync(join(notes, "answers"), "utf8").split("\n").filter(Boolean) };
}

/** Runs the blocks of a page with the variables of the README. */
function runPage(page: Page): Promise<Run> {
  const settings = page === readme ? [] : shellBlocks(readme).filter(isSetting);
  return run(toScript([...settings, ...blocksToRun(page)]));
}

/** The status that the page states for a block, else any 2xx. */
function expectedStatus({ after: text }: Block): RegExp {
  const [, status] = /^(?:It|This) returns (\d{3})\b/.exec(text) ?? [];
  return new RegExp(`^${status ?? "2\\d\\d"}$`);
}

/** What a block printed. */
function outputOf({ place }: Block, output: string): string {
  const [, own = ""] = output.split(`--- ${place}\n`);
  // a body may end without a line break
  return own.split(/--- (?:README|docs\/[a-z-]+)\.md:\d+\n/)[0] ?? "";
}

/** JSON in an output: each line that is some, and what stands at the end. */
function jsonIn(output: string): unknown[] {
  const starts = Array.from(output.matchAll(/[{]/g), ({ index }) => index);
  const last = starts.map((start) => parseJson(output.slice(start))).find((value) => value !== undefined);
  return [...output.split("\n").map((line) => parseJson(line)), last].filter((value) => value !== undefined);
}

/** Values that differ with each run: ids, times and what a page leaves out. */
const isFree = (text: string): boolean => /…|^[0-9a-f-]{36}$|^\d{4}-\d{2}-\d{2}T/.test(text);

/** Where an answer lacks what a page shows of it: names of fields, types, and strings. */
function findMissing(shown: unknown, answer: unknown, path = "$"): string[] {
  if (typeof shown === "string" && isFree(shown)) return [];
  if (Array.isArray(shown)) {
    if (!Array.isArray(answer)) return [`${path}: no list`];
    const isThere = (one: unknown) => answer.some((other) => findMissing(one, other).length === 0);
    return shown.flatMap((one, index) => (isThere(one) ? [] : findMissing(one, answer[index], `${path}.${index}`)));
  }
  if (isObject(shown)) {
    if (!isObject(answer)) return [`${path}: no object`];
    const entries = Object.entries(shown).filter(([name]) => !isFree(name));
    return entries.flatMap(([name, one]) =>
      name in answer ? findMissing(one, answer[name], `${path}.${name}`) : [`${path}.${name} is missing`],
    );
  }
  const isAlike = typeof shown === "string" ? shown === answer : typeof shown === typeof answer;
  return isAlike ? [] : [`${path} is ${JSON.stringify(answer)}`];
}

/** Requires that a block printed what the page shows below it. */
function checkShown(block: Block, output: string): void {
  if (!block.shows) return;
  const own = outputOf(block, output);
  if (block.shows.language === "json") {
    const shown: unknown = JSON.parse(block.shows.text);
    const missing = jsonIn(own).map((answer) => findMissing(shown, answer));
    assert.ok(
      missing.some((one) => one.length === 0),
      `${block.place}: ${missing.at(-1)?.join(", ")}\n${own}`,
    );
  } else {
    const lines = own.split(/\r?\n/).map((line) => line.trim());
    for (const line of block.shows.text.trim().split("\n"))
      assert.ok(lines.includes(line.trim()), `${block.place}: ${line}\n${own}`);
  }
}

function checkRun(page: Page, { code, output, answers }: Run): void {
  assert.equal(code, 0, output);
  for (const block of blocksToRun(page)) {
    const own = answers.filter((line) => line.startsWith(`${block.place} `)).map((line) => line.split(" ")[1] ?? "");
    assert.equal(own.length > 0, /\b(?:curl|send) /.test(block.text), `${block.place}: answers ${own}\n${output}`);
    checkShown(block, output);
    for (const status of own) assert.match(status, expectedStatus(block), `${block.place}\n${output}`);
  }
  assert.doesNotMatch(output, /"data":\[\]/, "a list the page shows is empty");
}

test("README.md runs as written", { skip }, () => checkRun(readme, first));

for (const page of others.filter((one) => blocksToRun(one).length > 0)) {
  test(`${page.path} runs as written`, { skip, timeout }, async () => checkRun(page, await runPage(page)));
}

test("every block that does not run is listed with its reason", () => {
  for (const { page, line, why } of notRun) {
    const blocks = pages
      .filter(({ path }) => path === page)
      .flatMap((one) => shellBlocks(one).filter((b) => !isRun(one, b)));
    assert.equal(blocks.filter(({ text }) => text.startsWith(line)).length, 1, `${page}: ${line}`);
    assert.ok(why.length > 0);
  }
});

/** What a block must not contain, and why. */
const forbidden: readonly [RegExp, string][] = [
  [/localhost/, "the address is $GATEWAY"],
  // the README's first call is for pasting before anything is set; a colon follows where Docker publishes a port
  [
    /^(?!export GATEWAY=|curl http:\/\/127\.0\.0\.1:8787\/v1\/chat\/completions \\).*127\.0\.0\.1:8787(?!:)/m,
    "the address is $GATEWAY",
  ],
  [/\$(?:KEY|GW|OPENAI_KEY|PROVIDER_KEY)\b/, "the variables are those of the README"],
  [/(?:^|\s)#/, "zsh takes a comment for arguments"],
  [/\s(?:https?:\/\/|\$GATEWAY)[^\s"']*[?&[]/, "zsh and shells take the signs of an address that is not quoted"],
  [/^(?:PROMPT|prompt|path|status)=/m, "zsh has such a variable itself"],
  [/\bbun run|npx bun/, "commands are npm start -- <command>"],
];

for (const page of pages) {
  test(`${page.path} has blocks that every shell reads the same way`, () => {
    for (const { place, text } of shellBlocks(page)) {
      for (const [pattern, why] of forbidden) assert.doesNotMatch(text, pattern, `${place}: ${why}`);
    }
    for (const { place, text } of page.blocks.filter(({ language }) => language === "")) {
      assert.doesNotMatch(text, /^(?:curl|npm|npx|export|gateway|bun|docker) /m, `${place}: write it as a block of sh`);
    }
    if (page !== readme && /\$(?:GATEWAY|GATEWAY_KEY|ADMIN_KEY)\b/.test(page.text)) {
      assert.match(
        page.text,
        /\[README\]\(\.\.\/README\.md#variables\) sets/,
        "the page does not say where its variables are set",
      );
    }
  });
}
