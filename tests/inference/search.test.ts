import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  waitForLogs,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const pages = [
  { title: "Oslo", url: "https://yr.example/oslo", said: "Sunny", when: "2026-11-01" },
  { title: "Bergen", url: "https://www.rain.example/bergen", said: "Rain", when: null },
  { title: "Odd", url: "javascript:alert(1)", said: "Odd", when: null },
];

/** Responses of the providers, each in its own form. */
const answers: Readonly<Record<string, unknown>> = {
  "/exa/search": {
    results: pages.map(({ title, url, said, when }) => ({ title, url, text: said, publishedDate: when })),
    costDollars: { total: 0.007 },
  },
  "/tavily/search": {
    results: pages.map(({ title, url, said, when }) => ({ title, url, content: said, published_date: when })),
  },
  "/brave/res/v1/web/search": {
    web: { results: pages.map(({ title, url, said, when }) => ({ title, url, description: said, page_age: when })) },
  },
  "/searxng/search": {
    results: pages.map(({ title, url, said, when }) => ({ title, url, content: said, publishedDate: when })),
  },
  "/odd/search": { found: [] },
};

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    const answer = answers[path.replace(/\?.*/, "")];
    response.writeHead(answer ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { error: "down" }));
  });
  gateway = await createTestGateway({ inFile: true });
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

function search(
  provider: string,
  body: object,
  { path = provider, ...headers }: HeaderChanges & { path?: string } = {},
) {
  const at = { "x-gateway-provider": provider, "x-gateway-custom-host": `${upstream.url}/${path}` };
  const init = { method: "POST", headers: requestHeaders({ ...at, authorization: "Bearer search-key", ...headers }) };
  return gateway.fetch("/v1/search", { ...init, body: JSON.stringify(body) });
}

const filter = { search_domain_filter: ["yr.example", "-rain.example"], country: "no" };

/** What each provider is sent: its credential, and the request in its form. */
const forms = [
  {
    provider: "exa",
    model: "auto",
    credential: ["x-api-key", "search-key"],
    sent: {
      contents: { text: { maxCharacters: 3_000 } },
      query: "weather",
      type: "auto",
      numResults: 3,
      includeDomains: ["yr.example"],
      excludeDomains: ["rain.example"],
      userLocation: "NO",
    },
  },
  {
    provider: "tavily",
    model: "basic",
    credential: ["authorization", "Bearer search-key"],
    sent: {
      query: "weather",
      search_depth: "basic",
      max_results: 3,
      include_domains: ["yr.example"],
      exclude_domains: ["rain.example"],
      country: "norway",
    },
  },
  {
    provider: "brave",
    model: "web",
    credential: ["x-subscription-token", "search-key"],
    query: { q: "weather (site:yr.example) -site:rain.example", count: "3", text_decorations: "false", country: "NO" },
  },
  {
    provider: "searxng",
    model: "general",
    credential: ["authorization", "Bearer search-key"],
    query: { q: "weather (site:yr.example) -site:rain.example", format: "json", categories: "general" },
  },
] as const;

for (const { provider, model, credential, ...form } of forms) {
  test(`${provider} searches in its own form, and only pages of allowed hosts come back`, async () => {
    const response = await search(provider, { model, query: "weather", max_results: 3, ...filter });
    const body = await readJson<{ id: string; results: object[]; provider: string }>(response);
    assert.equal(response.status, 200, JSON.stringify(body));
    const { id, usage: _, ...rest } = body as Record<string, unknown>;
    assert.match(String(id), /^search-/);
    const results = [{ title: "Oslo", url: "https://yr.example/oslo", snippet: "Sunny", date: "2026-11-01" }];
    assert.deepEqual(rest, { object: "search", model, results, provider });
    const received = upstream.requests.at(-1);
    assert.equal(received?.headers[credential[0]], credential[1]);
    if ("sent" in form) assert.deepEqual(JSON.parse(received?.text ?? ""), form.sent);
    else {
      const asked = new URL(received?.path ?? "", "http://a.example").searchParams;
      assert.deepEqual(Object.fromEntries(asked), form.query);
    }
  });
}

test("a search costs what its provider reports, else its price; one without an answer costs nothing", async () => {
  const of = (provider: string, path = provider) =>
    search(
      provider,
      { model: provider === "exa" ? "auto" : "basic", query: "q" },
      { path, "x-gateway-trace-id": "costs" },
    );
  for (const response of [await of("exa"), await of("tavily"), await of("exa", "down")]) await response.text();
  const rows = await waitForLogs(gateway, "trace_id=costs", 3);
  assert.deepEqual(rows.map(({ cost }) => cost).sort(), [0, 0.7, 0.8]);
});

for (const [what, body, path, status] of [
  ["without a query", { model: "auto", query: " " }, "exa", 400],
  ["for 21 results", { model: "auto", query: "q", max_results: 21 }, "exa", 400],
  ["that its provider answers with something else", { model: "auto", query: "q" }, "odd", 502],
  ["while its provider is down", { model: "auto", query: "q" }, "down", 503],
] as const) {
  test(`a search ${what} is answered with ${status}`, async () => {
    const response = await search("exa", body, { path });
    assert.equal(response.status, status, await response.text());
  });
}
