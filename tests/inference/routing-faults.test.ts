import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  cells as allCells,
  type Cell,
  type Expectation,
  expectationOf,
  upstreamsOfCell,
} from "../support/fault-matrix.ts";
import { type FaultyUpstream, startFaultyUpstream, success } from "../support/faults.ts";
import { chat, createTestClock, createTestGateway } from "../support/gateway.ts";
import { collectLogs, type RoutedLog } from "../support/routed.ts";
import { sample } from "../support/sample.ts";

const clock = createTestClock();
const gateway = await createTestGateway({ clock, random: () => 0 });
after(() => gateway.close());

/** Bun has every case in each run. */
const cells = "bun" in process.versions ? allCells : sample(allCells, 8);

/** Cases that run at once, each with separate upstreams: retries are counted by host. */
const lanes = await Promise.all(
  Array.from({ length: 42 }, () => Promise.all(Array.from({ length: upstreamsOfCell }, startFaultyUpstream))),
);
after(() => Promise.all(lanes.flat().map((upstream) => upstream.close())));

const body = { model: "m", messages: [{ role: "user", content: "Hello" }] };

function configOf({ strategy, retry, fault, streamed }: Cell, lane: readonly FaultyUpstream[]): object {
  // no call timeout counts after the first event
  const request_timeout = fault.stalls ? (fault.breaksLater && streamed ? 20_000 : 200) : undefined;
  const target = (upstream: number, more: object = {}) => ({
    provider: "openai",
    api_key: "upstream-credential",
    custom_host: `${lane[upstream]?.url}/v1`,
    ...(strategy.faulty.includes(upstream) && { request_timeout }),
    ...more,
  });
  return { ...strategy.config(target), ...(retry.written && { retry: retry.written }) };
}

/** The response to a case. */
interface Outcome {
  cell: Cell;
  expected: Expectation;
  trace: string;
  status: number;
  headers: Headers;
  text: string;
  calls: number[];
}

/** Text of a response; of one that stalls, what came first. */
async function readText(response: Response, stands: boolean): Promise<string> {
  if (!stands) return response.text();
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(first?.value);
}

async function play(cell: Cell, lane: readonly FaultyUpstream[], trace: string): Promise<Outcome> {
  const { fault, strategy, streamed, recovers } = cell;
  for (const [index, upstream] of lane.entries()) {
    const fails = strategy.faulty.includes(index);
    upstream.script((call) => (fails && !(recovers && call.index > 0) ? fault : success));
  }
  const expected = expectationOf(cell);
  const response = await chat(
    gateway,
    { ...body, ...(streamed && { stream: true }) },
    {
      "x-gateway-provider": null,
      "x-gateway-trace-id": trace,
      "x-gateway-config": JSON.stringify(configOf(cell, lane)),
    },
  );
  const { answered } = expected;
  const text = await readText(response, streamed && answered.stalls === true && answered.breaksLater === true);
  const { status, headers } = response;
  return { cell, expected, trace, status, headers, text, calls: lane.map(({ calls }) => calls.length) };
}

/** Slow cases last, those that take longest together. */
const slowness = ({ fault, retry }: Cell) => (fault.stalls ? 1 + retry.codes.indexOf(408) : -1);
const ordered = [...cells].sort((one, other) => slowness(one) - slowness(other));

const outcomes: Outcome[] = [];
for (let start = 0; start < ordered.length; start += lanes.length) {
  const round = ordered.slice(start, start + lanes.length);
  const played = round.map((cell, index) => play(cell, lanes[index] ?? [], `cell-${start + index}`));
  outcomes.push(...(await Promise.all(played)));
  // retries are a share of the calls of the last ten seconds: each round starts without any
  clock.advance(11_000);
}
const rows = await collectLogs(gateway, cells.length);

/** What is compared of a response and its log row. */
function shown({ status, headers, calls }: Outcome, row: RoutedLog | undefined) {
  const answer = {
    status,
    calls,
    label: headers.get("x-gateway-last-used-option-index"),
    retries: headers.get("x-gateway-retry-attempt-count"),
    provider: headers.get("x-gateway-provider"),
    trace: headers.get("x-gateway-trace-id"),
  };
  const tried = row?.attempts?.map(({ error_code: _, ...one }) => ({ ...one, duration_ms: 0 }));
  return { ...answer, log: { calls: row?.upstream_calls, tried, status: row?.status } };
}

function logStatus({ streamed }: Cell, { answered, last }: Expectation): number {
  if (!streamed || !answered.breaksLater) return last.status;
  return answered.stalls ? 499 : 502;
}

for (const outcome of outcomes) {
  test(`a plan whose upstream answers ${outcome.cell.name}`, () => {
    const { cell, expected, trace, headers, text } = outcome;
    const { last, calls, tried, answered } = expected;
    const found = rows.get(trace) ?? [];
    assert.equal(found.length, 1, "one log row");
    const [row] = found;
    assert.deepEqual(shown(outcome, row), {
      status: last.status,
      calls,
      label: last.label,
      retries: String(last.retries),
      provider: "openai",
      trace,
      log: {
        calls: calls.reduce((sum, count) => sum + count, 0),
        tried: tried.map(({ made, ...one }) => ({
          ...one,
          provider: "openai",
          model: "m",
          retries: made,
          duration_ms: 0,
        })),
        status: logStatus(cell, expected),
      },
    });
    for (const [name, value] of Object.entries(answered.headers ?? {})) assert.equal(headers.get(name), value, name);
    if (last.status !== 200) {
      assert.equal(headers.get("content-type"), "application/json");
      assert.equal(JSON.parse(text).provider, "openai");
    } else if (cell.streamed) {
      assert.match(text, /^data: \{"id":"x"/);
      assert.equal(text.includes("[DONE]"), !answered.breaksLater, text);
      assert.equal(text.includes('"error":{'), answered.breaksLater === true && !answered.stalls, text);
    } else {
      assert.equal(JSON.parse(text).choices[0].message.content, "Hi");
    }
  });
}
