import { ExcessError } from "./lib/budget.ts";
import { isDatabaseAway } from "./lib/database-away.ts";
import { isHeaderValue } from "./lib/headers.ts";
import { toMessagesType } from "./lib/messages-error-types.ts";
import { jsonReply, type Reply } from "./lib/reply.ts";
import { isRpcStatus, rpcStatusOf } from "./lib/rpc-status.ts";

/** Details of an error besides its message. */
interface GatewayErrorOptions {
  cause?: unknown;
  /** Stable code, for programs. */
  code?: string;
  /** The invalid field or header. */
  param?: string;
  /** Response headers, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Slug of the provider that failed. */
  provider?: string;
  /** All problems, where there can be several. */
  errors?: readonly string[];
  /** The disallowed setting or header, without prefix. */
  field?: string;
  /** Results of the request's hooks. */
  hookResults?: object;
}

/** An error that is shown to the caller. Subclasses define status and type. */
export abstract class GatewayError extends Error {
  abstract readonly status: number;
  /** Type of the error, as OpenAI clients know it. */
  abstract readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  readonly provider: string | undefined;
  readonly errors: readonly string[] | undefined;
  readonly field: string | undefined;
  /** Results of the request's hooks, if any ran. */
  hookResults: object | undefined;

  constructor(message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = this.constructor.name;
    this.code = options.code ?? null;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
    this.provider = options.provider;
    this.errors = options.errors;
    this.field = options.field;
    this.hookResults = options.hookResults;
  }
}

/** The request is invalid; a retry would fail, too. */
export class InvalidRequestError extends GatewayError {
  override readonly status: number = 400;
  override readonly type: string = "invalid_request_error";
}

/** Throws an `InvalidRequestError`. */
export type Refuse = (message: string, param: string) => never;

/** Creates a function that throws `InvalidRequestError` with this code. */
export function refuseWith(code: string): Refuse {
  return (message, param) => {
    throw new InvalidRequestError(message, { param, code });
  };
}

/** The body exceeds the route's limit. */
export class BodyTooLargeError extends InvalidRequestError {
  override readonly status = 413;
  override readonly type = "request_too_large";
}

/** The route does not accept the content type or content coding. */
export class UnsupportedMediaError extends InvalidRequestError {
  override readonly status = 415;
}

/** The route requires another protocol. */
export class UpgradeRequiredError extends InvalidRequestError {
  override readonly status = 426;

  /** @param protocol The required protocol. */
  constructor(message: string, protocol: string) {
    super(message, { code: "upgrade_required", headers: { upgrade: protocol } });
  }
}

/** The gateway does not support this on its host. */
export class NotImplementedError extends GatewayError {
  override readonly status = 501;
  override readonly type = "api_error";
}

/** The headers exceed the gateway's limit. */
export class HeadersTooLargeError extends InvalidRequestError {
  override readonly status = 431;
}

/** The credential is missing or wrong. */
export class AuthenticationError extends GatewayError {
  override readonly status = 401;
  override readonly type = "authentication_error";
}

/** The caller lacks permission. */
export class PermissionError extends GatewayError {
  override readonly status = 403;
  override readonly type = "permission_error";
}

/** Nothing exists at this path, or the caller may not know of it. */
export class NotFoundError extends GatewayError {
  override readonly status = 404;
  override readonly type = "not_found_error";
}

/** The caller's budget is exhausted, or does not cover this. */
export class BudgetError extends GatewayError {
  override readonly status = 412;
  override readonly type = "precondition_error";
}

/** The request conflicts with the current state. */
export class ConflictError extends GatewayError {
  override readonly status = 409;
  override readonly type = "conflict_error";
}

/** The path exists, but not with this method. */
export class MethodNotAllowedError extends GatewayError {
  override readonly status = 405;
  override readonly type = "invalid_request_error";

  /** @param allowed Methods of the path. */
  constructor(allowed: readonly string[]) {
    const list = allowed.join(", ");
    super(`Cannot use this method here: the path accepts ${list}`, {
      code: "method_not_allowed",
      headers: { allow: list },
    });
  }
}

