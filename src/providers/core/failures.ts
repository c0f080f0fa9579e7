import { UpstreamError } from "../../errors.ts";
import { isObject, nonEmptyString, parseJson } from "../../lib/json.ts";
import { rpcStatuses } from "../../lib/rpc-status.ts";
import { readEvents } from "../../lib/sse.ts";

/** Fields of an upstream's error. */
interface UpstreamFailure {
  message: string;
  type?: string;
  param?: string;
  code?: string;
  /** Further fields of the error object. */
  members?: Body;
  /** Details of a Google error (https://cloud.google.com/apis/design/errors#error_details). */
  details?: readonly unknown[];
}

type Body = Readonly<Record<string, unknown>>;
/** Error fields as they were found; only strings and numbers count. */
interface Found {
  message: unknown;
  type?: unknown;
  param?: unknown;
  code?: unknown;
  members?: Body;
  details?: unknown;
}

/** Reads one error format that several providers share; undefined when the body has another format. */
type ErrorFamily = (body: Body) => Found | undefined;

/** Maximum length of the text shown for an unknown body. */
const maxShown = 2_000;

/** Maximum length of further fields and of details, as JSON; longer ones are left out. */
const maxMembers = 16_384;

/** Fields of a FastAPI validation error (https://fastapi.tiangolo.com/tutorial/handling-errors). */
function readDetail(detail: unknown): Found | undefined {
  if (typeof detail === "string") return { message: detail };
  const first: unknown = Array.isArray(detail) ? detail[0] : detail;
  if (typeof first === "string") return { message: first };
  if (!isObject(first)) return undefined;
  const text = first.msg ?? first.message;
  const place = Array.isArray(first.loc) ? first.loc.join(".") : "";
  const message = place === "" || typeof text !== "string" ? text : `${place}: ${text}`;
  return { message, type: first.type };
}

function joinItems(items: readonly unknown[], toText: (item: Body) => unknown): string {
  return items.map((item) => (isObject(item) ? toText(item) : item)).join(", ");
}

/** Error formats, most specific first; the first one that reads the body is used. */
const errorFamilies: Readonly<Record<string, ErrorFamily>> = {
  fault({ fault }) {
    if (!isObject(fault)) return undefined;
    return { message: fault.faultstring, code: isObject(fault.detail) ? fault.detail.errorcode : undefined };
  },
  listOfErrors({ success, errors }) {
    if (success !== false || !Array.isArray(errors)) return undefined;
    return { message: joinItems(errors, ({ code, message }) => `Error ${code}:${message}`) };
  },
  named({ name, message, errors, id }) {
    if (typeof name !== "string") return undefined;
    if (Array.isArray(errors)) return { message: joinItems(errors, (item) => item.message), type: name, code: id };
    return typeof message === "string" ? { message, type: name } : undefined;
  },
  errorWithStatusWord({ error }) {
    if (!isObject(error) || typeof error.status !== "string") return undefined;
    return { message: error.message, type: error.status, code: error.status, details: error.details };
  },
  errorObject({ error }) {
    if (!isObject(error)) return undefined;
    const { message, type, param, code, ...members } = error;
    return message === undefined ? readDetail(error.detail) : { message, type, param, code, members };
  },
  errorText({ error, code, status, error_description: description }) {
    const message = Array.isArray(error) ? joinItems(error, (item) => item.message) : error;
    if (typeof message !== "string" || message === "") return undefined;
    // RFC 6749, section 5.2: `error` is a code, `error_description` a sentence
    if (typeof description === "string") return { message: description, code: message };
    return { message, code: code ?? status };
  },
  detail: ({ detail }) => readDetail(detail),
  errorItself({ object, message, type, param, code }) {
    if (object !== "error") return undefined;
    return isObject(message) ? readDetail(message.detail) : { message, type, param, code };
  },
  messageWithCode({ code, message }) {
    return typeof code === "string" && typeof message === "string" ? { message, type: code, code } : undefined;
  },
  message(body) {
    const message = body.message ?? body.Message;
    return typeof message === "string" ? { message, type: body.__type, code: body.error_code } : undefined;
  },
};

function stringOrNumber(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return nonEmptyString(value);
}

/** The error object in a text: JSON, a list with one error, or server-sent events. */
function readBody(text: string): Body | undefined {
  const value = parseJson(text) ?? readEventBody(text);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return isObject(first) ? first : undefined;
}

/** Upstreams may return the error of a streaming request as an event. */
function readEventBody(text: string): unknown {
  if (!/^(?:event|data|id|:)/m.test(text)) return undefined;
  return readEvents(text)
    .map(({ data }) => parseJson(data))
    .find((value) => isObject(value) || Array.isArray(value));
}

