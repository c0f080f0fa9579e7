import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createSteadyTime } from "../../src/lib/clock.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const second = 1_000;
const hour = 3_600_000;

/** A machine whose wall clock can be wrong. */
function createMachine() {
  const start = Date.UTC(2026, 0, 15, 12);
  const state = { passed: 5_000, error: 0 };
  const time = createSteadyTime({ now: () => start + state.passed + state.error, monotonic: () => state.passed });
  return {
    state,
    /** How far the steady time is from the true one. */
    readError: () => time() - start - state.passed,
    /** Lets so many seconds pass and reads the time after each; the largest and least error. */
    pass(seconds: number): [least: number, most: number] {
      const errors: number[] = [];
      for (let index = 0; index < seconds; index++) {
        state.passed += second;
        errors.push(this.readError());
      }
      return [Math.min(...errors), Math.max(...errors)];
    },
  };
}

for (const jump of [hour, -hour, 366 * 24 * hour, 2_001, -2_001]) {
  test(`createSteadyTime() ignores a jump of ${jump} ms that lasts less than a minute`, () => {
    const machine = createMachine();
    machine.state.error = jump;
    assert.deepEqual(machine.pass(60), [0, 0]);
    machine.state.error = 0;
    assert.deepEqual(machine.pass(120), [0, 0]);
  });

  test(`createSteadyTime() follows a jump of ${jump} ms that lasted a minute, and the one back`, () => {
    const machine = createMachine();
    machine.state.error = jump;
    machine.pass(60);
    assert.deepEqual(machine.pass(60), [jump, jump]);
    machine.state.error = 0;
    assert.deepEqual(machine.pass(60), [jump, jump]);
    assert.deepEqual(machine.pass(60), [0, 0]);
  });
}

test("createSteadyTime() counts the minute anew when the difference changes", () => {
  const machine = createMachine();
  machine.state.error = hour;
  machine.pass(50);
  machine.state.error = 2 * hour;
  assert.deepEqual(machine.pass(60), [0, 0]);
  assert.deepEqual(machine.pass(1), [2 * hour, 2 * hour]);
});

test("createSteadyTime() follows drift at once and does not go back for it", () => {
  const machine = createMachine();
  for (let drift = 0; drift < 10 * second; drift += 100) {
    machine.state.error = drift;
    assert.deepEqual(machine.pass(1), [drift, drift]);
  }
  const { error } = machine.state;
  machine.state.error = error - 1_500;
  assert.equal(machine.readError(), error);
  machine.state.passed += second;
  assert.equal(machine.readError(), error - second, "it stands still");
  machine.state.passed += second;
  assert.equal(machine.readError(), error - 1_500);
});

test(`createSteadyTime() shows the true time through any short errors of the clock (seed ${sampleSeed})`, () => {
  const step = fc.record({
    /** Seconds of the right time, then of the wrong one. */
    right: fc.integer({ min: 1, max: 90 }),
    wrong: fc.integer({ min: 1, max: 59 }),
    error: fc.integer({ min: 2_001, max: 400 * 24 * hour }).chain((size) => fc.constantFrom(size, -size)),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      const machine = createMachine();
      for (const { right, wrong, error } of steps) {
        machine.state.error = 0;
        assert.deepEqual(machine.pass(right), [0, 0]);
        machine.state.error = error;
        assert.deepEqual(machine.pass(wrong), [0, 0]);
      }
    }),
    { seed: sampleSeed, numRuns: rounds(200) },
  );
});

test(`createSteadyTime() is at the wall clock a minute after its last jump (seed ${sampleSeed})`, () => {
  const jump = fc.record({
    error: fc.integer({ min: -10 * hour, max: 10 * hour }),
    lasts: fc.integer({ min: 0, max: 200 }),
  });
  fc.assert(
    fc.property(fc.array(jump, { minLength: 1, maxLength: 20 }), (jumps) => {
      const machine = createMachine();
      for (const { error, lasts } of jumps) {
        machine.state.error = error;
        machine.pass(lasts);
      }
      machine.pass(64);
      assert.equal(machine.readError(), machine.state.error);
    }),
    { seed: sampleSeed, numRuns: rounds(200) },
  );
});
