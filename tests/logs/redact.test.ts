import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { secretHeaders } from "../../src/gateway/provider-rules.ts";
import { webMac } from "../../src/lib/hash.ts";
import { credentialHeaders, gatewayCredentials } from "../../src/lib/secret-names.ts";
import { createRedactor, type RedactorOptions } from "../../src/logs/redact.ts";
import { createProviderRegistry } from "../../src/providers/registry.ts";
import { nodeMac } from "../../src/serve/environment.ts";

const key = Uint8Array.from({ length: 32 }, (_, index) => index);

function create(changes: Partial<RedactorOptions> = {}) {
  const sensitiveNames = secretHeaders(createProviderRegistry(), ["x-gateway-"]);
  const options = { mac: nodeMac(key), keyPrefix: "gk", sensitiveNames, aliasPrefixes: [], ...changes };
  const { text, headers } = createRedactor(options);
  const redact = (from: Headers, extra: readonly string[] | null) => headers(Object.fromEntries(from), extra);
  return { text, headers: redact };
}

const hidden = (value: string) => `hmac:${createHmac("sha256", key).update(value).digest("hex").slice(0, 12)}`;

const sensitive = [
  ...credentialHeaders,
  ...gatewayCredentials.map((name) => `x-gateway-${name}`),
  "x-gateway-aws-secret-access-key",
  "x-gateway-aws-session-token",
  "x-gateway-vertex-service-account-json",
  "x-gateway-azure-entra-client-secret",
  "x-gateway-aws-role-arn",
  "x-gateway-aws-external-id",
  "x-gateway-anthropic-api-key",
  "x-gateway-oracle-key-passphrase",
  "modal-key",
  "x-gateway-databricks-client-secret",
  "x-functions-code",
  "x-functions-key",
  "x-amz-server-side-encryption-customer-key",
  "x-vault-token",
  "private-token",
  "x-hub-signature",
  "x-session-id",
  "x-webhook-secret",
  "x-db-password",
  "x-gateway-amz-server-side-encryption-aws-kms-key-id",
  "openai-ephemeral-user-token",
  "x-user-auth",
  "x_api_key",
];
for (const name of sensitive) {
  test(`L2: headers() stores ${name} as the first 12 digits of its HMAC`, async () => {
    const headers = new Headers({ [name]: "Bearer a-secret-value" });
    assert.deepEqual({ ...(await create().headers(headers, [])) }, { [name]: hidden("Bearer a-secret-value") });
  });
}

test("L2: headers() returns the same digests by webMac", async () => {
  const headers = new Headers({ authorization: "Bearer one", "x-api-key": "two", accept: "*/*" });
  const late = create({ mac: webMac(key) });
  const wanted = { accept: "*/*", authorization: hidden("Bearer one"), "x-api-key": hidden("two") };
  assert.deepEqual({ ...(await late.headers(headers, [])) }, wanted);
  assert.deepEqual({ ...(await late.headers(headers, [])) }, wanted, "and again from memory");
});

test("L2: headers() hides configs of requests, whatever they hold, and leaves slugs of saved ones", async () => {
  const redactor = create({ aliasPrefixes: ["x-acme-"] });
  const config = ' {"provider":"openai","api_key":"a-credential-of-no-known-form"}';
  for (const name of ["x-gateway-config", "x-acme-config"]) {
    assert.deepEqual(await redactor.headers(new Headers({ [name]: config }), []), { [name]: hidden(config.trim()) });
    assert.deepEqual(await redactor.headers(new Headers({ [name]: "pc-a-000001" }), []), { [name]: "pc-a-000001" });
  }
});

test("L2: headers() leaves other headers readable", async () => {
  const headers = new Headers({
    "content-type": "application/json",
    "x-team": "harbour",
    "x-gateway-provider": "echo",
    "idempotency-key": "order-1",
    "x-ratelimit-remaining-tokens": "5",
    "x-amzn-bedrock-input-token-count": "7",
    "x-gateway-aws-s3-object-key": "rows.jsonl",
    "x-error-code": "none",
    etag: "W/1",
  });
  assert.deepEqual({ ...(await create().headers(headers, [])) }, Object.fromEntries(headers));
});

