import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RetrySettings } from "../../src/routing/config.ts";
import { backoffMs, createRetryBudget, decideRetry, type RetryInput, readRetryAfter } from "../../src/routing/retry.ts";
import { createRandom } from "../support/gateway.ts";
import { createClock, linesOf, seeded, toConfig } from "../support/routing.ts";

const now = Date.UTC(2094, 10, 6, 8, 49, 0);

for (const [headers, expected] of [
  [{}, undefined],
  [{ "retry-after-ms": "1500" }, 1_500],
  [{ "retry-after-ms": "0" }, 0],
  [{ "retry-after-ms": "12.5" }, 12.5],
  [{ "x-ms-retry-after-ms": "250" }, 250],
  [{ "retry-after": "3" }, 3_000],
  [{ "retry-after": " 3 " }, 3_000],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "1.5" }, 1_500],
  [{ "retry-after-ms": "1", "x-ms-retry-after-ms": "2", "retry-after": "3" }, 1],
  [{ "x-ms-retry-after-ms": "2", "retry-after": "3" }, 2],
  [{ "retry-after-ms": "soon", "x-ms-retry-after-ms": "2" }, 2],
  [{ "retry-after-ms": "-1", "retry-after": "3" }, 3_000],
  [{ "retry-after": "Sat, 06 Nov 2094 08:49:37 GMT" }, 37_000],
  [{ "retry-after": "Saturday, 06-Nov-2094 08:49:37 GMT" }, 37_000],
  [{ "retry-after": "Sat Nov  6 08:49:37 2094" }, 37_000],
  [{ "retry-after": "Sat, 06 Nov 2094 08:48:59 GMT" }, undefined],
  [{ "retry-after": "Sat, 06 Nov 2094 08:49:00 GMT" }, undefined],
  [{ "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" }, undefined],
  [{ "retry-after": "Sunday, 06-Nov-94 08:49:37 GMT" }, undefined],
  [{ "retry-after": "-5" }, undefined],
  [{ "retry-after": "+5" }, undefined],
  [{ "retry-after": "1e3" }, undefined],
  [{ "retry-after": "0x10" }, undefined],
  [{ "retry-after": "5s" }, undefined],
  [{ "retry-after": "" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "after 2095" }, undefined],
  [{ "retry-after": "Sat, soon" }, undefined],
  [{ "retry-after": "Sat, 99 Foo 2094 08:49:37 GMT" }, undefined],
  [{ "retry-after": "2095-01-01T00:00:00Z" }, undefined],
  [{ "retry-after": "NaN" }, undefined],
  [{ "retry-after": "Infinity" }, undefined],
  [{ "retry-after": "9000000000000" }, 9_000_000_000_000_000],
] as const) {
  test(`readRetryAfter() is ${expected} for ${JSON.stringify(headers)}`, () => {
    assert.equal(readRetryAfter(new Headers(headers), now), expected);
  });
}

test(seeded("readRetryAfter() returns a wait or nothing for any text"), () => {
  const text = fc.string().map((written) => written.replace(/[^\x20-\x7e]/g, ""));
  fc.assert(
    fc.property(text, text, (milliseconds, seconds) => {
      const wait = readRetryAfter(new Headers({ "retry-after-ms": milliseconds, "retry-after": seconds }), now);
      assert.ok(wait === undefined || wait >= 0);
    }),
  );
});

