import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { fetchImages, type ImageLimits } from "../../guardrails/fetch-images.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { BoundProvider, ConversionOptions } from "../../providers/core/types.ts";
import { inlineImages, listImageAddresses } from "../../schemas/image-addresses.ts";
import { isDialect } from "../adapt/dialects.ts";

/** Images are fetched as the providers do that take addresses: redirects are followed, each after a check of its address. */
const limits: ImageLimits = {
  maxBytes: 10 * 1024 * 1024,
  maxTotalBytes: 32 * 1024 * 1024,
  timeoutMs: 10_000,
  redirects: 3,
};

const conversations: ReadonlySet<OperationName> = new Set<OperationName>(["chat", "countChat", "countTokens"]);

/** Addresses of images that a provider does not fetch for the model of a request; none where it does. */
export function findImageAddresses(
  name: OperationName,
  request: object,
  { provider, options }: { provider: BoundProvider; options: ConversionOptions },
): ReadonlyMap<string, string> | undefined {
  if (!conversations.has(name) && !isDialect(name)) return undefined;
  const model: unknown = Reflect.get(request, "model");
  const facts = { ...provider.factsOf(typeof model === "string" ? model : "", options), ...options.modelFacts };
  if (facts.images !== "inline") return undefined;
  const found = listImageAddresses(request);
  return found.size > 0 ? found : undefined;
}

/**
 * The request with its images instead of their addresses.
 *
 * @throws {InvalidRequestError} If one of them cannot be fetched: it names the field that holds the address.
 */
export async function withImages<Request extends object>(
  request: Request,
  addresses: ReadonlyMap<string, string>,
  { services }: CallerContext,
): Promise<Request> {
  const { images, failures } = await fetchImages(services.authTools, [...addresses.keys()], limits);
  const [failure] = failures;
  if (failure) {
    const param = addresses.get(failure.url) ?? "messages";
    throw new InvalidRequestError(`Cannot fetch the image of ${param}: ${failure.reason}`, {
      param,
      code: "image_unavailable",
    });
  }
  return inlineImages(request, (url) => images.get(url));
}
