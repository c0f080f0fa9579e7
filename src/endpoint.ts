import type * as v from "valibot";
import type { KeyAccess } from "./auth/access.ts";
import type { CallerContext, NativeRouteRules, RequestContext } from "./context.ts";
import type { Audited } from "./control/audit-chain.ts";
import type { ErrorForm } from "./errors.ts";
import type { FieldKinds } from "./lib/form.ts";
import type { Reply } from "./lib/reply.ts";
import type { OperationName } from "./providers/core/operations.ts";
import type { RecordRoute } from "./providers/core/records.ts";

/** Methods of handlers; PATCH only on SCIM routes, whose protocol requires it. */
export type Method = "GET" | "POST" | "PUT" | "DELETE" | "PATCH";

interface EndpointBase {
  readonly method: Method;
  /** Path template, such as `/v1/logs/:id`, in the syntax of `lib/route-path.ts`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  /** Schema of the JSON response, for the OpenAPI document. */
  readonly response?: v.GenericSchema;
  /** Query parameters, for the OpenAPI document. */
  readonly query?: readonly QueryParameter[];
  /** Format of its errors; absent: the common one. */
  readonly errorForm?: ErrorForm;
  /** Path below which requests that only the passthrough or no row takes get errors of this shape too. */
  readonly errorsBelow?: string;
  /** Absent: the key is in a header. */
  readonly credentials?: CredentialRules;
  /** Values of path parameters, in small letters, that the row leaves alone: names of other routes, here or elsewhere. */
  readonly reserved?: Readonly<Record<string, readonly string[]>>;
  /** The row that answers clients of the Gemini API at this path, whose other rows they share a version with. */
  readonly forGeminiClients?: Endpoint;
}

/** What a route with a key knows of credentials outside the headers that every route reads. */
interface CredentialRules {
  /** The key may be one of the subprotocols of a WebSocket handshake: browsers can set no headers there. */
  readonly inSubprotocol?: boolean;
  /** Its clients are used to a key in the query: it is refused there, since addresses are logged on the way. */
  readonly refusedInQuery?: boolean;
}

/** A query parameter in the OpenAPI document. */
export interface QueryParameter {
  readonly name: string;
  readonly description: string;
  /** It may be given more than once, as `name` or as `name[]`. */
  readonly isList?: boolean;
  /** Without it the request is refused. */
  readonly isRequired?: boolean;
}

/** Schema of a body for the OpenAPI document only, and its content types. */
type DocumentedBody = { readonly schema: v.GenericSchema; readonly types: readonly string[] };

/** A route without authentication. */
interface PublicEndpoint extends EndpointBase {
  readonly kind: "public";
  readonly access: "public";
  /** Schema of the JSON body, for the OpenAPI document: the handler reads and validates it. */
  readonly body?: v.GenericSchema;
  readonly documentedBody?: DocumentedBody;
  /** Status of a successful response; absent: 200. */
  readonly success?: 201;
  handle(context: RequestContext): Reply | Promise<Reply>;
}

/** A parsed JSON body. */
export interface JsonBody<Value> {
  value: Value;
  /** The text as sent; cleared once it is no longer needed, since it may be long. */
  text: string;
  /** What the value must match once the config of the request completed it. Absent: it is complete. */
  schema?: v.GenericSchema;
}

/** A form in memory. */
export interface HeldForm {
  /** Including the boundary. */
  contentType: string;
  /** As sent. */
  bytes: Uint8Array;
  /** Its fields: a request that is this same object can be forwarded as `bytes`. */
  fields: object;
  /** Names under which lists were sent, by field. */
  listNames: ReadonlyMap<string, string>;
}

/** The fields of a form, or of JSON in its place. */
export interface FormBody extends Pick<JsonBody<unknown>, "value" | "schema"> {
  /** Absent where the body was JSON. */
  form?: HeldForm;
}

/** A route for callers with a key. */
export interface KeyEndpoint extends EndpointBase {
  readonly kind: "key";
  readonly access: KeyAccess;
  /** Name of the route in logs; absent: its requests are not logged. */
  readonly operation?: string;
  /** Schema of the body for the OpenAPI document only: it is forwarded unchanged, and validated by the provider. */
  readonly documentedBody?: DocumentedBody;
  /** It takes every path that no other row has, and hands it to the provider. */
  readonly isPassthrough?: boolean;
  /** Ids in the path may contain encoded slashes. */
  readonly takesEncodedSlash?: boolean;
  /** Requirements of a native route. */
  readonly nativeRoute?: NativeRouteRules;
  /** Requirements for providers with a native API for these records. */
  readonly record?: RecordRoute;
  /** The body is streamed or absent: the handler reads what it needs. */
  handle(context: CallerContext): Reply | Promise<Reply>;
}

/** A route of MCP servers: its handler reads the body, and its refusals follow that protocol. */
export interface McpEndpoint extends EndpointBase {
  readonly kind: "mcp";
  readonly access: KeyAccess;
  /** Name of the route in logs. */
  readonly operation: string;
  /** Schema of the body for the OpenAPI document only. */
  readonly documentedBody: DocumentedBody;
  handle(context: CallerContext): Promise<Reply>;
}

/** Operations on saved prompts, which providers do not have. */
type PromptOperation = "renderPrompt" | "completePrompt";

