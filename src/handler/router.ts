import { Router } from "itty-router";
import type { RequestContext } from "../context.ts";
import { type Endpoint, type JsonEndpoint, type KeyEndpoint, type Method, operationNameOf } from "../endpoint.ts";
import type { ErrorForm } from "../errors.ts";
import { isOpenPath, toRouterPath } from "../lib/route-path.ts";
import {
  createRespellingFinder,
  type FindRespelled,
  isForced,
  isPassthrough,
  plainSegments,
  refusing,
  withoutForce,
} from "./respelled.ts";

/** Functions of the router by method: it would register a misspelt one in silence. */
const verbs = { GET: "get", POST: "post", PUT: "put", DELETE: "delete", PATCH: "patch" } as const;

/** A row at one of its paths. */
interface Place {
  readonly endpoint: Endpoint;
  readonly path: string;
  /** The row where the path is that of Azure's clients, whose parameter names the model. */
  readonly deployment?: JsonEndpoint;
}

/** A place with the pattern of its path. */
interface Route extends Place {
  readonly form: RegExp;
}

/** Where clients of Azure call a row. */
function deploymentOf(endpoint: Endpoint): Place[] {
  if (endpoint.kind !== "json" || !endpoint.hasDeployments) return [];
  const path = endpoint.path.replace(/^\/v1(?=\/)/, "/v1/openai/deployments/:deployment+");
  return [{ endpoint, path, deployment: endpoint }];
}

/** First segments below `/v1` that are of the gateway's own API though no row has them yet: providers have no such paths. */
const plannedGroups = ["policies"];

/** The first segment of a path below `/v1`, as whoever serves it may read it. */
function groupOf(path: string): string | undefined {
  const [version, group] = plainSegments(path);
  return version === "v1" ? group : undefined;
}

/** Whether a path belongs to the gateway's own API: what no row takes there is nowhere, and never a provider's. */
function createOwnPaths(endpoints: readonly Endpoint[]): (pathname: string) => boolean {
  const own = endpoints.filter((row) => operationNameOf(row) === undefined).map(({ path }) => groupOf(path));
  const groups = new Set([...own, ...plannedGroups]);
  return (pathname) => groups.has(groupOf(pathname));
}

/** The shape of errors on a path no row has, or none but the passthrough: that of the rows it stands below. */
function createErrorForms(endpoints: readonly Endpoint[]): (pathname: string) => ErrorForm | undefined {
  const forms = new Map(endpoints.map(({ errorsBelow, errorForm }) => [errorsBelow, errorForm]));
  const below = [...forms].flatMap(([path, form]) => (path === undefined ? [] : [{ path, form }]));
  return (pathname) => below.find(({ path }) => pathname === path || pathname.startsWith(`${path}/`))?.form;
}

/** The routes of rows, in the order they are tried: the passthrough last, since it takes every path. */
function toRoutes(endpoints: readonly Endpoint[]): Route[] {
  const known = endpoints.filter((endpoint) => !isPassthrough(endpoint));
  const rest = endpoints.filter(isPassthrough);
  const own = [...known, ...rest].map((endpoint): Place => ({ endpoint, path: endpoint.path }));
  const places = own.toSpliced(known.length, 0, ...known.flatMap(deploymentOf));
  const router = Router();
  for (const { endpoint, path } of places) router[verbs[endpoint.method]](toRouterPath(path));
  return router.routes.flatMap(([, form], index) => {
    const place = places[index];
    return place ? [{ ...place, form }] : [];
  });
}

/** Whether a path names another route, although a row with a parameter has its form. */
function isReserved({ reserved }: Endpoint, params: Readonly<Record<string, string>>): boolean {
  if (!reserved) return false;
  return Object.entries(reserved).some(([name, values]) => values.includes((params[name] ?? "").toLowerCase()));
}

