import { basePath } from "./base.ts";
import type { paths } from "./schema.gen.ts";

/** What a call may carry beside its path. Path parameters replace `{name}` in the path. */
export interface CallOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export type QueryValue = string | number | boolean | readonly string[] | null | undefined;

interface ApiErrorDetails {
  readonly status: number;
  readonly code: string;
  readonly traceId: string;
  readonly param?: string | undefined;
  readonly errors?: readonly string[];
}

/** An answer of the gateway that is not a success, with what a person needs to act on it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly traceId: string;
  /** Member of the request the gateway complained about. */
  readonly param: string | undefined;
  /** Everything that is wrong with the request, where the gateway lists it. */
  readonly errors: readonly string[];

  constructor(message: string, details: ApiErrorDetails) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.traceId = details.traceId;
    this.param = details.param;
    this.errors = details.errors ?? [];
  }
}

/** Methods by the verbs that rows are named with. */
interface Methods {
  readonly GET: "get";
  readonly POST: "post";
  readonly PUT: "put";
  readonly PATCH: "patch";
  readonly DELETE: "delete";
}

type Verb = keyof Methods;

/** Paths that have a row for a method. */
export type PathOf<M extends Methods[Verb]> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths] &
  string;

/** A row of the OpenAPI document by its verb and path: `GET /v1/configs/{slug}`. */
export type ApiRow = { [V in Verb]: `${V} ${PathOf<Methods[V]>}` }[Verb];

/** The JSON answer of a row; `unknown` where the document does not describe it. */
export type Answer<P extends keyof paths, M extends Methods[Verb]> =
  paths[P] extends Record<M, { responses: { 200: { content: { "application/json": infer T } } } }> ? T : unknown;

/** The JSON answer of a row that is named in one string. */
export type AnswerOf<R extends ApiRow> = R extends `${infer V extends Verb} ${infer P extends keyof paths}`
  ? Answer<P, Methods[V]>
  : never;

/** The JSON body of a row. */
export type BodyOf<R extends ApiRow> = R extends `${infer V extends Verb} ${infer P extends keyof paths}`
  ? paths[P] extends Record<Methods[V], { requestBody?: { content: { "application/json": infer T } } }>
    ? T
    : never
  : never;

/** State of the signed-in browser that every call needs. The token lives in memory only. */
const session: { csrf?: string | undefined; onEnd?: () => void; workspace?: string | undefined } = {};

/** Sets the token that proves that a call comes from this page; undefined after signing out. */
export function setCsrfToken(token: string | undefined): void {
  session.csrf = token;
}

/** Sets the workspace that the calls of a user act in; undefined: the one the gateway chooses. */
export function setActingWorkspace(id: string | undefined): void {
  session.workspace = id;
}

/** Sets what happens when the gateway says that the session ended. */
export function onSessionEnd(listener: () => void): void {
  session.onEnd = listener;
}

function toUrl(path: string, options: CallOptions): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(options.path?.[name] ?? ""));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query ?? {})) {
    if (value === undefined || value === null || value === "") continue;
    query.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return `${basePath}${filled}${query.size === 0 ? "" : `?${query}`}`;
}

function readMember(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

async function toApiError(response: Response): Promise<ApiError> {
  const raw = await response.text().catch(() => "");
  let body: unknown;
  try {
    body = JSON.parse(raw);
  } catch {
    body = undefined;
  }
  const error = readMember(body, "error");
  const errors = readMember(error, "errors") ?? readMember(body, "errors");
  const message = readMember(error, "message") ?? readMember(body, "message");
  return new ApiError(typeof message === "string" ? message : `${response.status} ${response.statusText}`, {
    status: response.status,
    code: String(readMember(error, "code") ?? ""),
    traceId: response.headers.get("x-gateway-trace-id") ?? "",
    param: typeof readMember(error, "param") === "string" ? String(readMember(error, "param")) : undefined,
    errors: Array.isArray(errors) ? errors.map(String) : [],
  });
}

/**
 * Sends one request with the session and returns the raw response.
 *
 * @throws {ApiError} Any answer that is not a success, and a gateway that cannot be reached (status 0).
 */
export async function send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  if (session.csrf !== undefined) headers.set("x-gateway-csrf", session.csrf);
  if (session.workspace !== undefined) headers.set("x-gateway-workspace", session.workspace);
  const init: RequestInit = {
    method: method.toUpperCase(),
    headers,
    credentials: "same-origin",
    signal: options.signal ?? null,
  };
  if (options.body instanceof FormData) init.body = options.body;
  else if (options.body !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(toUrl(path, options), init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("Cannot reach the gateway", { status: 0, code: "unreachable", traceId: "" });
  }
  if (response.ok) return response;
  const failure = await toApiError(response);
  if (failure.status === 401 && session.csrf !== undefined) session.onEnd?.();
  throw failure;
}

/** Sends one request and reads its JSON answer without a type: for rows that are not known before. */
export async function call(method: string, path: string, options?: CallOptions): Promise<unknown> {
  const response = await send(method, path, options);
  const body = await response.text();
  return body === "" ? undefined : JSON.parse(body);
}

/** Calls a row of the OpenAPI document, typed by it: `ask("PUT /v1/configs/{slug}", { path: { slug }, body })`. */
export async function ask<R extends ApiRow>(row: R, options?: CallOptions): Promise<AnswerOf<R>> {
  const [method = "", path = ""] = row.split(" ");
  return (await call(method, path, options)) as AnswerOf<R>; // the gateway's tests hold it to the document
}

/** `GET` of a path of the OpenAPI document, typed by it. */
export async function get<P extends PathOf<"get">>(path: P, options?: CallOptions): Promise<Answer<P, "get">> {
  // As in `ask`.
  return (await call("GET", path, options)) as Answer<P, "get">;
}

/** `POST` to a path of the OpenAPI document, typed by it. */
export async function post<P extends PathOf<"post">>(path: P, options?: CallOptions): Promise<Answer<P, "post">> {
  // As in `ask`.
  return (await call("POST", path, options)) as Answer<P, "post">;
}
