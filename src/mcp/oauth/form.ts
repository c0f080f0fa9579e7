import type { RequestContext } from "../../context.ts";
import { readPlainBody } from "../../endpoint/body.ts";
import { OauthError } from "../../errors.ts";
import { decodeUtf8 } from "../../lib/json.ts";

/** Largest form, in bytes. */
const maxForm = 64 * 1024;

/** The parameters of a query or a form. */
export type Parameters = ReadonlyMap<string, string>;

/**
 * Parameters, each at most once: two values could be read differently by two parties (RFC 6749, section 3.1).
 *
 * @throws {OauthError}
 */
export function readParameters(given: URLSearchParams): Parameters {
  const read = new Map<string, string>();
  for (const [name, value] of given) {
    if (read.has(name))
      throw new OauthError("invalid_request", `Cannot use ${name}: it is given twice`, { param: name });
    if (value.length > maxForm || value.includes("\0")) {
      throw new OauthError("invalid_request", `Cannot use ${name}: it is malformed`, { param: name });
    }
    // an empty value counts as absent (RFC 6749, section 3.1)
    if (value !== "") read.set(name, value);
  }
  return read;
}

/**
 * The parameters of a form.
 *
 * @throws {OauthError}
 */
export async function readForm(context: RequestContext): Promise<Parameters> {
  const type = context.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new OauthError("invalid_request", "Cannot read the body: send it as application/x-www-form-urlencoded", {
      status: 415,
      param: "content-type",
    });
  }
  const bytes = await readPlainBody(context, maxForm, context.services);
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch (cause) {
    throw new OauthError("invalid_request", "Cannot read the body: it is not UTF-8", { cause });
  }
  return readParameters(new URLSearchParams(text));
}

/** @throws {OauthError} If a parameter is missing. */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value !== undefined) return value;
  throw new OauthError("invalid_request", `Cannot serve the request: ${name} is missing`, { param: name });
}