/** The row for the client that asks. Google's libraries send their version, and their key, in custom headers. */
function variantOf(endpoint: Endpoint, { headers }: Pick<RequestContext, "headers">): Endpoint {
  if (!endpoint.forGeminiClients) return endpoint;
  const isOfGoogle = headers.get("x-goog-api-key") !== undefined || headers.get("x-goog-api-client") !== undefined;
  return isOfGoogle ? endpoint.forGeminiClients : endpoint;
}

function decodeParams(params: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]));
}

/**
 * Finds rows for requests. Paths without parameters are looked up; any other one is tried against the routes of the
 * router here, not in its `fetch`, which makes a URL of each request again and asks it for its path at each route.
 */
export class EndpointRouter {
  /** The shape of errors on a path that no row takes. */
  readonly errorFormOf: (pathname: string) => ErrorForm | undefined;
  readonly #exact: ReadonlyMap<string, Endpoint>;
  readonly #routes: readonly Route[];
  /** Routes with parameters by method. */
  readonly #open: ReadonlyMap<string, readonly Route[]>;
  readonly #isOwn: (pathname: string) => boolean;
  readonly #findRespelled: FindRespelled;

  constructor(endpoints: readonly Endpoint[]) {
    const exact = endpoints.filter(({ path }) => !isOpenPath(path));
    this.#exact = new Map(exact.map((row) => [`${row.method} ${row.path}`, row]));
    this.#routes = toRoutes(endpoints);
    const open = this.#routes.filter(({ path }) => isOpenPath(path));
    this.#open = Map.groupBy(open, ({ endpoint }): string => endpoint.method satisfies Method);
    this.#isOwn = createOwnPaths(endpoints);
    this.errorFormOf = createErrorForms(endpoints);
    this.#findRespelled = createRespellingFinder(endpoints);
  }

  /** The row that answers a request, or undefined. Sets the parameters of its path. */
  find(context: RequestContext): Endpoint | undefined {
    const { method, url } = context;
    const { pathname } = url;
    const exact = this.#findExact(method, pathname);
    if (exact) return variantOf(exact, context);
    for (const route of this.#open.get(method) ?? []) {
      const params = this.#match(route, pathname);
      if (!params) continue;
      const { endpoint, deployment } = route;
      if (isPassthrough(endpoint)) return this.#toPassed(endpoint, context);
      if (deployment) return { ...deployment, pathModel: params.deployment ?? "" };
      context.params = params;
      return variantOf(endpoint, context);
    }
    return undefined;
  }

  /** Rows that a path has. */
  rowsOf(pathname: string): Endpoint[] {
    return this.#routes.filter((route) => this.#match(route, pathname)).map(({ endpoint }) => endpoint);
  }

  /** The row of a path without parameters; slashes at its end do not count. */
  #findExact(method: string, pathname: string): Endpoint | undefined {
    const found = this.#exact.get(`${method} ${pathname}`);
    if (found || !pathname.endsWith("/")) return found;
    return this.#exact.get(`${method} ${pathname.replace(/\/+$/, "") || "/"}`);
  }

  /** Parameters of a path that fits a route, decoded. */
  #match(route: Route, pathname: string): Record<string, string> | undefined {
    const found = route.form.exec(pathname);
    if (!found) return undefined;
    const { endpoint } = route;
    if (isPassthrough(endpoint) && this.#isOwn(pathname)) return undefined;
    const params = decodeParams(found.groups);
    return isReserved(endpoint, params) ? undefined : params;
  }

  /** The passthrough row for a path: one that refuses where the path is another spelling of a route. */
  #toPassed(passthrough: KeyEndpoint, context: RequestContext): Endpoint {
    const { method, url } = context;
    const errorForm = this.errorFormOf(url.pathname);
    const endpoint = errorForm === undefined ? passthrough : { ...passthrough, errorForm };
    if (!isForced(url.pathname)) {
      const respelled = this.#findRespelled(method, url.pathname);
      return respelled ? refusing(endpoint, respelled) : endpoint;
    }
    const row = this.#findRespelled(method, withoutForce(url.pathname));
    const operation = row && operationNameOf(row);
    if (operation !== undefined) context.leadsTo = operation;
    return endpoint;
  }
}
