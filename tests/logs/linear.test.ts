import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "../../src/logs/redact.ts";

const { text } = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });

/** Beginnings of every form, and what may stand before and inside one. */
const pieces = [
  ...[
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
  ],
  ...[
    "openai-insecure-api-key.",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
    "PRIVATE KEY",
    "gk_",
    "scim_",
  ],
  ...["gk_aaaaaaaaaaaa_", "a", "A", "_", "-", ".", " ", "\n", "\\n", "\\", '"', '\\"', '":"', "aaaaaaaaaaaaaaaaaaaa"],
  ...[
    '"api_key"',
    '"api_key":',
    '"api_key":"',
    '"api_key": ',
    '\\"password\\":\\"',
    '"password":1',
    "api_key=",
    "password",
  ],
];

/** Texts that repeat one piece, or two in turn, behind what makes every form be looked for. */
function* adversarial(): Generator<[string, (length: number) => string]> {
  const hints = 'sk-aaaaaaaaaaaaaaaa eyJaaaaaaaa -----BEGIN PRIVATE KEY----- "api_key" ';
  for (const one of pieces) {
    for (const other of ["", ...pieces]) {
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

/** Sixteen times the text: 16 where the work is linear, 256 where it is quadratic. */
const [small, factor, allowed] = [4_096, 16, 80];

test("the work of masking grows with the length of a text, whatever is repeated in it", () => {
  for (const [name, create] of adversarial()) {
    const short = create(small);
    const long = create(small * factor);
    let ratio = Number.POSITIVE_INFINITY;
    // another program may hold the machine: the best of a few counts
    for (let round = 0; round < 5 && ratio > allowed; round++) {
      const base = Math.max(
        timeOf(() => text(short)),
        0.05,
      );
      ratio = Math.min(ratio, timeOf(() => text(long)) / base);
    }
    assert.ok(ratio <= allowed, `${name}: ${factor} times the text takes ${Math.round(ratio)} times as long`);
  }
});
