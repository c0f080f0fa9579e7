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
export function pathSegment(param: string, text: string): string {
  if (text === "" || text === "." || text === "..") {
    throw new InvalidRequestError(`Invalid ${param}: it cannot stand in the path of a request`, {
      param,
      code: "invalid_parameter",
    });
  }
  return encodeURIComponent(text).replaceAll("%40", "@");
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
