import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import type { ImageRequest, ImageResponse } from "../../schemas/images.ts";
import type { ConversionOptions } from "../core/types.ts";
import { isGiven, refuseMember, refuseStream } from "./messages.ts";

/** One picture of an answer. */
export type Picture = ImageResponse["data"][number];

/**
 * Width and height of `1024x768`; undefined where the provider may choose.
 *
 * @throws {InvalidRequestError} If it is no size.
 */
export function sizeOf({ size }: Pick<ImageRequest, "size">): { width: number; height: number } | undefined {
  if (!isGiven(size) || size === "auto") return undefined;
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(String(size)) ?? [];
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) };
  throw new InvalidRequestError("Invalid size: write width and height, such as 1024x1024", {
    param: "size",
    code: "invalid_size",
  });
}

/** The one of several ratios such as `16:9` that is nearest to the size of a request; undefined where it names none. */
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
 * Refuses what a provider that answers once, with the bytes of its pictures, does not have.
 *
 * @throws {InvalidRequestError}
 */
export function requireBytes(provider: string, request: ImageRequest): void {
  refuseStream(provider, request);
  if (request.response_format === "url")
    refuseMember(provider, "response_format", "it gives pictures as b64_json only");
}

/**
 * As `requireBytes`, for one that answers with addresses.
 *
 * @throws {InvalidRequestError}
 */
export function requireAddresses(provider: string, request: ImageRequest): void {
  refuseStream(provider, request);
  if (request.response_format === "b64_json")
    refuseMember(provider, "response_format", "it gives pictures as url only");
}

/**
 * Refuses more than one picture.
 *
 * @throws {InvalidRequestError}
 */
export function requireOnePicture(provider: string, { n }: ImageRequest): void {
  if (typeof n === "number" && n > 1) refuseMember(provider, "n", "it makes one picture a request; leave n out");
}

/**
 * The model of a request.
 *
 * @throws {InvalidRequestError} If it names none and there is no fallback.
 */
export function modelOf(provider: string, { model }: ImageRequest, fallback?: string): string {
  return model || (fallback ?? refuseMember(provider, "model", "name the model"));
}

/** An answer in OpenAI's shape. */
export function toImageAnswer(pictures: readonly Picture[], { created = 0 }: ConversionOptions): ImageResponse {
  return { created, data: [...pictures] };
}

/**
 * As `toImageAnswer`, where pictures may have been filtered out.
 *
 * @throws {UpstreamError} 400 if none is left, with the reason the provider gives.
 */
export function toFilteredAnswer(
  provider: string,
  pictures: readonly Picture[],
  { reason, ...options }: ConversionOptions & { reason: string | null | undefined },
): ImageResponse {
  if (pictures.length > 0) return toImageAnswer(pictures, options);
  throw new UpstreamError(400, `${provider} error: the picture was filtered: ${reason ?? "no picture came"}`, {
    provider,
    code: "content_filter",
  });
}

/** Members of a request for pictures every adapter reads itself. */
export const pictureMembers = ["model", "prompt", "n", "size", "response_format", "stream"] as const;