/** The exception name an AWS service sends in a header (https://docs.aws.amazon.com/awsjson). */
function readExceptionName(headers: Headers | undefined): string | undefined {
  return /^(?:[\w.]*#)?(\w{1,64})(?:[:;]|$)/.exec(headers?.get("x-amzn-errortype") ?? "")?.[1];
}

/**
 * Reads an upstream's error body in any known format. An unknown body becomes the message.
 *
 * @param status Status of the response.
 * @param headers Headers of the response, if any.
 */
export function readFailure(text: string, status: number, headers?: Headers): UpstreamFailure {
  const body = readBody(text);
  const { message, ...details } = stringsOf(body && readFamily(body), readExceptionName(headers));
  return { message: message ?? (text.trim().slice(0, maxShown) || `status ${status}`), ...details };
}

const isShort = (value: object): boolean => JSON.stringify(value).length <= maxMembers;

/** Error fields as strings; an AWS exception name replaces a missing type and code. */
function stringsOf(found: Found | undefined, exception?: string): Partial<UpstreamFailure> {
  const message = stringOrNumber(found?.message);
  const type = stringOrNumber(found?.type) ?? exception;
  const param = stringOrNumber(found?.param);
  const code = stringOrNumber(found?.code) ?? exception;
  const { members = {}, details } = found ?? {};
  return {
    ...(Object.keys(members).length > 0 && isShort(members) && { members }),
    ...(Array.isArray(details) && details.length > 0 && isShort(details) && { details }),
    ...(message !== undefined && { message }),
    ...(type !== undefined && { type }),
    ...(param !== undefined && { param }),
    ...(code !== undefined && { code }),
  };
}

function readFamily(body: Body): Found | undefined {
  for (const family of Object.values(errorFamilies)) {
    const found = family(body);
    if (found) return found;
  }
  return undefined;
}

/** Status codes for the error words of upstreams, in lower case. */
const statusOfWord: Readonly<Record<string, number>> = {
  // Anthropic (https://docs.claude.com/en/api/errors) and OpenAI (https://platform.openai.com/docs/guides/error-codes)
  invalid_request_error: 400,
  context_length_exceeded: 400,
  content_filter: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  // AWS (https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html)
  validationexception: 400,
  accessdeniedexception: 403,
  resourcenotfoundexception: 404,
  modeltimeoutexception: 408,
  modelerrorexception: 424,
  modelstreamerrorexception: 424,
  throttlingexception: 429,
  toomanyrequestsexception: 429,
  modelnotreadyexception: 429,
  servicequotaexceededexception: 429,
  internalserverexception: 500,
  internalfailure: 500,
  serviceunavailableexception: 503,
  // Google APIs
  ...Object.fromEntries(Array.from(rpcStatuses, ([name, status]) => [name.toLowerCase(), status])),
};

/** The status that fits an error object from a response with status 200. */
export function statusOfErrorBody(error: unknown): number {
  if (!isObject(error)) return 502;
  const values = [error.code, error.status, error.type];
  const number = values.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599);
  if (number !== undefined) return number;
  // AWS names may have a namespace before them and a URL after them
  const words = values.map((word) => String(word).replace(/^.*#/, "").replace(/:.*$/, "").toLowerCase());
  // the type is more specific than the code: `invalid_request_error` occurs with any code
  const known = [words[2], words[0], words[1]].find((word) => word !== undefined && Object.hasOwn(statusOfWord, word));
  return known === undefined ? 502 : (statusOfWord[known] ?? 502);
}

/**
 * The failure in an error event or in an error response with status 200: an object in any known format, or a string.
 */
export function failureOfError(error: unknown, provider: string): UpstreamError {
  const { message, ...details } = stringsOf(readFamily({ error }));
  const shown = message ?? (isObject(error) ? JSON.stringify(error).slice(0, maxShown) : "no reason was given");
  return new UpstreamError(statusOfErrorBody(error), `${provider} error: ${shown}`, { ...details, provider });
}

/** Seconds that the details of a Google error ask to wait; whole, and undefined where they name no time. */
export function readRetryDelay(details: readonly unknown[]): number | undefined {
  const info = details.find((one) => isObject(one) && String(one["@type"]).endsWith("/google.rpc.RetryInfo"));
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(isObject(info) ? String(info.retryDelay) : "") ?? [];
  return seconds === undefined ? undefined : Math.ceil(Number(seconds));
}
