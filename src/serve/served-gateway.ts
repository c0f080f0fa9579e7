import process from "node:process";
import { isObject, parseJson } from "../lib/json.ts";
import { toPrintable } from "../lib/printable.ts";
import { UsageError } from "./command.ts";

/** A gateway that serves, and a key for it. */
interface ServedGateway {
  /** Address without a trailing slash. */
  readonly url: string;
  readonly key: string;
}

/** Options by which commands name a gateway. */
export const servedOptions: readonly string[] = ["url", "key"];

/**
 * The gateway that the options name.
 *
 * @param purpose What the key is for, as in "Cannot read logs without a key".
 * @throws {UsageError} If the address is wrong, or there is no key.
 */
export function readServedGateway(
  { url = "http://127.0.0.1:8787", key = process.env.GATEWAY_API_KEY }: Readonly<Record<string, string | undefined>>,
  purpose: string,
): ServedGateway {
  const base = URL.parse(url);
  if (!base || !/^https?:$/.test(base.protocol))
    throw new UsageError("Cannot use --url: it must be an address with http or https");
  if (key === undefined || key === "")
    throw new UsageError(`Cannot ${purpose} without a key: set GATEWAY_API_KEY, or give --key`);
  return { url: base.href.replace(/\/$/, ""), key };
}

/** What a command asks of a gateway. */
interface ServedRequest {
  readonly path: string;
  /** A POST with this body; without it a GET. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The JSON of a response. @throws {Error} If the gateway cannot be reached, or refuses. */
export async function askServedGateway({ url, key }: ServedGateway, request: ServedRequest): Promise<unknown> {
  const { path, body, headers } = request;
  const sent = { ...headers, "x-gateway-api-key": key, "content-type": "application/json" };
  const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { headers: sent, ...post }).catch((cause: unknown) => {
    throw new Error(`Cannot reach ${url}`, { cause });
  });
  const text = await response.text();
  const answer = parseJson(text);
  if (response.ok) return answer;
  const nested = isObject(answer) && isObject(answer.error) ? answer.error.message : undefined;
  const message = typeof nested === "string" ? nested : "it did not say why";
  throw new Error(`The gateway refused with status ${response.status}: ${toPrintable(message)}`);
}