/** A guardrail denied the request or its response. */
export class GuardrailDeniedError extends GatewayError {
  override readonly status = 446;
  override readonly type = "hooks_failed";
  /** The denial is sent with status 200. */
  readonly isSoft: boolean;

  constructor(message: string, { hookResults, isSoft }: { hookResults?: object; isSoft: boolean }) {
    super(message, hookResults === undefined ? {} : { hookResults });
    this.isSoft = isSoft;
  }
}

/** No response arrived in time. */
export class TimeoutError extends GatewayError {
  override readonly status = 408;
  override readonly type = "timeout_error";
}

/** The caller exceeded a rate limit. */
export class RateLimitError extends GatewayError {
  override readonly status = 429;
  override readonly type = "rate_limit_error";
}

/** The gateway cannot serve now, and says when to retry. */
export class UnavailableError extends GatewayError {
  override readonly status = 503;
  override readonly type = "api_error";

  constructor(message: string, options: GatewayErrorOptions & { retryAfterSeconds: number }) {
    super(message, { ...options, headers: { "retry-after": String(options.retryAfterSeconds), ...options.headers } });
  }
}

/** The shared counters of the caller's limits are away, and the operator lets nothing pass without them. */
export class LimitsUnavailableError extends UnavailableError {}

/** There is no room for the log row of the request. It leaves none. */
export class LogBusyError extends UnavailableError {}

/** The process has no file descriptors left for a connection to a provider, which is not to blame. */
export class OutOfFilesError extends UnavailableError {}

/** The caller disconnected before the response. Only the log shows this error. */
export class ClientClosedError extends GatewayError {
  override readonly status = 499;
  override readonly type = "client_closed_request";
}

/** Details of a JSON-RPC error. */
interface RpcErrorOptions extends GatewayErrorOptions {
  /** Code of the JSON-RPC error. */
  rpcCode: number;
  /** Id of the request; null where it is unknown. */
  id?: string | number | null | undefined;
  /** Member `data` of the error. */
  data?: object | undefined;
}

/** A JSON-RPC request that is refused or failed. The status may be 200: then only the body says so. */
export class RpcError extends GatewayError {
  override readonly status: number;
  override readonly type: string;
  readonly rpcCode: number;
  readonly id: string | number | null;
  readonly data: object | undefined;

  constructor(status: number, message: string, options: RpcErrorOptions) {
    super(message, options);
    this.status = status;
    this.type = status === 200 ? "rpc_error" : errorTypeOf(status);
    this.rpcCode = options.rpcCode;
    this.id = options.id ?? null;
    this.data = options.data;
  }
}

/** An error of the authorization server (RFC 6749, section 5.2); `error` is its name there. */
export class OauthError extends GatewayError {
  override readonly status: number;
  override readonly type: string;
  readonly error: string;

  constructor(error: string, message: string, options: GatewayErrorOptions & { status?: number } = {}) {
    super(message, { code: error, ...options });
    this.status = options.status ?? 400;
    this.type = errorTypeOf(this.status);
    this.error = error;
  }
}

/** Fields of an upstream's error that are forwarded. */
interface UpstreamErrorDetails extends GatewayErrorOptions {
  type?: string;
  /** All headers of the upstream's response. */
  upstreamHeaders?: Headers;
  /** Further fields of its error object. */
  members?: Readonly<Record<string, unknown>>;
  /** Details of an error of a Google API. */
  details?: readonly unknown[];
}

/** Longest upstream text that is forwarded in a message, and in another field of an error. */
const maxMessage = 4_096;
const maxMember = 256;

