import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import type { EvalResult, VariantTotals } from "../../src/schemas/eval-runs.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import {
  adminKey,
  createTemporaryFolder,
  createTestGateway,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson, problem } from "../support/people.ts";
import { type ReceivedRequest, startRecordingUpstream } from "../support/upstream.ts";

interface Asked {
  model: string;
  messages: { role: string; content: string }[];
  logprobs?: boolean;
}
interface Run {
  id: string;
  status: string;
  failure: string | null;
  total: number;
  done: number;
  failed: number;
  cost: number | null;
  variants: { name: string; prompt?: string }[];
  totals: VariantTotals[];
  winner: string | null;
  promoted: string | null;
}

const capitals: Readonly<Record<string, string>> = { France: "Paris", Peru: "Lima", Ghana: "Accra" };
const usage = { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 };

/** What the model says: the better one the capital, the other a sentence about it. */
function answerOf({ model, messages }: Asked): string {
  const asked = messages.map(({ content }) => content).join(" ");
  const country = Object.keys(capitals).find((name) => asked.includes(name)) ?? "";
  return model === "gpt-4.1" ? String(capitals[country]) : `{"capital": "${capitals[country]}"}`;
}

/** The choice of a judge: yes about answers without braces, with its probabilities. */
function judgement({ messages }: Asked): object {
  const isPlain = !messages.some(({ content }) => content.includes('{\\"capital'));
  const top_logprobs = [
    { token: "A", logprob: Math.log(isPlain ? 0.9 : 0.1) },
    { token: "B", logprob: Math.log(isPlain ? 0.1 : 0.9) },
  ];
  const content = isPlain ? "A" : "B";
  return { message: { role: "assistant", content }, logprobs: { content: [{ ...top_logprobs[0], top_logprobs }] } };
}

let hold: ((request: ReceivedRequest) => Promise<void> | undefined) | undefined;
const upstream = await startRecordingUpstream(async (request, response) => {
  await hold?.(request);
  const asked: Asked = JSON.parse(request.text);
  const isFailure = asked.messages.some(({ content }) => content.includes("Nowhere"));
  response.writeHead(isFailure ? 400 : 200, { "content-type": "application/json" });
  const choice = asked.logprobs ? judgement(asked) : { message: { role: "assistant", content: answerOf(asked) } };
  const answer = { id: "c", object: "chat.completion", model: asked.model, choices: [{ index: 0, ...choice }], usage };
  response.end(JSON.stringify(isFailure ? { error: { message: "No such country", code: "nowhere" } } : answer));
});

let gateway: TestGateway;
let database: Database;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  await storeProvider(gateway);
});
after(async () => {
  await database.close();
  await gateway.close();
  await upstream.close();
});

const key = workspaceKey;

async function storeProvider(on: TestGateway): Promise<void> {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: "models-i", slug: "models-i", ai_provider_id: "openai", key: "fake", configurations };
  await done(call(on, "POST /integrations", { key, body: { ...integration, create_default_provider: false } }));
  const provider = { name: "models", slug: "models", integration_id: "models-i" };
  await done(call(on, "POST /providers", { key, body: provider }));
}

const question = (country: string, expected = capitals[country]) => ({
  body: { messages: [{ role: "user", content: `The capital of ${country}?` }] },
  ...(expected !== undefined && { expected }),
});
const saveSet = async (examples: object[], more: object = {}, on = gateway) =>
  (await done<{ id: string }>(call(on, "POST /example-sets", { key, body: { name: "Capitals", examples, ...more } })))
    .id;
const start = async (body: object, on = gateway) =>
  (await done<{ id: string }>(call(on, "POST /eval-runs", { key, body: { budget_usd: 1, ...body } }))).id;
const read = (id: string, on = gateway) => done<Run>(call(on, `GET /eval-runs/${id}`, { key }));
const ended = async (id: string, on = gateway): Promise<Run> => {
  await eventually("the run ends", async () => (await read(id, on)).status !== "running");
  return read(id, on);
};
const resultsOf = async (id: string) =>
  (await done<{ data: EvalResult[] }>(call(gateway, `GET /eval-runs/${id}/results`, { key }))).data;
const better = { name: "better", model: "@models/gpt-4.1" };
const smaller = { name: "smaller", model: "@models/gpt-4.1-mini" };

