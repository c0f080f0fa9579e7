import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { guard, problemsOf, runCheck } from "../support/guardrails.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let site: RecordingUpstream;

before(async () => {
  site = await startRecordingUpstream(({ path }, response) => {
    if (path.startsWith("/silent")) return;
    response.writeHead(Number(/^\/(\d{3})/.exec(path)?.[1] ?? 200), { location: "/200" });
    response.end();
  });
});
after(() => site.close());

/** The paths that are called while a check runs, and what it says; `*` stands for the site. */
async function look(text: string, parameters: Readonly<Record<string, unknown>> = {}) {
  const begun = site.requests.length;
  const said = text.replaceAll("*", site.url);
  const { result } = await runCheck("default.validUrls", parameters, { text: said, answers: true });
  assert.deepEqual(result?.error, null);
  const called = site.requests.slice(begun);
  for (const { method } of called) assert.equal(method, "HEAD");
  return { ...result, paths: called.map(({ path }) => path).sort() };
}

for (const [text, verdict, paths] of [
  ["see */200", true, ["/200"]],
  ["see */204 and */200.", true, ["/200", "/204"]],
  ["see */200 and */404", false, ["/200", "/404"]],
  ["see */301", false, ["/301"]],
  ["see */500", false, ["/500"]],
  ["see [this](*/200/a_(b)) or (*/200/c), or <*/200/d>!", true, ["/200/a_(b)", "/200/c", "/200/d"]],
  ['"*/200?a=1&b=2#part" */200?a=1&b=2', true, ["/200?a=1&b=2"]],
  ["see */200/é", true, ["/200/%C3%A9"]],
  ["see */200 and http://169.254.169.254/", false, ["/200"]],
  ["see http://10.0.0.1/ and */200", false, ["/200"]],
  ["see http://127.0.0.1:1/", false, []],
  ["see http://user:secret@host.example/", false, []],
  ["see https://", false, []],
] as const) {
  test(`validUrls of ${text} is ${verdict}`, async () => {
    const result = await look(text);
    assert.deepEqual([result.verdict, result.paths], [verdict, paths]);
  });
}

test("validUrls with not is inverted", async () => {
  assert.equal((await look("*/200", { not: true })).verdict, false);
  assert.equal((await look("*/200 */404", { not: true })).verdict, true);
});

test("validUrls fails without an address, inverted or not", async () => {
  for (const not of [false, true]) {
    const { verdict, data } = await look("nothing, ftp://host.example", { not });
    assert.deepEqual([verdict, data?.explanation], [false, "The text has no addresses"]);
  }
});

test("validUrls with onlyDNS accepts any response", async () => {
  assert.equal((await look("*/404 */500", { onlyDNS: true })).verdict, true);
  assert.equal((await look("*/404 http://127.0.0.1:1/", { onlyDNS: true })).verdict, false);
});

test("validUrls reports which addresses are not valid", async () => {
  const { data } = await look("*/404 */200");
  assert.deepEqual(data?.invalidUrls, [`${site.url}/404`]);
});

test("validUrls waits three seconds for all addresses together", async () => {
  const startedAt = performance.now();
  const { verdict } = await look("*/silent?1 */silent?2 */silent?3");
  const ms = performance.now() - startedAt;
  assert.equal(verdict, false);
  assert.ok(ms > 2_500 && ms < 6_000, `${ms} ms`);
});

test("validUrls checks twenty addresses, each once, and says so", async () => {
  const list = Array.from({ length: 25 }, (_, index) => `*/200/${index} */200/${index}`).join(" ");
  const { verdict, data, paths } = await look(list);
  assert.deepEqual([verdict, data?.isCut, paths.length], [true, true, 20]);
});

test("validUrls of a hook that denies refuses more addresses than it looks at", async () => {
  const text = Array.from({ length: 21 }, (_, index) => `${site.url}/200/${index}`).join(" ");
  const { isDenied, results } = await guard([{ deny: true, validUrls: {} }], { text, answers: true });
  const error = results[0]?.checks[0]?.error?.message;
  assert.deepEqual([isDenied, error], [true, "Cannot check more than 20 addresses"]);
});

test("validUrls runs after the call only, and its parameters are switches", () => {
  assert.match(problemsOf("default.validUrls", {})[0] ?? "", /runs after the call only$/);
  assert.equal(problemsOf("default.validUrls", { onlyDNS: "yes" }, "output_guardrails").length, 1);
});
