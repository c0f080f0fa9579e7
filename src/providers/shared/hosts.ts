import { InvalidRequestError } from "../../errors.ts";

/** The base address of a provider that has none of its own: the caller or the integration names it. */
export function hostRequired(provider: string): () => never {
  return () => {
    throw new InvalidRequestError(`Cannot call ${provider}: name its address in x-gateway-custom-host`, {
      param: "x-gateway-custom-host",
      code: "custom_host_required",
    });
  };
}

/**
 * A text as one segment of a path.
 *
 * @param param The member it comes from.
 * @throws {InvalidRequestError} If it would lead elsewhere.
 */
export function encodeSegment(param: string, text: string): string {
  if (text === "" || text === "." || text === "..") return refuseSegment(param);
  return encodeText(param, text);
}

/**
 * A text as a part of a segment.
 *
 * @throws {InvalidRequestError} If it has no bytes: half of a surrogate pair.
 */
export function encodeText(param: string, text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : refuseSegment(param);
}

function refuseSegment(param: string): never {
  throw new InvalidRequestError(`Invalid ${param}: it cannot stand in the path of a request`, {
    param,
    code: "invalid_parameter",
  });
}

/** As `encodeSegment`, with `@` as it is. */
export function pathSegment(param: string, text: string): string {
  return encodeSegment(param, text).replaceAll("%40", "@");
}

/**
 * A model's name as the segments of a path.
 *
 * @throws {InvalidRequestError} If a segment would lead elsewhere.
 */
export function modelPath(model: string): string {
  const segments = model.split("/").map((segment) => pathSegment("model", segment));
  return `/${segments.join("/")}`;
}

/** A query, with its question mark, in which a member stands that it may have already: the one given wins. */
export function addQuery(query: string, name: string, value: string): string {
  if (new URLSearchParams(query).has(name)) return query;
  const member = `${name}=${encodeURIComponent(value)}`;
  return query.length > 1 ? `${query}&${member}` : `?${member}`;
}
