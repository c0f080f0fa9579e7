import { isHeaderValue } from "./lib/headers.ts";
import { jsonReply, type Reply } from "./lib/reply.ts";
import { isRpcStatus, rpcStatusOf } from "./lib/rpc-status.ts";

/** What an error may carry besides its message. */
interface GatewayErrorOptions {
  cause?: unknown;
  /** Stable name of the case, for programs. */
  code?: string;
  /** The member or header that is wrong. */
  param?: string;
  /** Headers of the answer, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Slug of the provider that failed. */
  provider?: string;
  /** Everything that is wrong, where more than one thing can be. */
  errors?: readonly string[];
  /** The setting or header that is not allowed, without prefix. */
  field?: string;
  /** What the hooks of the request said. */
  hookResults?: object;
}

/** An error that is answered to the caller as it is. Subclasses fix status and type. */
export abstract class GatewayError extends Error {
  abstract readonly status: number;
  /** Family of the error, as OpenAI clients know it. */
  abstract readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  readonly provider: string | undefined;
  readonly errors: readonly string[] | undefined;
  readonly field: string | undefined;
  /** What the hooks of the request said, where any ran. */
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

/** The request is wrong and stays wrong when it is repeated. */
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

/** The body is larger than the route takes. */
export class BodyTooLargeError extends InvalidRequestError {
  override readonly status = 413;
  override readonly type = "request_too_large";
}

/** The content type or content coding is not one the route takes. */
export class UnsupportedMediaError extends InvalidRequestError {
  override readonly status = 415;
}

/** The route is reached by a protocol the request does not ask for. */
export class UpgradeRequiredError extends InvalidRequestError {
  override readonly status = 426;

  /** @param protocol What the request must ask for. */
  constructor(message: string, protocol: string) {
    super(message, { code: "upgrade_required", headers: { upgrade: protocol } });
  }
}

/** This gateway cannot do what is asked for where it runs. */
export class NotImplementedError extends GatewayError {
  override readonly status = 501;
  override readonly type = "api_error";
}

/** A header, or all of them, are larger than the gateway takes. */
export class HeadersTooLargeError extends InvalidRequestError {
  override readonly status = 431;
}

/** No credential, or a wrong one. */
export class AuthenticationError extends GatewayError {
  override readonly status = 401;
  override readonly type = "authentication_error";
}

/** The caller is known and may not do this. */
export class PermissionError extends GatewayError {
  override readonly status = 403;
  override readonly type = "permission_error";
}

/** There is nothing at this path, or nothing the caller may know of. */
export class NotFoundError extends GatewayError {
  override readonly status = 404;
  override readonly type = "not_found_error";
}

/** What the caller was given is used up, or never held this. */
export class BudgetError extends GatewayError {
  override readonly status = 412;
  override readonly type = "precondition_error";
}

/** What is asked for clashes with what is there. */
export class ConflictError extends GatewayError {
  override readonly status = 409;
  override readonly type = "conflict_error";
}

/** The path exists, not with this method. */
export class MethodNotAllowedError extends GatewayError {
  override readonly status = 405;
  override readonly type = "invalid_request_error";

  /** @param allowed Methods the path has. */
  constructor(allowed: readonly string[]) {
    const list = allowed.join(", ");
    super(`Cannot use this method here: the path takes ${list}`, {
      code: "method_not_allowed",
      headers: { allow: list },
    });
  }
}

/** A guardrail denied the request, or its answer. */
export class GuardrailDeniedError extends GatewayError {
  override readonly status = 446;
  override readonly type = "hooks_failed";
  /** The caller is told in an answer with status 200. */
  readonly isSoft: boolean;

  constructor(message: string, { hookResults, isSoft }: { hookResults: object; isSoft: boolean }) {
    super(message, { hookResults });
    this.isSoft = isSoft;
  }
}

/** Time ran out before the first byte of an answer. */
export class TimeoutError extends GatewayError {
  override readonly status = 408;
  override readonly type = "timeout_error";
}

/** The caller asks more often than it may. */
export class RateLimitError extends GatewayError {
  override readonly status = 429;
  override readonly type = "rate_limit_error";
}

/** The gateway cannot serve now and says when to come back. */
export class UnavailableError extends GatewayError {
  override readonly status = 503;
  override readonly type = "api_error";

