import assert from "node:assert/strict";
import { test } from "node:test";
import { createProcessLog } from "../../src/serve/process-log.ts";
import { processLog } from "../../src/settings/process-log.ts";

/** A log whose lines are collected, with a clock that the test moves. */
function collect(environment: Record<string, string>) {
  const lines: { line: string; isError: boolean }[] = [];
  const clock = { now: Date.UTC(2026, 0, 2) };
  const write = (line: string, isError: boolean) => void lines.push({ line, isError });
  const log = createProcessLog(processLog(environment), { write, now: () => clock.now });
  return { log, lines, clock };
}

const statement = Object.assign(new Error("Failed query: SELECT secret FROM a\nparams: 1,2"), {
  query: "SELECT secret FROM a",
  params: [1, 2],
  cause: new Error("connect\nECONNREFUSED"),
});

test("the process log has one line of JSON for each event, without SQL, parameters and line ends", () => {
  const { log, lines } = collect({ LOG_FORMAT: "json" });
  log.info("serving");
  log.warn("Cannot\nread", statement);
  log.error("Uncaught", new TypeError("x is undefined"));
  const parsed = lines.map(({ line }) => JSON.parse(line));
  const time = "2026-01-02T00:00:00.000Z";
  assert.deepEqual(parsed.slice(0, 2), [
    { time, level: "info", message: "serving" },
    { time, level: "warn", message: "Cannot read", cause: "a statement failed, because: connect ECONNREFUSED" },
  ]);
  assert.equal(parsed[2].cause, "x is undefined");
  assert.ok(parsed[2].stack.length > 0);
  assert.ok(lines.every(({ line }) => !line.includes("\n")));
  assert.deepEqual(
    lines.map(({ isError }) => isError),
    [false, true, true],
  );
});

test("lines of text have time and level, and those that programs read stay as they are", () => {
  const { log, lines } = collect({});
  log.info('limit alert {"object":"limit_alert"}');
  log.warn("Cannot read", statement);
  assert.deepEqual(
    lines.map(({ line }) => line),
    [
      'limit alert {"object":"limit_alert"}',
      "2026-01-02T00:00:00.000Z warn Cannot read, because: a statement failed, because: connect ECONNREFUSED",
    ],
  );
});

test("LOG_LEVEL leaves out what is less severe", () => {
  const written = (level: string) => {
    const { log, lines } = collect({ LOG_LEVEL: level });
    log.info("a");
    log.warn("b");
    log.error("c");
    return lines.length;
  };
  assert.deepEqual([written("info"), written("warn"), written("ERROR")], [3, 2, 1]);
});

test("lines of one kind are limited in number, and those left out are counted", () => {
  const { log, lines, clock } = collect({});
  for (let round = 0; round < 100; round++)
    log.warn(`Cannot deliver alerts of organisation 0ee351d5-3abd-46a9-86d3-${round}`);
  log.warn("Another kind");
  assert.equal(lines.length, 6);
  clock.now += 60_000;
  log.warn("Cannot deliver alerts of organisation 0ee351d5-3abd-46a9-86d3-7");
  assert.equal(lines.length, 8);
  assert.match(lines[6]?.line ?? "", /95 more lines were left out before this: Cannot deliver alerts/);
  for (let round = 0; round < 100; round++) log.info("audit head");
  assert.equal(lines.length, 108);
});

for (const [environment, problem] of [
  [{ LOG_LEVEL: "verbose" }, /LOG_LEVEL: it must be one of error, warn, info/],
  [{ LOG_FORMAT: "xml" }, /LOG_FORMAT: it must be text or json/],
] as const) {
  test(`the process log refuses ${JSON.stringify(environment)}`, () => {
    assert.throws(() => processLog(environment), problem);
  });
}