test("a set is run against two models with every kind of check, and the better one wins", async () => {
  const words = [{ id: "default.contains", parameters: { words: ["Lima"], operator: "none" } }];
  const guardrail = { name: "No Lima", checks: words, actions: { deny: false } };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /guardrails", { key, body: guardrail }));
  const set = await saveSet([question("France"), question("Peru"), question("Nowhere")]);
  const checks = [
    { type: "exact" },
    { type: "contains", name: "has it" },
    { type: "json_schema", schema: { type: "object", required: ["capital"] } },
    { type: "guardrail", guardrail: slug },
    { type: "judge", model: "@models/gpt-4.1-nano", criteria: "It is one word." },
  ];
  const id = await start({ name: "First", example_set: set, variants: [better, smaller], checks });
  const run = await ended(id);
  assert.deepEqual([run.status, run.failure, run.total, run.done, run.failed], ["completed", null, 6, 6, 2]);
  assert.equal(run.winner, "better");
  const [good, small] = run.totals;
  assert.deepEqual(
    [good?.checks, small?.checks],
    [
      { exact: 2 / 3, "has it": 2 / 3, json_schema: 0, guardrail: 1 / 3, judge: 2 / 3 },
      { exact: 0, "has it": 2 / 3, json_schema: 2 / 3, guardrail: 1 / 3, judge: 0 },
    ],
  );
  assert.deepEqual([good?.answers, good?.errors, good?.input_tokens], [3, 1, 2_000]);
  assert.ok(Number(good?.mean_cost) > Number(small?.mean_cost) && Number(small?.mean_cost) > 0);
  // judges cost too
  assert.ok(Number(run.cost) > Number(good?.cost) + Number(small?.cost));
  assert.ok(Number(good?.p95_latency) >= Number(good?.p50_latency));

  const results = await resultsOf(id);
  assert.deepEqual(
    results.map(({ input, expected, answers }) => [input, expected, answers.map(({ text }) => text)]),
    [
      ["The capital of France?", "Paris", ["Paris", '{"capital": "Paris"}']],
      ["The capital of Peru?", "Lima", ["Lima", '{"capital": "Lima"}']],
      ["The capital of Nowhere?", null, [null, null]],
    ],
  );
  assert.match(String(results[2]?.answers[0]?.error), /No such country/);
  assert.match(String(results[0]?.answers[1]?.reasons.judge), /^probability 0\.10$/);

  // its requests are in the log, marked, and figures of health leave them out
  type Rows = { data: { source?: string; metadata: Record<string, string> }[] };
  const rows = async (more: string) =>
    (await done<Rows>(call(gateway, `GET /logs?trace_id=${id}${more}`, { key }))).data;
  await eventually("the rows", async () => (await rows("&source=eval")).length === 10);
  assert.equal((await rows("&source=gateway")).length, 0);
  assert.ok((await rows("")).every(({ metadata }) => metadata.eval_run === id));
  // what was answered is sealed
  const { rows: stored } = await database.read({ sql: "SELECT * FROM eval_answers", args: [] });
  assert.equal(/Paris|Lima/.test(JSON.stringify(stored)), false);
});