test("L2: headers() hides what the caller and the operator name, and aliases of ours", async () => {
  const redactor = create({ sensitiveNames: ["x-operator"], aliasPrefixes: ["x-acme-"] });
  const headers = new Headers({
    "x-caller": "1",
    "x-operator": "2",
    "x-acme-api-key": "3",
    "x-acme-provider": "echo",
  });
  assert.deepEqual(
    { ...(await redactor.headers(headers, ["x-caller"])) },
    {
      "x-caller": hidden("1"),
      "x-operator": hidden("2"),
      "x-acme-api-key": hidden("3"),
      "x-acme-provider": "echo",
    },
  );
});

test("L2: headers() hides every custom header when the caller's list is broken", async () => {
  const headers = new Headers({ "content-type": "application/json", "user-agent": "test", "x-team": "harbour" });
  assert.deepEqual(
    { ...(await create().headers(headers, null)) },
    { "content-type": "application/json", "user-agent": "test", "x-team": hidden("harbour") },
  );
});

test("L2: headers() hides long values too", async () => {
  const value = `Bearer ${"x".repeat(10_000)}`;
  const headers = new Headers({ authorization: value });
  const redactor = create();
  assert.deepEqual({ ...(await redactor.headers(headers, [])) }, { authorization: hidden(value) });
});

const secrets: readonly (readonly [string, string])[] = [
  ["a gateway key", mintApiKey("gk").key],
  ["an OpenAI key", "sk-proj-abcdefghij0123456789"],
  ["an Anthropic key", "sk-ant-api03-abcdefghij0123456789_-"],
  ["a Google key", `AIza${"a1B2".repeat(9)}`],
  ["an AWS key id", "AKIAIOSFODNN7EXAMPLE"],
  ["a temporary AWS key id", "ASIAIOSFODNN7EXAMPLE"],
  ["a Groq key", `gsk_${"a1B2".repeat(8)}`],
  ["a Hugging Face key", `hf_${"a1B2".repeat(9)}`],
  ["an xAI key", `xai-${"a1B2".repeat(8)}`],
  ["a Perplexity key", `pplx-${"a1B2".repeat(8)}`],
  ["a JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
  ["a JWT behind a word", "token_eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
  ["a key of a realtime session", `ek_${"a1B2".repeat(8)}`],
  ["an unsigned JWT", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0."],
  ["a private key", "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg/+=\\n-----END PRIVATE KEY-----"],
  ["an RSA private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END RSA PRIVATE KEY-----"],
  ["a cut private key", "-----BEGIN EC PRIVATE KEY-----\nMIIEvQIBADANBg"],
];
for (const [name, secret] of secrets) {
  test(`L3: text() masks ${name} wherever it stands, each time`, () => {
    const { text } = create();
    for (const [before, behind] of [
      ["", ""],
      ['{"content":"my key is ', '"}'],
      [`first ${secret} then `, "\n"],
    ] as const) {
      // a private key that was cut takes all that follows with it
      const masked = text(before + secret + behind);
      assert.equal(masked.includes(secret.slice(0, 24)), false, masked);
      assert.ok(masked.includes("[masked]"), masked);
      assert.ok(masked.startsWith(before.slice(0, 5)), masked);
    }
    assert.equal(text(secret), text(secret));
  });
}

for (const harmless of [
  "",
  "a risk-free sk-ill",
  "sk-short",
  "gk_ is a prefix",
  "eyJ is how base64 of { begins",
  "AKIA",
  "the PRIVATE KEY----- marker alone",
  '{"messages":[{"role":"user","content":"Hello"}]}',
]) {
  test(`L3: text() leaves "${harmless}" alone`, () => assert.equal(create().text(harmless), harmless));
}

test("L3: headers() masks secrets in values of headers that are not sensitive", async () => {
  const { key: secret } = mintApiKey("gk");
  const headers = new Headers({ "x-note": `key ${secret}`, "x-long": `${"x ".repeat(200)}${secret}` });
  const shown = await create().headers(headers, []);
  assert.equal(shown["x-note"], "key [masked]");
  assert.equal(shown["x-long"], `${"x ".repeat(200)}[masked]`);
});

test("L3: text() masks keys of a prefix the operator chose", () => {
  const { key: secret } = mintApiKey("my-team");
  assert.equal(create({ keyPrefix: "my-team" }).text(`a ${secret} b`), "a [masked] b");
});

test("text() masks tokens of identity providers", () => {
  const { key: token } = mintApiKey("scim");
  assert.equal(create().text(`a ${token} b`), "a [masked] b");
  assert.equal(create({ keyPrefix: "my-" }).text(`a ${token} b`), "a [masked] b");
});
