import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import type { ImageRequest, ImageResponse } from "../../schemas/images.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isGiven, refuseMember, refuseStream } from "./messages.ts";

/** One image of a response. */
export type GeneratedImage = ImageResponse["data"][number];

/**
 * Width and height of `1024x768`; undefined when the provider may choose.
 *
 * @throws {InvalidRequestError} If the size is malformed.
 */
export function sizeOf({ size }: Pick<ImageRequest, "size">): { width: number; height: number } | undefined {
  if (!isGiven(size) || size === "auto") return undefined;
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(String(size)) ?? [];
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) };
  throw new InvalidRequestError("Invalid size: it must be width and height, such as 1024x1024", {
    param: "size",
    code: "invalid_size",
  });
}

/** The aspect ratio, such as `16:9`, nearest to the requested size; undefined without a size. */
export function ratioOf(request: ImageRequest, ratios: readonly string[]): string | undefined {
  const size = sizeOf(request);
  if (!size || size.width === 0 || size.height === 0) return undefined;
  const distance = (ratio: string): number => {
    const [width = 1, height = 1] = ratio.split(":").map(Number);
    return Math.abs(Math.log((size.width * height) / (size.height * width)));
  };
  return ratios.toSorted((one, other) => distance(one) - distance(other))[0];
}

/**
 * Rejects streams and image URLs, for providers that return image bytes in one response.
 *
 * @throws {InvalidRequestError}
 */
export function requireBytes(provider: string, request: ImageRequest): void {
  refuseStream(provider, request);
  if (request.response_format === "url")
    refuseMember(provider, "response_format", "it returns images as b64_json only");
}

/**
 * Rejects streams and base64, for providers that return image URLs in one response.
 *
 * @throws {InvalidRequestError}
 */
export function requireAddresses(provider: string, request: ImageRequest): void {
  refuseStream(provider, request);
  if (request.response_format === "b64_json")
    refuseMember(provider, "response_format", "it returns images as url only");
}

/**
 * Rejects more than one image.
 *
 * @throws {InvalidRequestError}
 */
export function requireOneImage(provider: string, { n }: ImageRequest): void {
  if (typeof n === "number" && n > 1) refuseMember(provider, "n", "it makes one image per request; leave n out");
}

/**
 * The model of a request.
 *
 * @throws {InvalidRequestError} If it names none and there is no fallback.
 */
export function modelOf(provider: string, { model }: ImageRequest, fallback?: string): string {
  return model || (fallback ?? refuseMember(provider, "model", "model is missing"));
}

/** A response in OpenAI's shape. */
export function toImageAnswer(images: readonly GeneratedImage[], { created = 0 }: ConversionOptions): ImageResponse {
  return { created, data: [...images] };
}

/**
 * As `toImageAnswer`, for providers that may filter images.
 *
 * @throws {UpstreamError} 400 if no image is left, with the provider's reason.
 */
export function toFilteredAnswer(
  provider: string,
  images: readonly GeneratedImage[],
  { reason, ...options }: ConversionOptions & { reason: string | null | undefined },
): ImageResponse {
  if (images.length > 0) return toImageAnswer(images, options);
  throw new UpstreamError(
    400,
    `${provider} error: the image was filtered: ${reason ?? "the response contains no image"}`,
    {
      provider,
      code: "content_filter",
    },
  );
}

/** Image request fields every adapter reads itself. */
export const imageMembers = ["model", "prompt", "n", "size", "response_format", "stream"] as const;
