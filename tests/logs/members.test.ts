import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "../../src/logs/redact.ts";

const { text, mayHoldSecret } = createRedactor({
  mac: () => "",
  keyPrefix: "gk",
  sensitiveNames: [],
  aliasPrefixes: [],
});
const secret = "of-no-known-form-1";

const names = [
  "api_key",
  "apiKey",
  "API_KEY",
  "x-api-key",
  "openai_api_key",
  "client_secret",
  "clientSecret",
  "secret",
  "password",
  "Password",
  "userPassword",
  "db_passwd",
  "pwd",
  "passphrase",
  "private_key",
  "secretAccessKey",
  "access_token",
  "refreshToken",
  "authToken",
  "token",
  "authorization",
  "Authorization",
  "credentials",
  "cookie",
];
for (const name of names) {
  test(`a body is stored without the value of ${name}, at any depth and in JSON inside of strings`, () => {
    const inner = { a: 1, [name]: secret, list: [{ [name]: `${secret}"\\\n${secret}` }], b: { c: [true, null] } };
    let value: unknown = { metadata: inner, [name]: secret, z: "last" };
    for (let depth = 0; depth < 4; depth++) {
      for (const written of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        assert.ok(mayHoldSecret(written));
        const stored = text(written);
        assert.equal(stored.includes(secret), false, stored);
        let shown = JSON.parse(stored);
        for (let level = 0; level < depth; level++) shown = JSON.parse(shown.arguments);
        assert.deepEqual(
          { ...shown, metadata: { ...shown.metadata, list: undefined } },
          { metadata: { ...inner, [name]: "[masked]", list: undefined }, [name]: "[masked]", z: "last" },
        );
      }
      value = { arguments: JSON.stringify(value) };
    }
  });
}

for (const [given, wanted] of [
  ['{"password":12345,"n":1}', '{"password":"[masked]","n":1}'],
  ['{"\\u0070assword":"a","api\\u005fkey":"b"}', '{"\\u0070assword":"[masked]","api\\u005fkey":"[masked]"}'],
  ['{"sas_token":"a","ssh_key":"b"}', '{"sas_token":"[masked]","ssh_key":"[masked]"}'],
  ['{"password" : -1.5e3}', '{"password" : "[masked]"}'],
  ['{"api_key":["one-of-them","other"],"n":[1]}', '{"api_key":["[masked]","[masked]"],"n":[1]}'],
  ['{"api_key":"cut in the mid', '{"api_key":"[masked]'],
  ['{"a":"{\\"password\\":\\"cut","b":"c"}', '{"a":"{\\"password\\":\\"[masked]","b":"c"}'],
  ['data: {"api_key":"open\n\ndata: {"n":1}', 'data: {"api_key":"[masked]\n\ndata: {"n":1}'],
  ['{"api_key":"hmac:0123456789ab"}', '{"api_key":"hmac:0123456789ab"}'],
] as const) {
  test(`a secret member is masked in ${JSON.stringify(given)}`, () => assert.equal(text(given), wanted));
}

for (const harmless of [
  '{"max_tokens":5,"token":"Hello","tokens":["a"],"key":"c major","keys":["a"],"logprobs":[{"token":" the"}]}',
  '{"properties":{"password":{"type":"string"},"api_key":{"type":"string"}},"required":["password"]}',
  '{"password":null,"api_key":"","secret":true}',
  '{"content":"my password: hunter2, a \\"key\\": of the piece"}',
  '{"api_key_id":"7d0b","organisation_id":"a","next_page_token":"abcdefghijklmnopqrst","operation":"chat"}',
]) {
  test(`members that are no secrets stay: ${harmless.slice(0, 40)}`, () => assert.equal(text(harmless), harmless));
}

test("names of settings are secrets in any spelling, whatever letters they end with", () => {
  const own = createRedactor({
    mac: () => "",
    keyPrefix: "gk",
    sensitiveNames: [],
    secretMembers: ["acme_pass", "acme_id"],
    aliasPrefixes: [],
  });
  for (const name of ["acme_pass", "acmePass", "acme-pass", "acme_id", "acmeId"]) {
    const given = JSON.stringify({ [name]: secret, inner: JSON.stringify({ [name]: secret }) });
    assert.ok(own.mayHoldSecret(given), name);
    assert.equal(own.text(given), given.replaceAll(secret, "[masked]"));
    assert.equal(text(given), given);
  }
  const others = JSON.stringify({ pass: secret, bypass: secret, user_id: secret, acme_pass_count: secret });
  assert.equal(own.text(others), others);
});