  constructor(message: string, options: GatewayErrorOptions & { retryAfterSeconds: number }) {
    super(message, { ...options, headers: { "retry-after": String(options.retryAfterSeconds), ...options.headers } });
  }
}

/** The caller went away before there was an answer. Nobody reads it; the log does. */
export class ClientClosedError extends GatewayError {
  override readonly status = 499;
  override readonly type = "client_closed_request";
}

/** Members of an upstream's error object that are handed on. */
interface UpstreamErrorDetails extends GatewayErrorOptions {
  type?: string;
  /** Headers of the upstream's answer, all of them. */
  upstreamHeaders?: Headers;
}

/** Longest text of an upstream that is handed on in a message, and in another member of an error. */
const maxMessage = 4_096;
const maxMember = 256;

/** A text, cut where it is too long to be shown. */
function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}\u2026`;
}

function cutMembers({ code, param }: UpstreamErrorDetails): Pick<UpstreamErrorDetails, "code" | "param"> {
  return {
    ...(code !== undefined && { code: cut(code, maxMember) }),
    ...(param !== undefined && { param: cut(param, maxMember) }),
  };
}

/** The provider answered with a failure, or did not answer. */
export class UpstreamError extends GatewayError {
  override readonly status: number;
  override readonly type: string;
  /** Headers of the upstream's answer, where it gave one. */
  readonly upstreamHeaders: Headers | undefined;

  /** @param status What the caller is answered; 502 where it is no status of a failure, such as that of a redirect. */
  constructor(status: number, message: string, details: UpstreamErrorDetails = {}) {
    const { code, param } = details;
    const isShort = (code?.length ?? 0) <= maxMember && (param?.length ?? 0) <= maxMember;
    super(cut(message, maxMessage), isShort ? details : { ...details, ...cutMembers(details) });
    this.status = status >= 400 && status <= 599 ? status : 502;
    this.type = cut(details.type ?? errorTypeOf(this.status), maxMember);
    this.upstreamHeaders = details.upstreamHeaders;
  }
}

/** The `error.type` that fits a status when nobody names a better one. */
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

/** Error types that clients of the Messages API know, by status (https://docs.claude.com/en/api/errors). */
const messagesTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};
const knownMessagesTypes = new Set(Object.values(messagesTypes));

/** The type an error has on the routes of the Messages API: one its clients know. */
export function toMessagesType(type: string, status: number): string {
  if (knownMessagesTypes.has(type)) return type;
  return messagesTypes[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}

/** Content type of what identity providers are answered (RFC 7644, section 3.1). */
export const scimContentType = "application/scim+json";

/** Shape of an error body: every route has the common members, some clients look for more. */
export type ErrorForm = "common" | "messages" | "gemini" | "admin" | "scim";

/** An error as a caller may see it: anything we did not foresee becomes a fixed text. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new InternalError("Cannot answer this request: the gateway failed", { cause: error, code: "internal_error" });
}

/** A fault of ours; always a bug. */
export class InternalError extends GatewayError {
  override readonly status = 500;
  override readonly type = "api_error";
}

/** Codes of the control plane for what was refused with another one. */
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

function codeOf({ code, status }: GatewayError, form: ErrorForm): string | null {
  return form === "admin" && !code?.startsWith("AB") ? (adminCodes[status] ?? code) : code;
}

/** Error types of SCIM (RFC 7644, section 3.12) by our codes; codes that are one of them stand for themselves. */
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

/** The body of an error answer as identity providers read it (RFC 7644, section 3.12). */
function toScimErrorBody({ message, status, code }: GatewayError): Record<string, unknown> {
  const scimType = code === null ? undefined : scimTypes[code];
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    ...(scimType !== undefined && { scimType }),
    detail: message,
  };
}

/** The error object as clients of the Gemini API read it (https://cloud.google.com/apis/design/errors#error_model), our members beside. */
function toRpcError({ status, message, type, param, code }: GatewayError): Record<string, unknown> {
  const name = [code, type].find((one) => one !== null && isRpcStatus(one)) ?? rpcStatusOf(status);
  const reason = code === null ? undefined : code.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const details = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "gateway" };
  return { code: status, message, status: name, type, param, ...(reason !== undefined && { details: [details] }) };
}

/** The body of an error answer. */
export function toErrorBody(error: GatewayError, form: ErrorForm = "common"): Record<string, unknown> {
  if (form === "scim") return toScimErrorBody(error);
  const { message, param, provider, errors, field, hookResults } = error;
  const type = form === "messages" ? toMessagesType(error.type, error.status) : error.type;
  const code = codeOf(error, form);
  return {
    status: "failure",
    message,
    ...(form === "messages" && { type: "error" }),
    ...(form === "admin" && { success: false, data: { message, errorCode: code } }),
    error:
      form === "gemini" ? toRpcError(error) : { message, type, code, param, ...(field !== undefined && { field }) },
    ...(provider !== undefined && { provider }),
    ...(errors !== undefined && { errors }),
    ...(hookResults !== undefined && { hook_results: hookResults }),
  };
}

/** The answer to a request that failed, whatever was thrown. The only place that makes one. */
export function toErrorReply(thrown: unknown, form: ErrorForm = "common"): Reply {
  const error = toGatewayError(thrown);
  const reply = jsonReply(toErrorBody(error, form), error.status);
  if (form === "scim") reply.headers["content-type"] = scimContentType;
  for (const [name, value] of Object.entries(error.headers)) {
    if (isHeaderValue(value)) reply.headers[name] = value;
  }
  return reply;
}
