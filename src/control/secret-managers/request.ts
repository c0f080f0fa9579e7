import { BodyError, readBytes } from "../../lib/body.ts";
import { startTimer } from "../../lib/clock.ts";
import { decodeUtf8, isObject, parseJson } from "../../lib/json.ts";
import type { Outbound, OutboundInit } from "../../lib/outbound.ts";

/** A secret could not be read. What is answered to callers is the message; `reason` is for operators and the audit log. */
export class SecretUnavailableError extends Error {
  override readonly name = "SecretUnavailableError";
  /** What went wrong. Holds no secret and nothing a store answered but its status and the name of its error. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super("Cannot read a secret from its store", { cause: options?.cause ?? new Error(reason) });
    this.reason = reason;
  }
}

/** Milliseconds a store has for one answer. */
const timeoutMs = 10_000;
/** Largest answer: secrets have at most 64 KiB. */
const maxAnswerBytes = 512 * 1024;

/** What a store answered. */
interface StoreAnswer {
  text: string;
  /** The text as JSON; undefined when it is none. */
  json: unknown;
}

/** How a store is asked; its address is one that data has a say in. */
export type StoreRequest = Pick<OutboundInit, "method" | "headers"> & { body?: string };

/** A name out of an answer that is safe to show. */
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
 * Asks a store; every address goes through the guard, redirects are failures.
 *
 * @param what Name of the question, for the reason of a failure.
 * @throws {SecretUnavailableError} If there is no answer of status 200.
 */
export async function askStore(
  outbound: Outbound,
  what: string,
  { url, ...init }: StoreRequest & { url: string },
): Promise<StoreAnswer> {
  const abort = new AbortController();
  const cancel = startTimer(timeoutMs, () => abort.abort(new Error("the store did not answer in time")));
  try {
    const response = await outbound(url, { ...init, origin: "influenced", signal: abort.signal });
    const answer = await readAnswer(response);
    if (response.status === 200) return answer;
    throw new SecretUnavailableError(`${what} answered ${response.status}${toErrorName(answer.json)}`);
  } catch (cause) {
    if (cause instanceof SecretUnavailableError) throw cause;
    const problem = cause instanceof BodyError ? `an answer that cannot be read: ${cause.problem}` : "no answer";
    throw new SecretUnavailableError(`${what} gave ${problem}`, { cause });
  } finally {
    cancel();
  }
}

/**
 * A member of an answer that must be a string.
 *
 * @throws {SecretUnavailableError}
 */
export function requireText(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new SecretUnavailableError(`${what} is missing in the answer`);
}

/** Form fields as a body. */
export function formRequest(fields: Readonly<Record<string, string>>): StoreRequest {
  return {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: new URLSearchParams(fields).toString(),
  };
}

/**
 * A path of a store as segments that cannot leave their place.
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
