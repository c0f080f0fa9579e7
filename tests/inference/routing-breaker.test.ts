import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { call, createOrganisation, done } from "../support/control.ts";
import { type Fault, faultOf, startFaultyUpstream, success } from "../support/faults.ts";
import { createTestClock, createTestGateway, workspaceKey } from "../support/gateway.ts";
import { ask, logOf, type RoutedAnswer, saveConfig, targetOf } from "../support/routed.ts";
import { eventually } from "../support/upstream.ts";

const clock = createTestClock();
let chance = 0;
const gateway = await createTestGateway({ clock, inFile: true, random: () => chance });
const other = await createOrganisation(await gateway.openFile(), "other");
const [a, b, c] = [await startFaultyUpstream(), await startFaultyUpstream(), await startFaultyUpstream()];
after(async () => {
  await gateway.close();
  for (const upstream of [a, b, c]) await upstream.close();
});

const [first, second] = ["config.targets[0]", "config.targets[1]"];
const failure = faultOf("500");
const threshold = 3;
const cb_config = { failure_threshold: threshold, cooldown_interval: 30_000 };

let credentials = 0;
/** A config over some upstreams with new circuit breakers. */
function configOf(mode: string, upstreams: readonly { url: string }[] = [a, b], more: object = {}): object {
  credentials++;
  const api_key = `credential-${credentials}`;
  return {
    strategy: { mode, cb_config, ...more },
    targets: upstreams.map((upstream) => targetOf(upstream, { api_key })),
  };
}

/** Sets how each upstream responds from now on, and forgets its calls. */
function script(ofA: Fault, ofB: Fault = success, ofC: Fault = success): void {
  a.script(() => ofA);
  b.script(() => ofB);
  c.script(() => ofC);
}

const counts = () => [a, b, c].map(({ calls }) => calls.length);

beforeEach(() => {
  chance = 0;
  script(success);
});

/** Makes `a` fail until its circuit breaker opens. */
async function open(config: object | string): Promise<void> {
  script(failure);
  for (let turn = 0; turn < threshold; turn++) await ask(gateway, { config });
  assert.equal(a.calls.length, threshold);
}

const sources = {
  "brought by the request": async (config: object) => config,
  saved: (config: object) => saveConfig(gateway, config),
};

for (const [source, bring] of Object.entries(sources)) {
  for (const mode of ["fallback", "loadbalance"]) {
    test(`${mode}, ${source}: a circuit breaker opens, skips the target, admits one probe, and closes`, async () => {
      const config = await bring(configOf(mode));
      await open(config);
      script(failure);
      const skipping = await ask(gateway, { config });
      assert.deepEqual([skipping.status, skipping.label, counts()], [200, second, [0, 1, 0]]);
      const row = await logOf(gateway, skipping);
      assert.deepEqual(row.skipped, [first]);
      assert.deepEqual(
        row.attempts?.map(({ label }) => label),
        [second],
      );
      clock.advance(29_999);
      await ask(gateway, { config });
      assert.equal(a.calls.length, 0, "open until the cooldown is over");

      clock.advance(1);
      const held: (() => void)[] = [];
      script({ ...success, serve: (response) => held.push(() => success.serve(response, false)) });
      const parallel = Array.from({ length: 25 }, () => ask(gateway, { config }));
      await eventually(() => b.calls.length === 24 && held.length === 1, "one probe, the others elsewhere");
      for (const answer of held) answer();
      const labels = (await Promise.all(parallel)).map(({ label }) => label);
      assert.deepEqual([labels.filter((label) => label === first).length, counts()], [1, [1, 24, 0]]);

      script(success);
      assert.equal((await ask(gateway, { config })).label, first, "closed after a good probe");
    });

    test(`${mode}, ${source}: a failed probe starts another cooldown`, async () => {
      const config = await bring(configOf(mode));
      await open(config);
      clock.advance(30_000);
      script(failure);
      await ask(gateway, { config });
      await ask(gateway, { config });
      clock.advance(29_999);
      await ask(gateway, { config });
      assert.equal(a.calls.length, 1);
      clock.advance(1);
      await ask(gateway, { config });
      assert.equal(a.calls.length, 2);
    });
  }
}

test("the state of a circuit breaker belongs to a tenant", async () => {
  const config = configOf("fallback");
  await open(config);
  script(success);
  const foreign = await ask(gateway, { config, headers: { "x-gateway-api-key": other.workspaceKey } });
  assert.equal(foreign.label, first);
  assert.equal((await ask(gateway, { config })).label, second);
});

