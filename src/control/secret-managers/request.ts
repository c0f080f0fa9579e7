import { BodyError, readBytes } from "../../lib/body.ts";
import { startTimer } from "../../lib/clock.ts";
import { decodeUtf8, isObject, parseJson } from "../../lib/json.ts";
import type { Outbound, OutboundInit } from "../../lib/outbound.ts";

/** A secret could not be read. Callers get the message; `reason` is for operators and the audit log. */
export class SecretUnavailableError extends Error {
  override readonly name = "SecretUnavailableError";
  /** What went wrong. Contains no secret, and of a store's response only its status and error name. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super("Cannot read a secret from its store", { cause: options?.cause ?? new Error(reason) });
    this.reason = reason;
  }
}

/** Time limit of one call in milliseconds. */
const timeoutMs = 10_000;
/** Largest response: secrets have at most 64 KiB. */
const maxAnswerBytes = 512 * 1024;

/** A store's response. */
interface StoreAnswer {
  text: string;
  /** The text parsed as JSON; undefined if it is not JSON. */
  json: unknown;
}

/** A request to a store, whose address a tenant chose. */
export type StoreRequest = Pick<OutboundInit, "method" | "headers"> & { body?: string };

/** An error name from a response, if it is safe to show. */
function toErrorName(json: unknown): string {
  if (!isObject(json)) return "";
  const { error, __type } = json;
  const name = isObject(error) ? error.code : (__type ?? error);
  const [, plain] = typeof name === "string" ? (/([A-Za-z0-9_]{1,64})$/.exec(name) ?? []) : [];
  return plain === undefined ? "" : ` (${plain})`;
}

async function readAnswer(response: Response): Promise<StoreAnswer> {
  const bytes = await readBytes(response, { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs });
  const text = decodeUtf8(bytes);
  return { text, json: parseJson(text) };
}

/**
 * Calls a store; every address passes the guard, redirects are failures.
 *
 * @param what Name of the call in error messages.
 * @throws {SecretUnavailableError} If the response does not have status 200.
 */
export async function askStore(
  outbound: Outbound,
  what: string,
  { url, ...init }: StoreRequest & { url: string },
): Promise<StoreAnswer> {
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort(new Error("the store did not respond in time")));
  try {
    const response = await outbound(url, { ...init, origin: "influenced", signal: abort.signal });
    const answer = await readAnswer(response);
    if (response.status === 200) return answer;
    throw new SecretUnavailableError(`${what} returned ${response.status}${toErrorName(answer.json)}`);
  } catch (cause) {
    if (cause instanceof SecretUnavailableError) throw cause;
    const problem = cause instanceof BodyError ? `an unreadable response: ${cause.problem}` : "no response";
    throw new SecretUnavailableError(`${what} returned ${problem}`, { cause });
  } finally {
    cancel();
  }
}

/**
 * A field of a response that must be a string.
 *
 * @throws {SecretUnavailableError}
 */
export function requireText(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new SecretUnavailableError(`${what} is missing in the response`);
}

/** Form fields as a request body. */
export function formRequest(fields: Readonly<Record<string, string>>): StoreRequest {
  return {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: new URLSearchParams(fields).toString(),
  };
}

/**
 * Escapes a path so that it cannot leave its prefix.
 *
 * @throws {SecretUnavailableError}
 */
export function toSegments(path: string): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.length === 0 || segments.some((segment) => segment === "." || segment === "..")) {
    throw new SecretUnavailableError("secret_path is not a path of this store");
  }
  return segments.map(encodeURIComponent).join("/");
}
