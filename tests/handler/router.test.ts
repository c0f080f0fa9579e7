import assert from "node:assert/strict";
import { test } from "node:test";
import { type IRequest, Router } from "itty-router";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import type { RequestContext } from "../../src/context.ts";
import type { Endpoint } from "../../src/endpoint.ts";
import { EndpointRouter } from "../../src/handler/router.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../../src/inference/routes/endpoints.ts";
import { toRouterPath } from "../../src/lib/route-path.ts";

const rows = [...inferenceEndpoints, ...adminEndpoints];
const methods = ["GET", "POST", "PUT", "DELETE", "PATCH"] as const;

/** Paths that match an endpoint, and some that nearly do. */
function pathsLike(path: string): string[] {
  const fitting = path.replace(/\/:\w+\+/g, "/a/b").replace(/\/:\w+/g, "/x1");
  const shorter = fitting.slice(0, fitting.lastIndexOf("/"));
  return [
    fitting,
    `${fitting}/`,
    `${fitting}//`,
    `/${fitting}`,
    `${fitting}/more`,
    `${shorter}/`,
    shorter,
    fitting.toUpperCase(),
    fitting.replace("e", "%65"),
    fitting.replace("/x1", "/a%2Fb"),
    `${fitting}:more`,
  ].filter((one) => one.startsWith("/"));
}

/** What the router reads of a context. */
function contextOf(method: string, path: string): RequestContext {
  const { pathname, href } = new URL(`http://gateway.test${path}`);
  // the router reads nothing else
  return { method, url: { pathname, href }, params: {}, headers: new Map() } as unknown as RequestContext;
}

/** Whether a parameter holds a name that the row leaves to another route. */
function isReserved({ reserved = {} }: Endpoint, params: IRequest["params"]): boolean {
  return Object.entries(reserved).some(([name, values]) =>
    values.includes(decodeURIComponent(params?.[name] ?? "").toLowerCase()),
  );
}

test("EndpointRouter finds for every path what one router over all endpoints finds", async () => {
  const router = Router<IRequest>();
  for (const row of rows) {
    const name = row.method.toLowerCase() as "get" | "post" | "put" | "delete" | "patch";
    // a response ends the search of this router: none is made where the path names another route
    router[name](toRouterPath(row.path), ({ params }) => (isReserved(row, params) ? undefined : { row, params }));
  }
  const endpoints = new EndpointRouter(rows);
  const paths = new Set(rows.flatMap(({ path }) => pathsLike(path)));
  let hits = 0;
  for (const method of methods) {
    for (const path of paths) {
      const context = contextOf(method, path);
      const row = endpoints.find(context);
      const found = row && { row, params: context.params };
      const wanted = await router.fetch({ method, url: context.url.href } as IRequest);
      const decoded = Object.entries(wanted?.params ?? {}).map(([name, value]) => [
        name,
        decodeURIComponent(String(value)),
      ]);
      assert.deepEqual(found, wanted && { row: wanted.row, params: Object.fromEntries(decoded) }, `${method} ${path}`);
      if (found) hits++;
    }
  }
  assert.ok(hits > rows.length, `${hits} hits`);
});

for (const [path, isPassed] of [
  ["/v1/evaluations", true],
  ["/v1/evaluations/", true],
  ["/v1/chat/other", true],
  ["/v1/files/a/b/c", true],
  ["/v1/admin/other", false],
  ["/v1/logs/a/b", false],
  ["/v2/evaluations", false],
] as const) {
  test(`EndpointRouter ${isPassed ? "forwards" : "does not forward"} POST ${path}`, () => {
    const found = new EndpointRouter([...rows, ...passthroughEndpoints]).find(contextOf("POST", path));
    assert.equal(found?.path, isPassed ? "/v1/*" : undefined);
  });
}
