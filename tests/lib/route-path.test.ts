import assert from "node:assert/strict";
import { test } from "node:test";
import { Router } from "itty-router";
import { pathParameters, takesSlashes, toPathForm, toPathTemplate, toRouterPath } from "../../src/lib/route-path.ts";

const cases = [
  { path: "/v1/logs", template: "/v1/logs", names: [], hits: { "/v1/logs": {} }, misses: ["/v1/log", "/v1/logs/a"] },
  {
    path: "/v1/logs/:id",
    template: "/v1/logs/{id}",
    names: ["id"],
    hits: { "/v1/logs/a": { id: "a" }, "/v1/logs/a:b": { id: "a:b" } },
    misses: ["/v1/logs", "/v1/logs/a/b"],
  },
  {
    path: "/v1beta/models/:model+:generateContent",
    template: "/v1beta/models/{model}:generateContent",
    names: ["model"],
    hits: {
      "/v1beta/models/a:generateContent": { model: "a" },
      "/v1beta/models/@slug/a/b:generateContent": { model: "@slug/a/b" },
      "/v1beta/models/a-v1:0:generateContent": { model: "a-v1:0" },
      "/v1beta/models/a%2Fb:generateContent": { model: "a%2Fb" },
    },
    misses: ["/v1beta/models/a:countTokens", "/v1beta/models/a", "/v1beta/models/agenerateContent"],
  },
  {
    path: "/v1beta/models/:model+",
    template: "/v1beta/models/{model}",
    names: ["model"],
    hits: { "/v1beta/models/@slug/a/b": { model: "@slug/a/b" } },
    misses: ["/v1beta/model/a"],
  },
  {
    path: "/v1/*",
    template: "/v1/{path}",
    names: [],
    hits: { "/v1/a": undefined, "/v1/a/b": undefined },
    misses: ["/v2/a"],
  },
];

for (const { path, template, names, hits, misses } of cases) {
  test(`toRouterPath() and toPathForm() find the same for ${path}`, async () => {
    const router = Router();
    router.get(toRouterPath(path), ({ params }) => ({ params }));
    const form = toPathForm(path);
    for (const [address, wanted] of Object.entries(hits)) {
      const found = await router.fetch({ method: "GET", url: `http://gateway.test${address}` });
      assert.ok(found, address);
      if (wanted) assert.deepEqual({ ...found.params }, wanted);
      assert.match(address, form);
    }
    for (const address of misses) {
      assert.equal(await router.fetch({ method: "GET", url: `http://gateway.test${address}` }), undefined, address);
      assert.doesNotMatch(address, form);
    }
  });

  test(`toPathTemplate() writes ${path} as OpenAPI does`, () => {
    assert.equal(toPathTemplate(path), template);
    assert.deepEqual(pathParameters(path), names);
    assert.equal(takesSlashes(path), /[+*]/.test(path));
  });
}