test("backoffMs() draws from up to 1, 2, 4, 8, 16 seconds and no more", () => {
  const most = [0, 1, 2, 3, 4, 5, 50].map((retry) => backoffMs(retry, () => 0.5) * 2);
  assert.deepEqual(most, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
  assert.equal(
    backoffMs(3, () => 0),
    0,
  );
});

const settings: RetrySettings = { attempts: 2, onStatusCodes: [429, 503], useRetryAfter: true };
const wait = (header: Record<string, string>) => new Headers(header);

function decide(changes: Partial<RetryInput>) {
  const input = { settings, status: 429, headers: undefined, retries: 0, waitedMs: 0, now, random: () => 0.5 };
  return decideRetry({ ...input, ...changes });
}

for (const [what, changes, expected] of [
  ["no settings", { settings: undefined }, "done"],
  ["no attempts", { settings: { ...settings, attempts: 0 } }, "done"],
  ["a success", { status: 200 }, "done"],
  ["a code that is not listed", { status: 500 }, "done"],
  ["a listed success", { status: 246, settings: { ...settings, onStatusCodes: [246] } }, { waitMs: 500 }],
  ["the first failure", { status: 503 }, { waitMs: 500 }],
  ["the second failure", { retries: 1 }, { waitMs: 1_000 }],
  ["the last failure", { retries: 2 }, "exhausted"],
  ["the last failure with a demand", { retries: 2, headers: wait({ "retry-after": "99" }) }, "exhausted"],
  ["a demand", { headers: wait({ "retry-after": "7" }) }, { waitMs: 7_000 }],
  ["a demand of nought", { headers: wait({ "retry-after": "0" }) }, { waitMs: 0 }],
  ["a demand that cannot be read", { headers: wait({ "retry-after": "soon" }) }, { waitMs: 500 }],
  ["a 429 without demand", { headers: wait({}) }, { waitMs: 500 }],
  ["a demand of another status", { status: 503, headers: wait({ "retry-after": "99" }) }, { waitMs: 500 }],
  [
    "a demand that is not listened to",
    { settings: { ...settings, useRetryAfter: false }, headers: wait({ "retry-after": "99" }) },
    { waitMs: 500 },
  ],
  ["a demand of exactly 60 seconds", { headers: wait({ "retry-after-ms": "60000" }) }, { waitMs: 60_000 }],
  ["a demand of more than 60 seconds", { headers: wait({ "retry-after-ms": "60001" }) }, "too-long"],
  ["a demand without end", { headers: wait({ "retry-after": "9".repeat(400) }) }, "too-long"],
  ["a sum of exactly 60 seconds", { waitedMs: 50_000, headers: wait({ "retry-after": "10" }) }, { waitMs: 10_000 }],
  ["a sum of more than 60 seconds", { waitedMs: 50_001, headers: wait({ "retry-after": "10" }) }, "too-long"],
  ["a sum its own pauses bring over 60 seconds", { status: 503, waitedMs: 59_600 }, "too-long"],
] as const) {
  test(`decideRetry() is ${JSON.stringify(expected)} for ${what}`, () => {
    assert.deepEqual(decide(changes), expected);
  });
}

for (const [attempts, expected] of [
  [0, 0],
  [5, 5],
  [6, 5],
  [1e9, 5],
] as const) {
  test(`readConfig() makes ${expected} retries of ${attempts} asked for`, () => {
    assert.equal(toConfig({ retry: { attempts } }).retry?.attempts, expected);
    const problems = attempts > 5 ? ["retry.attempts: must be at most 5"] : [];
    assert.deepEqual(linesOf({ retry: { attempts } }, true), problems);
  });
}

test("createRetryBudget() allows three retries a second without any calls", () => {
  const clock = createClock();
  const budget = createRetryBudget(clock.now);
  const book = () => budget.book("host");
  assert.deepEqual([book(), book(), book(), book()], [true, true, true, false]);
  clock.pass(999);
  assert.equal(book(), false);
  assert.equal(budget.book("other"), true);
  clock.pass(1);
  assert.deepEqual([book(), book(), book(), book()], [true, true, true, false]);
});

test("createRetryBudget() allows a fifth of the calls of the last ten seconds", () => {
  const clock = createClock();
  const budget = createRetryBudget(clock.now);
  for (let call = 0; call < 100; call++) budget.noteCall("host");
  clock.pass(9_999);
  for (let retry = 0; retry < 20; retry++) assert.equal(budget.book("host"), true, `retry ${retry}`);
  assert.equal(budget.book("host"), false);
  clock.pass(1);
  // the calls are too long ago, the retries are not
  assert.deepEqual(
    [1, 2, 3, 4].map(() => budget.book("host")),
    [true, true, true, false],
  );
});

test("createRetryBudget() returns what was booked ten seconds ago", () => {
  const clock = createClock();
  const budget = createRetryBudget(clock.now);
  const bookAll = () => {
    let booked = 0;
    while (budget.book("host")) booked++;
    return booked;
  };
  for (let call = 0; call < 100; call++) budget.noteCall("host");
  assert.equal(bookAll(), 20);
  clock.pass(5_000);
  for (let call = 0; call < 100; call++) budget.noteCall("host");
  assert.equal(bookAll(), 20);
  clock.pass(5_000);
  assert.equal(bookAll(), 3);
  clock.pass(60_000);
  assert.equal(bookAll(), 3);
});

test(seeded("createRetryBudget() agrees with a list of all that happened"), () => {
  const step = fc.oneof(
    fc.constant("call" as const),
    fc.constant("retry" as const),
    fc.integer({ min: 1, max: 4_000 }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, minLength: 50 }), (steps) => {
      const clock = createClock();
      const budget = createRetryBudget(clock.now);
      const events: { kind: "call" | "retry"; second: number }[] = [];
      for (const one of steps) {
        if (typeof one === "number") {
          clock.pass(one);
          continue;
        }
        const second = Math.floor(clock.now() / 1_000);
        const since = (kind: string, first: number) =>
          events.filter((event) => event.kind === kind && event.second >= first).length;
        const isAllowed = since("retry", second) < 3 || since("retry", second - 9) + 1 <= since("call", second - 9) / 5;
        if (one === "call") budget.noteCall("host");
        else assert.equal(budget.book("host"), isAllowed);
        if (one === "call" || isAllowed) events.push({ kind: one, second });
      }
    }),
  );
});

test("createRetryBudget() is bounded", () => {
  const budget = createRetryBudget(createClock().now);
  for (let retry = 0; retry < 3; retry++) budget.book("k0");
  assert.equal(budget.book("k0"), false);
  for (let index = 1; index <= 30_000; index++) budget.noteCall(`k${index}`);
  assert.equal(budget.book("k0"), true);
});

test(seeded("decideRetry() never waits more than 60 seconds in all, and never tries more often than asked"), () => {
  const header = fc.constantFrom<Record<string, string>>({}, { "retry-after": "25" }, { "retry-after-ms": "59999" });
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5 }),
      fc.array(header, { minLength: 9, maxLength: 9 }),
      (attempts, answers) => {
        const random = createRandom(attempts);
        let waitedMs = 0;
        for (const [retries, headers] of answers.entries()) {
          const input = {
            settings: { ...settings, attempts },
            retries,
            waitedMs,
            random,
            headers: new Headers(headers),
          };
          const decision = decide(input);
          if (typeof decision === "string") return;
          waitedMs += decision.waitMs;
          assert.ok(waitedMs <= 60_000 && retries < attempts);
        }
      },
    ),
  );
});
