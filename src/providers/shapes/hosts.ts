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
 * A model's name as segments of a path.
 *
 * @throws {InvalidRequestError} If a segment would lead elsewhere.
 */
export function modelPath(provider: string, model: string): string {
  const segments = model.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw new InvalidRequestError(`Cannot call ${provider}: the name of the model cannot stand in a path`, {
      param: "model",
      code: "invalid_model",
    });
  }
  return `/${segments.map((segment) => encodeURIComponent(segment).replaceAll("%40", "@")).join("/")}`;
}