test("users rate answers, and results are exported without formulas", async () => {
  const set = await saveSet([question("France", "=1+1"), question("Peru", 'a "quoted", line')]);
  const id = await start({ example_set: set, variants: [better, smaller], winner_by: "rating" });
  const run = await ended(id);
  assert.equal(run.totals[0]?.pass_rate, null);
  const rate = (body: object) => call(gateway, `POST /eval-runs/${id}/ratings`, { key, body });
  await done(rate({ example: 0, variant: "smaller", rating: 1 }));
  await done(rate({ example: 0, variant: "better", rating: -1 }));
  await done(rate({ example: 1, variant: "better", rating: 1 }));
  const rated = await read(id);
  assert.deepEqual([rated.winner, rated.totals.map(({ rating }) => rating)], ["smaller", [0, 1]]);
  await done(rate({ example: 0, variant: "smaller", rating: 0 }));
  assert.equal((await read(id)).winner, "better");

  const file = async (format: string) => {
    const headers = { "x-gateway-api-key": key };
    const response = await gateway.fetch(`/v1/eval-runs/${id}/export?format=${format}`, { headers });
    return { type: response.headers.get("content-type"), text: await response.text() };
  };
  const csv = await file("csv");
  assert.match(String(csv.type), /^text\/csv/);
  const lines = csv.text.trim().split("\r\n");
  assert.equal(lines.length, 5);
  assert.match(lines[1] ?? "", /^0,The capital of France\?,'=1\+1,better,200,Paris,/);
  assert.match(lines[3] ?? "", /^1,The capital of Peru\?,"a ""quoted"", line",better/);
  const jsonl = (await file("jsonl")).text.trim().split("\n");
  assert.deepEqual(
    jsonl.map((line) => JSON.parse(line)),
    await resultsOf(id),
  );
  for (const [body, wanted] of [
    [{ example: 0, variant: "other", rating: 1 }, "400 AB01 variant"],
    [{ example: 7, variant: "better", rating: 1 }, "404 AB02 example"],
    [{ example: 0, variant: "better", rating: 5 }, "400 AB01 rating"],
  ] as const) {
    assert.equal(await problem(gateway, `POST /eval-runs/${id}/ratings`, { key, body }), wanted);
  }
});

test("figures that the organisation denies show nowhere in a run, its winner or its files", async () => {
  const set = await saveSet([question("France"), question("Peru")]);
  const id = await start({ example_set: set, variants: [better, smaller], winner_by: "cost" });
  const open = await ended(id);
  assert.ok(open.cost !== null && open.totals.every(({ cost }) => Number(cost) > 0));
  const { data } = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self", { key: adminKey }));
  const deny = (deniedFields: string[]) =>
    done(
      call(gateway, `PUT /organisations/${data.id}`, { key: adminKey, body: { export_settings: { deniedFields } } }),
    );
  await deny(["cost", "response_time", "req_units", "response_status_code"]);
  try {
    const run = await read(id);
    assert.equal(run.cost, null);
    // the cheaper one won; without cost and latency nothing decides but the order
    assert.deepEqual([open.winner, run.winner], ["smaller", "better"]);
    const hidden = ["cost", "mean_cost", "p50_latency", "p95_latency", "input_tokens", "output_tokens"] as const;
    for (const totals of run.totals) assert.ok(hidden.every((name) => totals[name] === null));
    const { data: runs } = await done<{ data: Run[] }>(call(gateway, "GET /eval-runs", { key }));
    assert.ok(runs.every(({ cost, status }) => cost === null && status !== null));
    for (const { answers } of await resultsOf(id)) {
      for (const { cost, latency_ms, input_tokens, output_tokens, status, text } of answers) {
        assert.deepEqual([cost, latency_ms, input_tokens, output_tokens, status], [null, null, null, null, null]);
        assert.ok(text);
      }
    }
    const headers = { "x-gateway-api-key": key };
    const csv = await (await gateway.fetch(`/v1/eval-runs/${id}/export?format=csv`, { headers })).text();
    assert.match(csv, /better,,Paris,,,,,,/);
  } finally {
    await deny([]);
  }
});

test("two versions of a prompt are compared, and the winner becomes the default by a separate action", async () => {
  const { data: folders } = await done<{ data: { id: string }[] }>(call(gateway, "GET /collections", { key }));
  const string = (text: string) => JSON.stringify([{ role: "user", content: text }]);
  const content = { parameters: {}, virtual_key: "models", model: "gpt-4.1" };
  const made = await done<{ id: string; slug: string }>(
    call(gateway, "POST /prompts", {
      key,
      body: {
        name: "Capital",
        string: string("Say nothing of {{country}}x"),
        collection_id: folders[0]?.id,
        ...content,
      },
    }),
  );
  const next = { string: string("The capital of {{country}}?"), ...content, model: "gpt-4.1-mini" };
  await done(call(gateway, `PUT /prompts/${made.id}`, { key, body: next }));
  const set = await saveSet([{ variables: { country: "France" } }, { variables: { country: "Peru" } }]);
  const id = await start({
    example_set: set,
    variants: [{ prompt: made.slug }, { prompt: `${made.slug}@latest` }],
    checks: [{ type: "json_schema", schema: { type: "object" } }],
  });
  const run = await ended(id);
  assert.deepEqual(
    run.variants.map(({ prompt }) => prompt),
    [`${made.slug}@1`, `${made.slug}@2`],
  );
  assert.equal(run.winner, `${made.slug}@2`);
  const promoted = await done(call(gateway, `POST /eval-runs/${id}/promote`, { key }));
  assert.deepEqual([promoted.changed, promoted.variant, promoted.slug], ["prompt", `${made.slug}@2`, made.slug]);
  const prompt = await done<{ prompt_version: number }>(call(gateway, `GET /prompts/${made.id}`, { key }));
  assert.equal(prompt.prompt_version, 2);
  assert.equal((await read(id)).promoted, `${made.slug}@2`);
  const range = "start_time=2020-01-01&end_time=2100-01-01";
  const audit = await done<{ data: { resource_type: string; action: string }[] }>(
    call(gateway, `GET /audit-logs?${range}`, { key: adminKey }),
  );
  const actions = JSON.stringify(audit);
  assert.match(actions, /"promote"/);
  assert.match(actions, /"publish"/);
});

test("the winner of models becomes the target of a saved config, with the rights of the caller", async () => {
  const target = (model: string) => ({ provider: "@models", override_params: { model, temperature: 0 } });
  const config = { strategy: { mode: "fallback" }, targets: [target("gpt-4.1-nano"), target("gpt-4.1-mini")] };
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key, body: { name: "Serving", config } }),
  );
  const set = await saveSet([question("France")]);
  const id = await start({ example_set: set, variants: [better, smaller], checks: [{ type: "exact" }] });
  await ended(id);
  const promote = (body: object, own = key) => problem(gateway, `POST /eval-runs/${id}/promote`, { key: own, body });
  assert.equal(await promote({}), "400 AB01 config");
  assert.equal(await promote({ config: slug }), "400 AB01 target");
  assert.equal(await promote({ config: slug, target: 2 }), "400 AB01 target");
  assert.equal(await promote({ config: "nothing" }), "404 AB08 null");
  assert.equal(await promote({ config: slug, variant: "other" }), "400 AB01 variant");
  const { data: spaces } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  const workspaces = [{ id: spaces[0]?.id ?? "", role: "manager" }];
  const scopes = ["prompts.update", "prompts.read", "configs.read", "completions.write"];
  const person = await addPerson(gateway, "reader@example.com", { workspaces, scopes });
  assert.match(await promote({ config: slug, target: 0 }, person.key), /^403 AB03/);
  await done(call(gateway, `POST /eval-runs/${id}/promote`, { key, body: { config: slug, target: 0 } }));
  const saved = await done<{ config: string }>(call(gateway, `GET /configs/${slug}`, { key }));
  assert.deepEqual(JSON.parse(saved.config).targets, [target("gpt-4.1"), target("gpt-4.1-mini")]);

  const runOfConfigs = await start({ example_set: set, variants: [{ config: slug }] });
  await ended(runOfConfigs);
  const { slug: other } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key, body: { name: "Other", config: { retry: { attempts: 1 } } } }),
  );
  await done(call(gateway, `POST /eval-runs/${runOfConfigs}/promote`, { key, body: { config: other } }));
  const copy = await done<{ config: string }>(call(gateway, `GET /configs/${other}`, { key }));
  assert.deepEqual(JSON.parse(copy.config).targets, JSON.parse(saved.config).targets);
});