/** A text, cut to a maximum length. */
function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}\u2026`;
}

function cutMembers({ code, param }: UpstreamErrorDetails): Pick<UpstreamErrorDetails, "code" | "param"> {
  return {
    ...(code !== undefined && { code: cut(code, maxMember) }),
    ...(param !== undefined && { param: cut(param, maxMember) }),
  };
}

/** The provider responded with a failure, or did not respond. */
export class UpstreamError extends GatewayError {
  override readonly status: number;
  override readonly type: string;
  /** Headers of the upstream's response, if there was one. */
  readonly upstreamHeaders: Headers | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly details: readonly unknown[];

  /** @param status Status for the caller; 502 unless it is an error status. */
  constructor(status: number, message: string, details: UpstreamErrorDetails = {}) {
    const { code, param } = details;
    const isShort = (code?.length ?? 0) <= maxMember && (param?.length ?? 0) <= maxMember;
    super(cut(message, maxMessage), isShort ? details : { ...details, ...cutMembers(details) });
    this.status = status >= 400 && status <= 599 ? status : 502;
    this.type = cut(details.type ?? errorTypeOf(this.status), maxMember);
    this.upstreamHeaders = details.upstreamHeaders;
    this.members = details.members ?? {};
    this.details = details.details ?? [];
  }
}

/** The default `error.type` of a status. */
function errorTypeOf(status: number): string {
  const known: Readonly<Record<number, string>> = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
  };
  return known[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

/** Content type of SCIM responses (RFC 7644, section 3.1). */
export const scimContentType = "application/scim+json";

/** Format of an error body: all have the common fields, some clients expect more. */
export type ErrorForm = "common" | "messages" | "gemini" | "admin" | "scim" | "mcp" | "oauth";

/** The refusal of input that exceeds its budget. */
function toRefusal(error: ExcessError): GatewayError {
  const { message: text, source } = error;
  if (source === "caller") return new InvalidRequestError(text, { code: "invalid_body", cause: error });
  return new UpstreamError(502, text, { code: "upstream_bad_answer", cause: error });
}

/** An error for the caller: unexpected errors get a fixed message. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof ExcessError) return toRefusal(error);
  if (isDatabaseAway(error)) {
    const details = { cause: error, code: "database_unavailable", retryAfterSeconds: 1 };
    return new UnavailableError("Cannot do this now: the database does not respond", details);
  }
  return new InternalError("Cannot answer this request: the gateway failed", { cause: error, code: "internal_error" });
}

/** A bug in the gateway. */
export class InternalError extends GatewayError {
  override readonly status = 500;
  override readonly type = "api_error";
}

/** Control plane codes for errors with other codes. */
const adminCodes: Readonly<Record<number, string>> = {
  400: "AB01",
  401: "AB05",
  402: "AB09",
  403: "AB03",
  404: "AB08",
  409: "AB07",
  413: "AB01",
  415: "AB01",
  429: "AB06",
  500: "AB04",
};

/** Codes by which pages of the console know that a session is over, or was used by others: the same on every route. */
const sessionCodes: ReadonlySet<string | null> = new Set(["session_ended", "foreign_request"]);

function codeOf({ code, status }: GatewayError, form: ErrorForm): string | null {
  if (form !== "admin" || code?.startsWith("AB") || sessionCodes.has(code)) return code;
  return adminCodes[status] ?? code;
}

/** SCIM error types (RFC 7644, section 3.12) by error code; codes that are SCIM types map to themselves. */
const scimTypes: Readonly<Record<string, string>> = {
  AB01: "invalidValue",
  AB07: "uniqueness",
  invalid_body: "invalidSyntax",
  invalid_json: "invalidSyntax",
  invalidFilter: "invalidFilter",
  tooMany: "tooMany",
  uniqueness: "uniqueness",
  mutability: "mutability",
  invalidSyntax: "invalidSyntax",
  invalidPath: "invalidPath",
  noTarget: "noTarget",
  invalidValue: "invalidValue",
};

/** The body of a SCIM error (RFC 7644, section 3.12). */
function toScimErrorBody({ message, status, code }: GatewayError): Record<string, unknown> {
  const scimType = code === null ? undefined : scimTypes[code];
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail: message,
  };
}

/** The gateway's code of an error as Google has them (https://cloud.google.com/apis/design/errors#error_details). */
export function toErrorInfo(code: string | null): object[] {
  if (code === null) return [];
  const reason = code.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  return [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "gateway" }];
}

/** The error object of the Gemini API (https://cloud.google.com/apis/design/errors#error_model), with the gateway's fields added. */
function toRpcError(error: GatewayError): Record<string, unknown> {
  const { status, message, type, param, code } = error;
  const name = [code, type].find((one) => one !== null && isRpcStatus(one)) ?? rpcStatusOf(status);
  const details = [...(error instanceof UpstreamError ? error.details : []), ...toErrorInfo(code)];
  return { code: status, message, status: name, type, param, ...(details.length > 0 && { details }) };
}

/** Codes of JSON-RPC errors (https://www.jsonrpc.org/specification) for errors without one, by status. */
const rpcCodes: Readonly<Record<number, number>> = { 400: -32600, 429: 429, 500: -32603, 502: -32603, 504: -32603 };

/** The code of an error as a JSON-RPC error. */
export function rpcCodeOf(error: GatewayError): number {
  if (error instanceof RpcError) return error.rpcCode;
  return error.code === "invalid_json" ? -32700 : (rpcCodes[error.status] ?? -32000);
}

/** Errors of OAuth (RFC 6750, section 3.1) by status. */
function oauthErrorOf({ status, code }: GatewayError): string {
  if (status === 401) return code === "unauthorized" ? code : "invalid_token";
  return code === "AB03" || code === "insufficient_scope" ? "insufficient_scope" : "access_denied";
}

/** The body of an error of OAuth, with the gateway's members beside it. */
function toOauthErrorBody(error: GatewayError, name: string): Record<string, unknown> {
  const { message, type, code, param } = error;
  const details = { message, type, code, param };
  return { error: name, error_description: message, status: "failure", message, error_details: details };
}

/** Names of errors of the authorization server that have another reason, by status. */
const oauthNames: Readonly<Record<number, string>> = {
  401: "invalid_client",
  403: "access_denied",
  429: "temporarily_unavailable",
  503: "temporarily_unavailable",
};

/** The name of an error on routes of the authorization server. */
function oauthNameOf(error: GatewayError): string {
  if (error instanceof OauthError) return error.error;
  return oauthNames[error.status] ?? (error.status >= 500 ? "server_error" : "invalid_request");
}

/** The body of an error on MCP routes: a JSON-RPC error, or that of OAuth where the credential is refused. */
function toMcpErrorBody(error: GatewayError): Record<string, unknown> {
  const { message, status, code } = error;
  if (status === 401 || status === 403) return toOauthErrorBody(error, oauthErrorOf(error));
  const { id = null, data = code === null ? undefined : { type: code } } = error instanceof RpcError ? error : {};
  return { jsonrpc: "2.0", id, error: { code: rpcCodeOf(error), message, ...(data && { data }) } };
}

/** The error object of the common form; the gateway's fields stand before those that only the upstream has. */
function toErrorObject(error: GatewayError, form: ErrorForm): Record<string, unknown> {
  if (form === "gemini") return toRpcError(error);
  const { message, param, field } = error;
  const type = form === "messages" ? toMessagesType(error.type, error.status) : error.type;
  const members = error instanceof UpstreamError ? error.members : {};
  return { ...members, message, type, code: codeOf(error, form), param, ...(field !== undefined && { field }) };
}

/** The body of an error response. */
export function toErrorBody(error: GatewayError, form: ErrorForm = "common"): Record<string, unknown> {
  if (form === "scim") return toScimErrorBody(error);
  if (form === "mcp") return toMcpErrorBody(error);
  if (form === "oauth") return toOauthErrorBody(error, oauthNameOf(error));
  const { message, provider, errors, hookResults } = error;
  return {
    // clients of Google read members of these names before those of `error`
    ...(form !== "gemini" && { status: "failure", message }),
    ...(form === "messages" && { type: "error" }),
    ...(form === "admin" && { success: false, data: { message, errorCode: codeOf(error, form) } }),
    error: toErrorObject(error, form),
    ...(provider !== undefined && { provider }),
    ...(errors !== undefined && { errors }),
    ...(hookResults !== undefined && { hook_results: hookResults }),
  };
}

/** The response to a failed request, whatever was thrown. The only place that creates one. */
export function toErrorReply(thrown: unknown, form: ErrorForm = "common"): Reply {
  const error = toGatewayError(thrown);
  const reply = jsonReply(toErrorBody(error, form), error.status);
  if (form === "scim") reply.headers["content-type"] = scimContentType;
  for (const [name, value] of Object.entries(error.headers)) {
    if (isHeaderValue(value)) reply.headers[name] = value;
  }
  return reply;
}
