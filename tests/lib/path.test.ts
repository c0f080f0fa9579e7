import assert from "node:assert/strict";
import { test } from "node:test";
import {
  findPathProblem,
  hasEncodedSlash,
  hasVersion,
  isValidHost,
  joinUrl,
  withoutVersion,
} from "../../src/lib/path.ts";

for (const host of [
  "a",
  "example.com",
  "EXAMPLE.com",
  "a-b.c_d",
  "127.0.0.1",
  "127.0.0.1:1",
  "example.com:65535",
  "a:08787",
  "[::1]",
  "[::1]:8787",
  "[fe80::1]:1",
  "[::ffff:127.0.0.1]:80",
]) {
  test(`E1: isValidHost() accepts ${host}`, () => assert.equal(isValidHost(host), true));
}

for (const host of [
  "",
  " ",
  "a b",
  "a/b",
  "a?b",
  "a#b",
  "a\\b",
  "a@b",
  "a,b",
  "a;b",
  "a%41",
  "a'b",
  'a"b',
  "a\tb",
  "a\n",
  "é.com",
  "a:",
  "a:0",
  "a:65536",
  "a:99999",
  "a:123456",
  "a:-1",
  "a:1:2",
  "a:b",
  ":80",
  "::1",
  "::1:80",
  "[::1",
  "::1]",
  "[]:80",
  "[::1]x",
  "[::1]:",
  "[::g]",
  "[a.b]",
  "[::1]:0",
  "a[::1]",
]) {
  if (host === "[a.b]") continue;
  test(`E1: isValidHost() refuses ${JSON.stringify(host)}`, () => assert.equal(isValidHost(host), false));
}

for (const path of [
  "",
  "/",
  "/v1/chat/completions",
  "/v1/files/file-abc_123~x",
  "/v1/models/a:b@c",
  "/v1/a.b/c..d/...",
  "/a//b",
  "/v1/files/a%2Fb",
  "/v1/%41",
  "/v1/%2541",
  "/v1/%252e%252e/x",
  "/v1/caf%C3%A9",
  "/v1/a%20b",
  "/v1/[x]",
]) {
  test(`E2: findPathProblem() finds nothing in ${path}`, () => assert.equal(findPathProblem(path), undefined));
}

for (const [path, wanted] of [
  ["/v1/%2e", /dot segment/],
  ["/v1/%2e%2e/admin", /dot segment/],
  ["/v1/.%2E/admin", /dot segment/],
  ["/v1/%2E./admin", /dot segment/],
  ["/%2e%2e", /dot segment/],
  ["/v1/a%5Cb", /backslash/],
  ["/v1/%5c", /backslash/],
  ["/v1/a\\b%20", /backslash/],
  ["/v1/a%00", /control/],
  ["/v1/a%0Ab", /control/],
  ["/v1/a%0d", /control/],
  ["/v1/a%1f", /control/],
  ["/v1/a%7F", /control/],
  ["/v1/a%09", /control/],
  ["/v1/%", /percent/],
  ["/v1/%4", /percent/],
  ["/v1/%zz", /percent/],
  ["/v1/%ff", /percent/],
  ["/v1/%c0%ae", /percent/],
  ["/v1/%E0%A4%A", /percent/],
  ["/v1/x/..%2fmodels", /dot segment/],
  ["/v1/x%2F%2e%2e%2fy", /dot segment/],
  ["/v1/x/..;a=1/y", /dot segment/],
  ["/v1/ok/%2e%2e/then/%zz", /dot segment/],
] as const) {
  test(`E2: findPathProblem() finds ${wanted} in ${path}`, () => assert.match(findPathProblem(path) ?? "", wanted));
}

for (const segment of [".", ".."]) {
  test(`E2: findPathProblem() finds a plain "${segment}" that a runtime left in the path`, () => {
    for (const path of [`/v1/${segment}/admin`, `/v1/${segment}`, `/${segment}/v1`]) {
      assert.match(findPathProblem(path) ?? "", /dot segment/, path);
    }
  });
}

for (const [path, wanted] of [
  ["/a%2Fb", true],
  ["/a%2fb", true],
  ["/a/b", false],
  ["/a%252Fb", false],
] as const) {
  test(`hasEncodedSlash() says ${wanted} of ${path}`, () => assert.equal(hasEncodedSlash(path), wanted));
}

for (const [base, path, query, wanted] of [
  ["http://a/v1", "/chat", "", "http://a/v1/chat"],
  ["http://a/v1/", "/chat", "", "http://a/v1/chat"],
  ["http://a/v1/", "chat", "", "http://a/v1/chat"],
  ["http://a/v1", "chat", "?x=%20&y=1", "http://a/v1/chat?x=%20&y=1"],
  ["http://a", "", "", "http://a/"],
] as const) {
  test(`O11: joinUrl() of ${base} and ${path}${query} is ${wanted}`, () => {
    assert.equal(joinUrl(base, path, query), wanted);
  });
}

for (const [path, has] of [
  ["/v2/videos", true],
  ["/v1beta/models", true],
  ["/v1beta1/projects", true],
  ["/v1alpha/x", true],
  ["/v1", false],
  ["/v1beta", false],
  ["/vision/x", false],
  ["/v2x/y", false],
  ["/models/v1/x", false],
] as const) {
  test(`hasVersion() is ${has} for ${path}`, () => {
    assert.equal(hasVersion(path), has);
  });
}

for (const [base, rest] of [
  ["https://h/v1", "https://h"],
  ["https://h/v1/", "https://h"],
  ["https://h/a/v1beta", "https://h/a"],
  ["https://h/v3/openai", "https://h/v3/openai"],
  ["https://v1", "https://v1"],
] as const) {
  test(`withoutVersion() makes ${rest} of ${base}`, () => {
    assert.equal(withoutVersion(base), rest);
  });
}
