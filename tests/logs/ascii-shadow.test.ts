import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "../../src/logs/redact.ts";
import { createRandom } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

const redactor = createRedactor({ mac: () => "", keyPrefix: "gk", sensitiveNames: [], aliasPrefixes: [] });
const some = (length: number) => "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789".repeat(8).slice(0, length);

const pieces = [
  `sk-${some(40)}`,
  `AKIA${"ABCDEFGH12345678"}`,
  `ghp sk- AIza${some(36)}`,
  `hf_${some(34)}`,
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
  `-----BEGIN RSA PRIVATE KEY-----\\n${some(64)}\u00a0${some(64)}\\n-----END RSA PRIVATE KEY-----`,
  `gk_${some(12)}_${some(40)}`,
  '"api_key"\u00a0:"a secret value é"',
  '"password": "日本 secret"',
  '"password"\u2003: "beyond"',
  '\\"client_secret\\": \\"in a string 日\\"',
  '"key": "plain"',
  "naïve — 日本語",
  "\u{1f600}\ufeff\u2028",
  "é",
  "日",
  " ",
  "\n",
  '"',
  "words of a conversation",
];

test("long text with characters beyond ASCII is masked as short text is", () => {
  const random = createRandom(sampleSeed);
  const pick = () => pieces[Math.floor(random() * pieces.length)] ?? "";
  const padding = `${"plain words, 日本語 and é; ".repeat(800)}\n`;
  let masked = 0;
  for (let round = 0; round < rounds(400); round++) {
    const text = `${Array.from({ length: 8 }, pick).join(random() < 0.5 ? " " : "")}\n`;
    const wanted = redactor.text(text);
    if (wanted !== text) masked++;
    assert.equal(redactor.text(padding + text + padding), padding + wanted + padding);
  }
  assert.ok(masked > rounds(400) / 2);
});
