import { serveAdmin } from "../admin/core/serve.ts";
import { serveScim } from "../admin/scim/serve.ts";
import { isScimAuthorization } from "../auth/scim-token.ts";
import type { RequestContext } from "../context.ts";
import type { AdminEndpoint, Endpoint, EndpointKind, EndpointOf, KeyedEndpoint } from "../endpoint.ts";
import { compressed } from "../lib/content-coding.ts";
import type { Reply } from "../lib/reply.ts";
import { authenticateKey, authenticateScim } from "./credentials.ts";
import { counted, type Run, runForm, runJson, runPlain, serveLogged, serveUnlogged } from "./keyed.ts";
import { authenticateMcp, serveMcpRow } from "./mcp.ts";

/** How rows of one kind are answered. What either function throws is answered in the row's error form. */
interface KindRules<Row extends Endpoint, Caller extends RequestContext> {
  /** Who calls; at once where that is known in memory. */
  authenticate(context: RequestContext, endpoint: Row): Caller | Promise<Caller>;
  serve(endpoint: Row, caller: Caller): Reply | Promise<Reply>;
}

/** Answers requests to rows of one kind. */
type Answer<Row extends Endpoint> = (endpoint: Row, context: RequestContext) => Reply | Promise<Reply>;

function defineKind<Row extends Endpoint, Caller extends RequestContext>({
  authenticate,
  serve,
}: KindRules<Row, Caller>): Answer<Row> {
  return (endpoint, context) => {
    const caller = authenticate(context, endpoint);
    return caller instanceof Promise ? caller.then((known) => serve(endpoint, known)) : serve(endpoint, caller);
  };
}

/** A kind of rows with a key; these kinds differ in what runs once the caller is checked. */
function defineKeyedKind<Row extends KeyedEndpoint>(run: Run<Row>): Answer<Row> {
  return (endpoint, context) => {
    const serve = endpoint.operation === undefined ? serveUnlogged : serveLogged;
    const caller = authenticateKey(context, endpoint.credentials);
    return caller instanceof Promise
      ? caller.then((known) => serve(endpoint, known, run))
      : serve(endpoint, caller, run);
  };
}

/** Whether a request to the control plane comes from an identity provider. */
function isFromScim({ acceptsScim = false }: AdminEndpoint, context: RequestContext): boolean {
  return acceptsScim && context.header("api-key") === null && isScimAuthorization(context.headers.get("authorization"));
}

const kinds: { readonly [Kind in EndpointKind]: Answer<EndpointOf<Kind>> } = {
  public: defineKind({
    authenticate: (context) => context,
    serve: (endpoint, context) => endpoint.handle(context),
  }),
  key: defineKeyedKind(runPlain),
  mcp: defineKind({ authenticate: authenticateMcp, serve: serveMcpRow }),
  json: defineKeyedKind(runJson),
  form: defineKeyedKind(runForm),
  admin: defineKind({
    authenticate: (context, endpoint) =>
      isFromScim(endpoint, context) ? authenticateScim(context) : authenticateKey(context, endpoint.credentials),
    serve: (endpoint, caller) => counted(caller, () => serveAdmin(endpoint, caller)),
  }),
  scim: defineKind({
    authenticate: authenticateScim,
    serve: (endpoint, caller) => counted(caller, () => serveScim(endpoint, caller)),
  }),
};

/** Kinds whose reads are compressed. Public pages decide for themselves: some of them have tokens. */
const compressedKinds: ReadonlySet<EndpointKind> = new Set(["key", "admin", "scim"]);

/**
 * Responds to a request for an endpoint: authenticates and serves it as endpoints of its kind are. Only reads are compressed:
 * answers to writes are small, and those of models must not wait for it.
 */
export function answerEndpoint<Kind extends EndpointKind>(
  endpoint: EndpointOf<Kind>,
  context: RequestContext,
): Reply | Promise<Reply> {
  const reply = kinds[endpoint.kind](endpoint, context);
  return endpoint.method === "GET" && compressedKinds.has(endpoint.kind) ? compressedRead(reply, context) : reply;
}

async function compressedRead(reply: Reply | Promise<Reply>, context: RequestContext): Promise<Reply> {
  return compressed(await reply, context.headers.get("accept-encoding"), context.services.contentCodings);
}
