import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { answerCommand } from "../../src/serve/cli.ts";
import type { EmulatedProvider } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { runAgent } from "../support/agents.ts";
import { listLogs, type ShownLog, waitForLogs } from "../support/gateway.ts";
import { createFolder } from "../support/process.ts";
import { type Agent, ending, notes, picture } from "./agent.ts";
import { createConfigKey, createPoolsKey } from "./keys.ts";
import { openStage, type Stage, type StageOptions, type Target } from "./stage.ts";

/** A red pixel. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/** Models that think, by provider. A session begins at one and falls back to the next, the last one to the first. */
const models: Readonly<Record<string, string>> = {
  openai: "gpt-5.6",
  anthropic: "claude-opus-4-8",
  deepseek: "deepseek-v4-pro",
  google: "gemini-3.1-pro-preview",
  "mistral-ai": "magistral-medium-2509",
  openrouter: "anthropic/claude-sonnet-4.6",
};

function findTarget(slug: string, model: string): Target[] {
  const provider: EmulatedProvider | undefined = providers.find((one) => one.slug === slug);
  return provider ? [{ provider, model }] : [];
}

/** Milliseconds a session may take on a busy machine. */
const sessionMs = 180_000;

/** Runs the agent; the folder it worked in. */
export async function runSession(
  agent: Agent,
  stage: Stage,
  model?: string,
): Promise<{ home: string; work: string; code: number | null; output: string }> {
  const [home, work] = [createFolder(), createFolder()];
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, notes.name), notes.before);
  writeFileSync(join(work, picture), Buffer.from(pixel, "base64"));
  const { args, env } = agent.start({ url: stage.url, key: stage.key, home, work, model });
  const [program = "", ...first] = agent.command ?? [];
  const end = await runAgent(program, [...first, ...args], {
    cwd: work,
    env: { HOME: home, NO_COLOR: "1", ...env },
    timeMs: sessionMs,
  });
  return { home, work, ...end };
}

/** Settings of an agent, as `gateway models --for` prints them. */
export async function printSettings({ url, key }: Stage, agent: string, model?: string): Promise<string> {
  const named = model === undefined ? [] : ["--model", model];
  const { code, lines, problems } = await answerCommand([
    "models",
    "--for",
    agent,
    ...named,
    "--url",
    url,
    "--key",
    key,
  ]);
  assert.equal(code, 0, problems.join("\n"));
  return lines.join("\n");
}

/** Tokens of input and output that emulators report. That of Claude counts the input. */
const reported = { input: 40, output: 12 };

/** Operations that count tokens and cost nothing. */
const counting = ["countTokens", "countContents"];

function checkRow(row: ShownLog): void {
  const what = `${row.operation} ${row.provider} ${row.model}`;
  assert.equal(row.status, 200, what);
  const { input_tokens: input = 0, output_tokens: output } = row.usage ?? {};
  assert.equal(output, reported.output, what);
  if (row.provider === "anthropic") assert.ok((input ?? 0) > 0, what);
  else assert.equal(input, reported.input, what);
  assert.ok(row.priced && (row.cost ?? 0) > 0, `${what}: no cost`);
}

async function checkRows(stage: Stage): Promise<readonly ShownLog[]> {
  await waitForLogs(stage.gateway, "limit=50", stage.sent.length);
  const { data } = await listLogs(stage.gateway, "limit=50");
  const rows = data.filter(({ operation }) => !counting.includes(operation));
  for (const row of rows) checkRow(row);
  return rows;
}

/** What a request must hold of the image: its bytes, or a note in its place. */
const imageOf = ({ provider }: Target): RegExp => (provider.takesImages ? new RegExp(pixel.slice(0, 60)) : /image/i);

function checkRequests({ taken, failed, world }: Stage, [first, second]: readonly [Target, Target], why: string): void {
  const places = taken.map(({ emulator, round }) => `${first.provider.emulators.includes(emulator) ? 1 : 2}:${round}`);
  assert.deepEqual(places, ["1:0", "1:1", "2:2", "2:3"], why);
  assert.equal(failed, 2, "the first target was asked in both later rounds");
  assert.deepEqual(
    world.refusals.map(({ emulator, rule, message }) => `${emulator}, ${rule}: ${message}`),
    [],
  );
  assert.match(taken[1]?.text ?? "", imageOf(first));
  assert.match(taken[3]?.text ?? "", imageOf(second));
}

/** What happened, for messages of failed tests. */
export function describe({ sent, world }: Stage, output: string): string {
  const requests = sent.map(({ path, status }) => `${status} ${path}`).join("\n");
  const refused = world.refusals.map(({ emulator, message }) => `${emulator}: ${message}`).join("\n");
  return `${output.slice(-3_000)}\n${requests}\n${refused}`;
}

/** Holds the session of the three rounds; its rows. */
async function holdSession(
  agent: Agent,
  targets: readonly [Target, Target],
  { createKey, model }: { createKey: StageOptions["createKey"]; model?: string },
): Promise<readonly ShownLog[]> {
  const script = (model === undefined ? undefined : agent.namedScript) ?? agent.script;
  const stage = await openStage({ script, failing: targets[0].provider, createKey });
  try {
    const { code, output, work } = await runSession(agent, stage, model);
    const why = describe(stage, output);
    checkRequests(stage, targets, why);
    assert.equal(code, 0, why);
    assert.ok(output.includes(ending), why);
    assert.equal(readFileSync(join(work, notes.name), "utf8"), notes.after);
    return await checkRows(stage);
  } finally {
    await stage.close();
  }
}

/** Whether a test of an agent is skipped. */
export const skipped = ({ command }: Agent) => ({ skip: command === undefined && "npm run test:agents installs it" });

/** Holds a session of an agent with each of the providers. */
export function holdSessions(agent: Agent): void {
  const targets = Object.entries({ ...models, ...agent.models }).flatMap(([slug, model]) => findTarget(slug, model));
  for (const [index, first] of targets.entries()) {
    const second = targets[(index + 1) % targets.length] as Target;
    const name = `${agent.name} begins with ${first.model} of ${first.provider.slug} and ends with ${second.provider.slug}`;
    test(name, skipped(agent), async () => {
      const pair = [first, second] as const;
      await holdSession(agent, pair, { createKey: (gateway) => createConfigKey(gateway, pair) });
    });
  }
}

/** Names of pools, and the providers of their models. */
const named = {
  "harbour/quick": ["openai", "google"],
  "careful-claude": ["anthropic", "openai"],
  spare: ["mistral-ai", "anthropic"],
};

export const pools: ReadonlyMap<string, readonly [Target, Target]> = new Map(
  Object.entries(named).map(([name, slugs]) => [
    name,
    slugs.flatMap((slug) => findTarget(slug, models[slug] ?? "")) as [Target, Target], // each has an emulator
  ]),
);

/** Holds a session of an agent with each of three pools, which it chooses by the name of the model alone. */
export function holdNamedSessions(agent: Agent): void {
  for (const [model, pair] of pools) {
    const name = `${agent.name} names ${model} and gets the models of its pool: ${pair.map(({ model: one }) => one).join(", ")}`;
    test(name, skipped(agent), async () => {
      const createKey: StageOptions["createKey"] = (gateway) => createPoolsKey(gateway, pools);
      const rows = await holdSession(agent, pair, { createKey, model });
      for (const row of rows) assert.equal(row.requested_model, model, `${row.operation} ${row.model}`);
    });
  }
}
