import { type IRequest, Router } from "itty-router";
import type { RequestContext } from "../context.ts";
import type { Endpoint, KeyEndpoint, Method } from "../endpoint.ts";
import type { Reply } from "../lib/reply.ts";
import { isOpenPath, matchPath, toPathForm, toRouterPath } from "../lib/route-path.ts";
import {
  createRespellingFinder,
  type FindRespelled,
  isForced,
  isPassthrough,
  plainSegments,
  readDeployment,
  refusing,
  withoutForce,
} from "./respelled.ts";

/** What the router matches on: exactly the path that was checked. */
interface Route extends IRequest {
  context: RequestContext;
}

/** Answers a request by a row. */
type ServeEndpoint = (endpoint: Endpoint, context: RequestContext) => Promise<Reply>;

function verb(method: Method): "get" | "post" | "put" | "delete" | "patch" {
  switch (method) {
    case "GET":
      return "get";
    case "POST":
      return "post";
    case "PUT":
      return "put";
    case "DELETE":
      return "delete";
    case "PATCH":
      return "patch";
  }
}

/** First segments below `/v1` that belong to the gateway's own API: what is not there is nowhere. */
const ownGroups = new Set([
  "admin",
  "analytics",
  "api-keys",
  "audit-logs",
  "collections",
  "configs",
  "deployments",
  "feedback",
  "guardrails",
  "cache",
  "health",
  "integrations",
  "labels",
  "logs",
  "mcp-integrations",
  "mcp-servers",
  "model-configs",
  "organisations",
  "otel",
  "policies",
  "prompts",
  "providers",
  "scim",
  "secret-references",
  "virtual-keys",
  "workspace-exclusions",
]);

/** The first segment of a path below `/v1`, as whoever serves it may read it. */
function groupOf(path: string): string {
  const [, group = ""] = plainSegments(path);
  return group;
}

/** Names below `/v1/logs` that are no ids. */
const notLogIds = new Set(["exports", "tail"]);

/** Whether a path leads to nothing, although a row with a parameter has its form. */
function isReserved(endpoint: Endpoint, params: Readonly<Record<string, string>>): boolean {
  return endpoint.path.startsWith("/v1/logs/:id") && notLogIds.has((params.id ?? "").toLowerCase());
}

function decodeParams(params: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]));
}

/** Methods each known path has. */
export function createMethodTable(endpoints: readonly Endpoint[]): (pathname: string) => Method[] {
  const forms = endpoints.map((endpoint) => ({ endpoint, form: toPathForm(endpoint.path) }));
  return (pathname) => {
    const matching = forms
      .filter(
        ({ endpoint, form }) => form.test(pathname) && !isReserved(endpoint, matchPath(endpoint.path, pathname) ?? {}),
      )
      .map(({ endpoint }) => endpoint);
    const own = matching.filter((endpoint) => !isPassthrough(endpoint));
    return [...new Set((ownGroups.has(groupOf(pathname)) ? own : matching).map(({ method }) => method))];
  };
}

/** Segments of a path by which rows are told apart before any is tried: `v1/files` of `/v1/files/:id`. */
function beginningOf(path: string): string {
  return path.split("/", 3).slice(1).join("/").replace(/\/+$/, "");
}

/** The passthrough row for a path: one that refuses where the path is another spelling of a route. */
function toPassed(endpoint: KeyEndpoint, context: RequestContext, findRespelled: FindRespelled): Endpoint {
  const { method, url } = context;
  if (!isForced(url.pathname)) {
    const respelled = findRespelled(method, url.pathname);
    return respelled ? refusing(endpoint, respelled) : endpoint;
  }
  const row = findRespelled(method, withoutForce(url.pathname));
  if (row && "operation" in row && row.operation !== undefined) context.leadsTo = row.operation;
  return endpoint;
}

/** One router over rows, in their order. */
function toRouter(endpoints: readonly Endpoint[], serve: ServeEndpoint, findRespelled: FindRespelled) {
  const router = Router<Route>();
  for (const endpoint of endpoints) {
    router[verb(endpoint.method)](toRouterPath(endpoint.path), (route: Route): Promise<Reply> | undefined => {
      // what belongs to the control plane never goes to a provider, however it is spelt
      const { url } = route.context;
      if (isPassthrough(endpoint)) {
        if (ownGroups.has(groupOf(url.pathname))) return undefined;
        route.context.params = {};
        return serve(toPassed(endpoint, route.context, findRespelled), route.context);
      }
      const params = decodeParams(route.params);
      if (isReserved(endpoint, params)) return undefined;
      route.context.params = params;
      return serve(endpoint, route.context);
    });
  }
  return router;
}

/**
 * Rows as a function of method and path: paths without parameters by look-up, the others by the router of those that begin
 * like them, since it tries one after the other.
 */
export function createRouter(
  endpoints: readonly Endpoint[],
  serve: ServeEndpoint,
): (context: RequestContext) => Promise<Reply | undefined> {
  const plain = new Map<string, Endpoint>(
    endpoints.filter(({ path }) => !isOpenPath(path)).map((row) => [`${row.method} ${row.path}`, row]),
  );
  const findRespelled = createRespellingFinder(endpoints);
  const rows = endpoints.map((row) => ({ row, beginning: beginningOf(row.path) }));
  const beginnings = new Set(rows.map(({ beginning }) => beginning));
  const routers = new Map<string, ReturnType<typeof toRouter>>();
  /** Made when it is first asked for; paths that begin like no row share that of the root. */
  const routerOf = (path: string) => {
    const asked = beginningOf(path);
    const beginning = beginnings.has(asked) ? asked : "";
    const known = routers.get(beginning);
    if (known) return known;
    const fitting = rows.filter((one) => one.beginning === beginning || isOpenPath(one.beginning));
    const made = toRouter(
      fitting.map(({ row }) => row),
      serve,
      findRespelled,
    );
    routers.set(beginning, made);
    return made;
  };
  return (context) => {
    const { method, url } = context;
    const endpoint = plain.get(`${method} ${url.pathname}`);
    if (endpoint) return serve(endpoint, context);
    const named = readDeployment(url.pathname);
    const operation = named && plain.get(`${method} ${named.path}`);
    if (operation && "handleJson" in operation) return serve({ ...operation, pathModel: named.deployment }, context);
    // the router makes a URL of this again, the checked one; the members of its type that are missing here it sets itself
    return routerOf(url.pathname).fetch({ method, url: url.href, context } as Route);
  };
}
