import assert from "node:assert/strict";
import { test } from "node:test";
import { chatRequest, problemsOf, runCheck } from "../support/guardrails.ts";

const letters = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";
const some = (length: number) => letters.repeat(8).slice(0, length);
const hex = (length: number) => "0123456789abcdef".repeat(8).slice(0, length);
const pem = (name: string) =>
  `-----BEGIN ${name}PRIVATE KEY-----\n${`${some(64)}\n`.repeat(20)}${some(20)}==\n-----END ${name}PRIVATE KEY-----`;

/** Tokens of each kind; all of them are made up. */
const tokens: readonly (readonly [kind: string, token: string])[] = [
  ["PRIVATE_KEY", pem("RSA ")],
  ["PRIVATE_KEY", pem("")],
  ["PRIVATE_KEY", pem("OPENSSH ").replaceAll("\n", "\\n")],
  ["JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
  ["AWS_KEY", `AKIA${"ABCDEFGH12345678"}`],
  ["AWS_KEY", `aws_secret_access_key = "${some(40)}`],
  ["GOOGLE_KEY", `AIza${some(35)}`],
  ["AZURE_KEY", `AccountKey=${some(86)}==`],
  ["OPENAI_KEY", `sk-proj-${some(48)}`],
  ["OPENAI_KEY", `sk-${some(48)}`],
  ["ANTHROPIC_KEY", `sk-ant-api03-${some(90)}`],
  ["MODEL_PROVIDER_KEY", `gsk_${some(52)}`],
  ["MODEL_PROVIDER_KEY", `hf_${some(34)}`],
  ["GATEWAY_KEY", `gk_${some(12)}_${some(49)}`],
  ["GITHUB_TOKEN", `ghp_${some(36)}`],
  ["GITHUB_TOKEN", `github_pat_${some(22)}_${some(59)}`],
  ["GITLAB_TOKEN", `glpat-${some(20)}`],
  ["SLACK_TOKEN", `xoxb-${"123456789012"}-${some(24)}`],
  ["STRIPE_KEY", `sk_live_${some(24)}`],
  ["CHAT_TOKEN", `123456789:AA${some(33)}`],
  ["MAIL_SERVICE_KEY", `SG.${some(22)}.${some(43)}`],
  ["PACKAGE_TOKEN", `npm_${some(36)}`],
  ["CLOUD_TOKEN", `dop_v1_${hex(64)}`],
  ["CLOUD_TOKEN", `hvs.${some(90)}`],
  ["SERVICE_TOKEN", `shpat_${hex(32)}`],
  ["SERVICE_TOKEN", `glsa_${some(32)}_${hex(8)}`],
  ["URL_PASSWORD", "postgres://app:correct-horse"],
];

for (const [kind, token] of tokens) {
  test(`secrets finds ${token.slice(0, 12)}... as ${kind}, and replaces exactly it`, async () => {
    const tail = kind === "URL_PASSWORD" ? "@db.example/app" : "";
    for (const [before, after] of [
      ["", ""],
      ["use ", " here."],
      ['{"key":"', '"}'],
      ["a\\n", "\\nb"],
    ]) {
      const { result, outcome } = await runCheck("secrets", { redact: true }, { text: before + token + tail + after });
      assert.deepEqual(outcome.body, chatRequest(`${before}{{${kind}_1}}${tail}${after}`));
      assert.equal(result?.verdict, true);
      const found = await runCheck("secrets", { kinds: [kind] }, { text: before + token + tail + after });
      assert.equal(found.result?.verdict, false);
      assert.ok(!JSON.stringify(found.result).includes(token), "the result shows the token");
    }
  });
}

for (const text of [
  "sk-learn and sk-12345",
  "https://host.example:8080/path?x=a@b",
  "git@github.com:owner/repository.git",
  "the AKIA prefix, AKIAABC",
  "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
  `sha256 ${hex(64)} and commit ${hex(40)}`,
  "eyJhbGciOiJIUzI1NiJ9 alone",
  "mongodb://${USER}:${PASSWORD}@host",
]) {
  test(`secrets finds nothing in ${text.slice(0, 30)}`, async () => {
    const { result } = await runCheck("default.secrets", {}, { text });
    assert.deepEqual([result?.verdict, result?.data?.count], [true, 0]);
  });
}

test("secrets finds what begins anywhere in a long text, and nothing in long base64", async () => {
  const token = `ghp_${some(36)}`;
  for (const before of [0, 1, 8_150, 8_189, 8_190, 8_191, 8_192, 16_383, 16_384]) {
    const { outcome } = await runCheck("secrets", { redact: true }, { text: `${" ".repeat(before)}${token} and more` });
    assert.deepEqual(outcome.body, chatRequest(`${" ".repeat(before)}{{GITHUB_TOKEN_1}} and more`));
  }
  for (const first of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/") {
    const text = [...letters].map((second) => first + second + some(200)).join("\n");
    assert.equal((await runCheck("secrets", {}, { text })).result?.data?.count, 0, `base64 that begins with ${first}`);
  }
});

test("secrets leaves the text behind a private key without an end", async () => {
  const text = `-----BEGIN RSA PRIVATE KEY-----\n${some(64)}\n${some(64)}\n\nThat was the key of the server.`;
  const { outcome } = await runCheck("secrets", { redact: true }, { text });
  assert.match(JSON.stringify(outcome.body), /\{\{PRIVATE_KEY_1\}\}That was the key of the server/);
});

test("secrets refuses what it does not know", () => {
  assert.match(problemsOf("secrets", { kinds: ["PASSWORD"] }).join(), /kinds.0: must be one of PRIVATE_KEY/);
  assert.match(problemsOf("secrets", { redact: true, not: true }).join(), /cannot have both redact and not/);
});
