import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "../../src/logs/redact.ts";

const { text } = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });

/** Beginnings of every form, and what may stand before and inside one. */
const pieces = [
  "sk-",
  "AIza",
  "AKIA",
  "gsk_",
  "hf_",
  "xai-",
  "pplx-",
  "eyJ",
  "eyJaaaaaaaa",
  "eyJaaaaaaaa.",
  "eyJaaaaaaaa.eyJaaaa",
  "openai-insecure-api-key.",
  "-----BEGIN ",
  "-----BEGIN PRIVATE KEY-----",
  "-----END ",
  "PRIVATE KEY",
  "gk_",
  "scim_",
  "gk_aaaaaaaaaaaa_",
  "a",
  "A",
  "_",
  "-",
  ".",
  " ",
  "\n",
  "\\n",
  "\\",
  '"',
  '\\"',
  '":"',
  "aaaaaaaaaaaaaaaaaaaa",
  '"api_key"',
  '"api_key":',
  '"api_key":"',
  '"api_key": ',
  '\\"password\\":\\"',
  '"password":1',
  "api_key=",
  "password",
  "key\\:",
  'key\\" :',
];

/** What stands between two repeats of a piece. */
const joints = ["", "-", "_", ".", " ", "\n", "\\", '"', "a", "eyJaaaaaaaa", '"api_key":"'];

/** Inputs that repeat one piece, or two in turn, after a prefix that triggers every pattern. */
function* adversarial(): Generator<[string, (length: number) => string]> {
  const hints = 'sk-aaaaaaaaaaaaaaaa eyJaaaaaaaa -----BEGIN PRIVATE KEY----- "api_key" ';
  for (const one of pieces) {
    for (const other of joints) {
      const unit = one + other;
      yield [JSON.stringify(unit), (length) => hints + unit.repeat(Math.ceil(length / unit.length))];
    }
  }
}

function timeOf(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Sixteen times the text: about 16 where the work is linear, 256 where it is quadratic. */
const [small, factor, allowed] = [4_096, 16, 100];
const mostRounds = 40;

function requireLinear(name: string, create: (length: number) => string, length = small): void {
  const [short, long] = [create(length), create(length * factor)];
  const best = { short: Number.POSITIVE_INFINITY, long: Number.POSITIVE_INFINITY };
  let ratio = Number.POSITIVE_INFINITY;
  // other programs hold the machine now and then: the best of some rounds is what the work takes
  for (let round = 0; round < mostRounds && ratio > allowed; round++) {
    best.short = Math.min(
      best.short,
      timeOf(() => text(short)),
    );
    best.long = Math.min(
      best.long,
      timeOf(() => text(long)),
    );
    ratio = best.long / Math.max(best.short, 0.05);
  }
  assert.ok(ratio <= allowed, `${name}: ${factor} times the text takes ${Math.round(ratio)} times as long`);
}

test("the work of masking grows with the length of a text, whatever is repeated in it", () => {
  for (const [name, create] of adversarial()) requireLinear(name, create);
});

test("the work of masking grows with the length of a text that has no quote to go back to", () => {
  // going back is fast: only long text shows it
  for (const unit of ["key\\:", "ken\\ :"]) {
    requireLinear(unit, (length) => unit.repeat(Math.ceil(length / unit.length)), 65_536);
  }
});
