import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answerHeaders,
  createHeaderRules,
  isHeaderName,
  isHeaderValue,
  passthroughRequestHeaders,
  readNameList,
} from "../../src/lib/headers.ts";

const rules = createHeaderRules(["x-gateway-", "x-acme-"]);

const never = [
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "proxy-authorization",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-anything",
  "host",
  "content-length",
  "expect",
  "cookie",
  "forwarded",
  "x-real-ip",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-anything",
  "metadata-flavor",
  "x-aws-ec2-metadata-token",
  "x-aws-ec2-metadata-token-ttl-seconds",
  "x-google-metadata-request",
  "x-user-claims",
  "x-user-jwt",
  "x-upstream-authorization",
  "x-gateway-api-key",
  "x-gateway-anything",
  "x-acme-api-key",
  "x-acme-provider",
];
for (const name of never) {
  test(`F3: ${name} never goes upstream, also on passthrough`, () => {
    assert.equal(rules.mayGoUpstream(name), false);
    assert.deepEqual(passthroughRequestHeaders({ [name]: "x" }, rules.mayGoUpstream), {});
  });
}

for (const name of [
  "accept",
  "authorization",
  "content-type",
  "x-request-id",
  "x-forwarded",
  "anthropic-version",
  "x-gatewayed",
]) {
  test(`F2: ${name} goes upstream on passthrough`, () => {
    assert.equal(rules.mayGoUpstream(name), true);
    assert.deepEqual(passthroughRequestHeaders({ [name]: "x" }, rules.mayGoUpstream), { [name]: "x" });
  });
}

for (const connection of ["x-private, x-other", "X-Private,close, x-other", "keep-alive, x-private,x-other"]) {
  test(`F3: names in "connection: ${connection}" belong to the connection`, () => {
    const headers = { connection, "x-private": "1", "x-other": "2", "x-kept": "3" };
    assert.deepEqual(passthroughRequestHeaders(headers, rules.mayGoUpstream), { "x-kept": "3" });
    assert.deepEqual(answerHeaders(new Headers(headers), rules.returned), { "x-kept": "3" });
  });
}

for (const name of [
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "proxy-authenticate",
  "set-cookie",
  "alt-svc",
  "strict-transport-security",
  "x-gateway-trace-id",
  "x-gateway-provider",
  "x-acme-trace-id",
]) {
  test(`F7: ${name} of an upstream does not go back`, () => {
    for (const filter of [rules.returned, rules.returnedUnified]) {
      assert.deepEqual(answerHeaders(new Headers([[name, "x"]]), filter), {});
      assert.deepEqual(answerHeaders(new Headers([[name, "x"]]), filter), {}, "and again from memory");
    }
  });
}

for (const [name, kept] of [
  ["content-encoding", false],
  ["content-length", false],
  ["server-timing", false],
  ["server", false],
  ["x-powered-by", false],
  ["location", false],
  ["refresh", false],
  ["content-type", true],
  ["retry-after", true],
  ["x-request-id", true],
  ["x-ratelimit-remaining", true],
] as const) {
  test(`F7: ${name} goes back as it came on passthrough, and ${kept ? "too" : "not"} on unified routes`, () => {
    const headers = new Headers([[name, "x"]]);
    assert.deepEqual(answerHeaders(headers, rules.returned), { [name]: "x" });
    assert.deepEqual(Object.keys(answerHeaders(headers, rules.returnedUnified)), kept ? [name] : []);
  });
}

for (const [text, names] of [
  ["", []],
  ["x-a", ["x-a"]],
  ["X-A, x-B ,x-c", ["x-a", "x-b", "x-c"]],
  ['["X-A","x-b"]', ["x-a", "x-b"]],
  ["['X-A', 'x-b']", ["x-a", "x-b"]],
  ["[x-a]", ["x-a"]],
  ['"x-a", x-b', ["x-a", "x-b"]],
  [",,x-a,,", ["x-a"]],
  ["[]", []],
  ["a b", undefined],
  ["x-a, a:b", undefined],
  ["{x-a}", undefined],
  ["x-é", undefined],
  ['[["x-a"]]', undefined],
] as const) {
  test(`readNameList() reads ${JSON.stringify(text)} as ${JSON.stringify(names)}`, () => {
    assert.deepEqual(readNameList(text), names);
  });
}

for (const [name, valid] of [
  ["x-a_b.c", true],
  ["!#$%&'*+-.^_`|~", true],
  ["", false],
  ["a b", false],
  ["a:b", false],
  ["a\n", false],
  ["é", false],
] as const) {
  test(`F6: isHeaderName() says ${valid} of ${JSON.stringify(name)}`, () => assert.equal(isHeaderName(name), valid));
}

for (const [value, valid] of [
  ["", true],
  ["a\tb é", true],
  ["a\nb", false],
  ["a\rb", false],
  ["a\0b", false],
  ["a\u007fb", false],
] as const) {
  test(`F6: isHeaderValue() says ${valid} of ${JSON.stringify(value)}`, () =>
    assert.equal(isHeaderValue(value), valid));
}