test("a run stops at its budget, and at a model without a price", async () => {
  const set = await saveSet(Array.from({ length: 20 }, () => question("France")));
  // an answer costs 0.01 dollars
  const id = await start({ example_set: set, variants: [better], budget_usd: 0.045, concurrency: 4 });
  const run = await ended(id);
  assert.equal(run.status, "stopped");
  assert.ok(run.done >= 4 && run.done <= 6, String(run.done));
  const unpriced = await start({ example_set: set, variants: [{ model: "@models/of-nobody" }] });
  const failed = await ended(unpriced);
  assert.deepEqual([failed.status, failed.done], ["failed", 1]);
  assert.match(String(failed.failure), /of-nobody has no price/);
});

test("a run that is cancelled ends at once, and a deleted one leaves nothing", async () => {
  const set = await saveSet(Array.from({ length: 20 }, () => question("Ghana")));
  const open: (() => void)[] = [];
  hold = ({ text }) => (text.includes("Ghana") ? new Promise((resolve) => void open.push(resolve)) : undefined);
  const id = await start({ example_set: set, variants: [better] });
  await eventually("the first request", async () => open.length === 1);
  await done(call(gateway, `POST /eval-runs/${id}/cancel`, { key }));
  assert.equal((await read(id)).status, "cancelled");
  assert.equal(await problem(gateway, `POST /eval-runs/${id}/cancel`, { key }), "400 AB01 status");
  hold = undefined;
  for (const end of open) end();
  assert.equal((await read(id)).done, 0);
  const other = await start({ example_set: set, variants: [better] });
  await ended(other);
  await done(call(gateway, `DELETE /eval-runs/${other}`, { key }));
  assert.equal(await problem(gateway, `GET /eval-runs/${other}/results`, { key }), "404 AB08 null");
  await done(call(gateway, `DELETE /example-sets/${set}`, { key }));
  const left = await database.write([
    { sql: "SELECT id FROM eval_runs WHERE id IN (?, ?)", args: [id, other] },
    { sql: "SELECT run_id FROM eval_answers WHERE run_id IN (?, ?)", args: [id, other] },
    { sql: "SELECT record_id FROM secrets WHERE record_id IN (?, ?)", args: [id, other] },
  ]);
  assert.deepEqual(
    left.map(({ rows }) => rows.length),
    [0, 0, 0],
  );
});