test("the state of a circuit breaker belongs to a provider, host and credential, wherever the host is written", async () => {
  const target = { provider: "openai", api_key: "shared-credential" };
  const configAt = (host: { url: string }) => ({
    strategy: { mode: "fallback", cb_config },
    custom_host: `${host.url}/v1`,
    targets: [target, targetOf(c)],
  });
  await open(configAt(a));
  script(success);
  assert.equal((await ask(gateway, { config: configAt(a) })).label, second);
  assert.equal((await ask(gateway, { config: configAt(b) })).label, first, "another host is another target");
});

test("an edited config starts with closed circuit breakers", async () => {
  const slug = await saveConfig(gateway, configOf("fallback"));
  await open(slug);
  script(success);
  assert.equal((await ask(gateway, { config: slug })).label, second);
  await done(call(gateway, `PUT /configs/${slug}`, { key: workspaceKey, body: { config: configOf("fallback") } }));
  assert.equal((await ask(gateway, { config: slug })).label, first);
});

test("where every target is open, all are used, in their order", async () => {
  const config = configOf("fallback");
  script(failure, failure);
  for (let turn = 0; turn < threshold; turn++) await ask(gateway, { config });
  script(failure, success);
  const answer = await ask(gateway, { config });
  assert.deepEqual([answer.status, answer.label, counts()], [200, second, [1, 1, 0]]);
  assert.deepEqual((await logOf(gateway, answer)).skipped, []);
});

test("the only target of a group is called although it is open", async () => {
  const config = configOf("single", [a]);
  await open(config);
  script(success);
  assert.equal((await ask(gateway, { config })).status, 200);
});

test("retries end when the circuit breaker opens", async () => {
  const config = { ...configOf("fallback", [a, b]), retry: { attempts: 3 } };
  script(failure);
  const answer = await ask(gateway, { config });
  assert.deepEqual([answer.label, counts()], [second, [threshold, 1, 0]]);
  assert.deepEqual(
    (await logOf(gateway, answer)).attempts?.map(({ retries, status }) => [retries, status]),
    [
      [2, 500],
      [0, 200],
    ],
  );
});

test("only the status codes of a config count, and a failure share counts from a minimum of calls", async () => {
  const limited = { failure_threshold: 2, failure_status_codes: [429] };
  const byCode = configOf("fallback", [a, b], { cb_config: limited });
  script(failure);
  for (let turn = 0; turn < 5; turn++) await ask(gateway, { config: byCode });
  assert.equal(a.calls.length, 5, "500 is none of them");
  script(faultOf("429"));
  for (let turn = 0; turn < 4; turn++) await ask(gateway, { config: byCode });
  assert.equal(a.calls.length, 2);

  const share = { failure_threshold_percentage: 50, minimum_requests: 4 };
  const byShare = configOf("fallback", [a, b], { cb_config: share });
  const answers = [failure, success, failure, success, failure, success];
  a.script(({ index }) => answers[index] ?? success);
  for (let turn = 0; turn < 6; turn++) await ask(gateway, { config: byShare });
  assert.equal(a.calls.length, 4, "two of four are a half");
});

test("requests beside a probe are served by the next target", async () => {
  const config = configOf("fallback", [b, a], {});
  script(failure, faultOf("404"));
  for (let turn = 0; turn < threshold; turn++) await ask(gateway, { config });
  clock.advance(30_000);
  const held: (() => void)[] = [];
  script({ ...success, serve: (response) => held.push(() => success.serve(response, false)) }, faultOf("404"));
  const parallel = Array.from({ length: 10 }, () => ask(gateway, { config }));
  await eventually(() => b.calls.length === 10 && held.length === 1, "one probe");
  await Promise.race(parallel);
  for (const answer of held) answer();
  const answers = await Promise.all(parallel);
  assert.equal(a.calls.length, 1);
  const shown = answers.map(({ status, label }: RoutedAnswer) => `${status} ${label}`).sort();
  assert.deepEqual(shown, [`200 ${second}`, ...new Array<string>(9).fill(`404 ${first}`)]);
  const [beside] = answers.filter(({ status }) => status === 404);
  assert.ok(beside);
  assert.deepEqual((await logOf(gateway, beside)).skipped, [second]);
});

test("a caller that leaves in the pause of a probe releases the probe", async () => {
  const config = { ...configOf("fallback"), retry: { attempts: 1 } };
  script(failure);
  for (let turn = 0; turn < threshold; turn++) await ask(gateway, { config });
  clock.advance(30_000);
  script(faultOf("429"));
  chance = 0.99;
  const leaving = new AbortController();
  const answer = ask(gateway, { config, signal: leaving.signal });
  await eventually(() => a.calls.length === 1, "the probe");
  await new Promise((resolve) => setTimeout(resolve, 100));
  leaving.abort();
  assert.equal((await answer).status, 499);
  script(success);
  assert.equal((await ask(gateway, { config })).label, first);
});
