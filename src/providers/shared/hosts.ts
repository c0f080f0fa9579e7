import { InvalidRequestError } from "../../errors.ts";

/** The base URL of a provider without a public host: the caller or the integration must set a custom host. */
export function hostRequired(provider: string): () => never {
  return () => {
    throw new InvalidRequestError(`Cannot call ${provider}: set its URL in x-gateway-custom-host`, {
      param: "x-gateway-custom-host",
      code: "custom_host_required",
    });
  };
}

/**
 * A string as one path segment.
 *
 * @param param The field it comes from.
 * @throws {InvalidRequestError} If it would change the path.
 */
export function encodeSegment(param: string, text: string): string {
  if (text === "" || text === "." || text === "..") return refuseSegment(param);
  return encodeText(param, text);
}

/**
 * A string as part of a path segment.
 *
 * @throws {InvalidRequestError} If it is not valid Unicode: half of a surrogate pair.
 */
export function encodeText(param: string, text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : refuseSegment(param);
}

function refuseSegment(param: string): never {
  throw new InvalidRequestError(`Invalid ${param}: it cannot be part of a URL path`, {
    param,
    code: "invalid_parameter",
  });
}

/** As `encodeSegment`, but leaves `@` unescaped. */
export function pathSegment(param: string, text: string): string {
  return encodeSegment(param, text).replaceAll("%40", "@");
}

/**
 * A model's name as path segments.
 *
 * @throws {InvalidRequestError} If a segment would change the path.
 */
export function modelPath(model: string): string {
  const segments = model.split("/").map((segment) => pathSegment("model", segment));
  return `/${segments.join("/")}`;
}

/** Adds a parameter to a query with its question mark; an existing parameter takes precedence. */
export function addQuery(query: string, name: string, value: string): string {
  if (new URLSearchParams(query).has(name)) return query;
  const member = `${name}=${encodeURIComponent(value)}`;
  return query.length > 1 ? `${query}&${member}` : `?${member}`;
}