test("a run goes on after a restart, and asks nothing twice", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const countries = Array.from({ length: 12 }, (_, index) => `Ghana number ${index}.`);
  let first = await createTestGateway({ database });
  try {
    await storeProvider(first);
    const set = await saveSet(
      countries.map((country) => question(country, "Accra")),
      {},
      first,
    );
    upstream.requests.length = 0;
    const { promise: halfway, resolve } = Promise.withResolvers<void>();
    hold = () => {
      if (upstream.requests.length === 5) resolve();
      return undefined;
    };
    const id = await start(
      { example_set: set, variants: [better], checks: [{ type: "exact" }], concurrency: 2 },
      first,
    );
    await halfway;
    await first.close();
    hold = undefined;
    const before = upstream.requests.length;
    assert.ok(before >= 5 && before < 12, String(before));
    first = await createTestGateway({ database });
    const run = await ended(id, first);
    assert.deepEqual([run.status, run.done, run.totals[0]?.pass_rate], ["completed", 12, 1]);
    const asked = upstream.requests.map(({ text }) => countries.find((country) => text.includes(country)));
    assert.deepEqual(asked.toSorted(), countries.toSorted());
  } finally {
    hold = undefined;
    await first.close();
    folder.remove();
  }
});

test("runs that cannot be are refused with the field, and those of other tenants are not found", async () => {
  const set = await saveSet([question("France", undefined), { variables: { a: "b" } }]);
  const bodies = await saveSet([{ body: question("France").body }]);
  const base = { example_set: bodies, variants: [better], budget_usd: 1 };
  for (const [more, wanted] of [
    [{ example_set: "nothing" }, "404 AB02 example_set"],
    [{ version: 9 }, "404 AB08 null"],
    [{ variants: [] }, "400 AB01 variants"],
    [{ variants: Array.from({ length: 6 }, (_, index) => ({ ...better, name: `v${index}` })) }, "400 AB01 variants"],
    [{ variants: [{ name: "x" }] }, "400 AB01 variants.0"],
    [{ variants: [better, better] }, "400 AB01 variants.1.name"],
    [{ variants: [{ config: "nothing" }] }, "404 AB02 variants.0.config"],
    [{ variants: [{ prompt: "nothing@1" }] }, "404 AB02 variants.0.prompt"],
    [{ example_set: set }, "400 AB01 variants.0"],
    [{ budget_usd: 0 }, "400 AB01 budget_usd"],
    [{ concurrency: 17 }, "400 AB01 concurrency"],
    [{ checks: [{ type: "exact" }] }, "400 AB01 checks.0"],
    [
      {
        checks: [
          { type: "contains", value: "x" },
          { type: "contains", value: "y" },
        ],
      },
      "400 AB01 checks.1.name",
    ],
    [{ checks: [{ type: "regex" }] }, "400 AB01 checks.0.type"],
    [{ checks: [{ type: "guardrail", guardrail: "nothing" }] }, "404 AB02 checks.0.guardrail"],
    [{ checks: [{ type: "json_schema", schema: { type: "nonsense" } }] }, "400 AB01 checks.0.schema"],
    [{ checks: [{ type: "judge", model: "m" }] }, "400 AB01 checks.0.criteria"],
    [{ other: 1 }, "400 AB01 other"],
  ] as const) {
    const body = { ...base, ...more };
    assert.equal(await problem(gateway, "POST /eval-runs", { key, body }), wanted, JSON.stringify(more));
  }
  assert.match(await problem(gateway, "POST /eval-runs", { body: base }), /^403 AB03/);
  const id = await start(base);
  await ended(id);
  const other = await createOrganisation(database, "elsewhere");
  const foreign = { key: other.workspaceKey };
  for (const route of ["GET", "DELETE"])
    assert.equal(await problem(gateway, `${route} /eval-runs/${id}`, foreign), "404 AB08 null");
  for (const route of ["GET /results", "GET /export", "POST /cancel", "POST /promote"]) {
    const [method, path] = route.split(" ");
    assert.equal(await problem(gateway, `${method} /eval-runs/${id}${path}`, foreign), "404 AB08 null", route);
  }
  assert.equal(await problem(gateway, "POST /eval-runs", { ...foreign, body: base }), "404 AB02 example_set");
});