/** A route with a JSON body that is validated before the handler runs. */
export interface JsonEndpoint extends EndpointBase {
  readonly kind: "json";
  readonly access: KeyAccess;
  /** Log name of the operation; absent: its requests are not logged. */
  readonly operation?: OperationName | PromptOperation;
  readonly body: v.GenericSchema;
  readonly maxBodyBytes?: number;
  /** Clients of Azure call it below `/v1/openai/deployments/{deployment}` too: the deployment is the model. */
  readonly hasDeployments?: boolean;
  /** The model in the path, which overrides the body's; set when a path is routed. */
  readonly pathModel?: string;
  /** The operation's request if the path contains a part of it; absent: the body is the request. */
  toRequest?(body: Readonly<Record<string, unknown>>, params: CallerContext["params"]): Record<string, unknown>;
  /** Called with a valid body. */
  handleJson(body: JsonBody<unknown>, context: CallerContext): Promise<Reply>;
}

/** A route whose body is a form with files. */
export interface FormEndpoint extends EndpointBase {
  readonly kind: "form";
  readonly access: KeyAccess;
  /** Log name of the operation; absent: its requests are not logged. */
  readonly operation?: OperationName;
  /** Schema of the fields. */
  readonly body: v.GenericSchema;
  readonly fields: FieldKinds;
  /** JSON with the same fields is accepted, too. */
  readonly acceptsJson?: boolean;
  /** Called before the body is read; `read` returns the valid body. */
  handleForm(read: () => Promise<FormBody>, context: CallerContext): Promise<Reply>;
}

/** A control plane route. Its errors have control plane codes, and its changes are audited. */
export interface AdminEndpoint extends EndpointBase {
  readonly kind: "admin";
  readonly access: KeyAccess;
  /** What the audit log says of the route's calls; absent: it changes nothing. */
  readonly audit?: Audited;
  readonly body?: v.GenericSchema;
  /** A missing body counts as an empty object. */
  readonly bodyOptional?: boolean;
  /** Longest body. Default: that of the control plane. */
  readonly maxBodyBytes?: number;
  /** SCIM tokens are accepted, too. */
  readonly acceptsScim?: boolean;
  /** Called with the parsed body. */
  handleAdmin(body: unknown, context: CallerContext): Promise<Reply>;
}

/** A SCIM route (RFC 7644). SCIM tokens are its only credential. */
export interface ScimEndpoint extends EndpointBase {
  readonly kind: "scim";
  readonly access: "scim";
  /** Status of a successful response. */
  readonly success: 200 | 201 | 204;
  readonly audit?: Audited;
  readonly body?: v.GenericSchema;
  /** Called with the parsed body. */
  handleScim(body: unknown, context: CallerContext): Promise<Reply>;
}

/** One endpoint of the API. */
export type Endpoint =
  | PublicEndpoint
  | KeyEndpoint
  | McpEndpoint
  | JsonEndpoint
  | FormEndpoint
  | AdminEndpoint
  | ScimEndpoint;

/** Kinds of rows: who may call them, and how they are answered (`handler/kinds.ts`). */
export type EndpointKind = Endpoint["kind"];

/** Rows of a kind. */
export type EndpointOf<Kind extends EndpointKind> = Extract<Endpoint, { kind: Kind }>;

/** A row whose callers have a key of the gateway. */
export type KeyedEndpoint = KeyEndpoint | McpEndpoint | JsonEndpoint | FormEndpoint;

/** Whether an endpoint belongs to the control plane. */
export function isAdminEndpoint(endpoint: Endpoint): endpoint is AdminEndpoint {
  return endpoint.kind === "admin";
}

/** Name of a route in the request log; undefined where its requests leave no row there, since no provider has a part in them. */
export function operationNameOf(endpoint: Endpoint): string | undefined {
  return "operation" in endpoint ? endpoint.operation : undefined;
}

/** Definition of a route with a JSON body. */
interface JsonEndpointDefinition<Schema extends v.GenericSchema>
  extends Omit<JsonEndpoint, "kind" | "handleJson" | "body"> {
  readonly body: Schema;
  handle(body: JsonBody<v.InferOutput<Schema>>, context: CallerContext): Promise<Reply>;
}

/** Defines a route with a JSON body; the handler's body has the schema's type. Schemas must not transform. */
export function defineJsonEndpoint<Schema extends v.GenericSchema>(
  definition: JsonEndpointDefinition<Schema>,
): JsonEndpoint {
  const { handle, ...row } = definition;
  return {
    kind: "json",
    ...row,
    // the router has validated the value with `definition.body`
    handleJson: handle,
  };
}

/** Defines a route without authentication. */
export function definePublicEndpoint(row: Omit<PublicEndpoint, "kind">): PublicEndpoint {
  return { kind: "public", ...row };
}

/** Defines a route for callers with a key that reads its body itself, or has no body. */
export function defineKeyEndpoint(row: Omit<KeyEndpoint, "kind">): KeyEndpoint {
  return { kind: "key", ...row };
}

/** Defines a route of MCP servers. */
export function defineMcpEndpoint(row: Omit<McpEndpoint, "kind">): McpEndpoint {
  return { kind: "mcp", ...row };
}

/** Defines a route whose body is a form. */
export function defineFormEndpoint(row: Omit<FormEndpoint, "kind">): FormEndpoint {
  return { kind: "form", ...row };
}
