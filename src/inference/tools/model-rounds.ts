import { readBytes } from "../../lib/body.ts";
import { type ExactValue, parseExactBytes } from "../../lib/exact-numbers.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";

/** Largest response of a round. */
const maxBytes = 16 * 1024 * 1024;

/** Headers of a round that belong to the whole response. */
const shownHeaders = /^(?:content-type|retry-after|x-ratelimit-.*|x-gateway-(?!trace-id$|request-id$).*)$/;

/** One round of a request at its model. */
export interface ModelRound {
  /** Undefined for a failure, which `reply` is. */
  readonly body: Record<string, unknown> | undefined;
  /** Digits of numbers in it that JavaScript cannot represent. */
  readonly numbers: ExactValue["numbers"];
  readonly reply: Reply;
}

/** Whether a round is answered by an event stream. */
export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** Headers of a round that its request gets. */
export function headersOf(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => shownHeaders.test(name)));
}

/** Reads the response of a round. */
export async function readRound(response: Response): Promise<ModelRound> {
  const endless = Number.POSITIVE_INFINITY;
  const bytes = await readBytes(response, { bytes: maxBytes, totalMs: endless, silenceMs: endless });
  const headers = headersOf(response);
  const reply: Reply = { status: response.status, headers, body: new TextDecoder().decode(bytes) };
  if (response.status > 299) return { body: undefined, numbers: undefined, reply };
  const { value, numbers } = parseExactBytes(bytes);
  return { body: isObject(value) ? value : undefined, numbers, reply };
}

/** Adds the numbers of two objects, at any depth; other members are those of the later one. */
function add(one: unknown, other: unknown): unknown {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (!isObject(one) || !isObject(other)) return other ?? one;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, add(one[name], other[name])]));
}

/** The usage of several rounds; undefined without any. */
export function sumUsage(usages: readonly unknown[]): Record<string, unknown> | undefined {
  const sum = usages.filter(isObject).reduce<unknown>((total, usage) => add(total, usage), undefined);
  return isObject(sum) ? sum : undefined;
}
