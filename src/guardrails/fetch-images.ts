import { toBase64 } from "../lib/base64.ts";
import { readImageType } from "../lib/image-type.ts";
import { mapParallel } from "../lib/parallel.ts";
import type { InlineImage } from "../schemas/image-addresses.ts";
import { fetchBytes } from "./call.ts";
import { CheckError, type CheckTools } from "./types.ts";

/** Most images of one request, and most fetched at once. */
export const maxImages = 20;
const maxAtOnce = 4;

/** Limits of fetching the images of a request. */
export interface ImageLimits {
  /** Largest image, in bytes. */
  maxBytes: number;
  /** All images of a request together, in bytes. */
  maxTotalBytes: number;
  /** Time limit for each image, in milliseconds. */
  timeoutMs: number;
  /** Redirects that are followed, each after a check of its address. Default 0. */
  redirects?: number;
}

/** What became of the images of a request. */
export interface FetchedImages {
  images: Map<string, InlineImage>;
  failures: { url: string; reason: string }[];
}

/** The address a response redirects to; undefined where it does not. */
function redirectOf(url: string, status: number, headers: Headers): string | undefined {
  const location = headers.get("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === null) return undefined;
  const target = URL.parse(location, url);
  return target && /^https?:$/.test(target.protocol) ? target.href : undefined;
}

/** Fetches images from addresses that a request names, and lists those that failed or are not images. */
export async function fetchImages(
  tools: Pick<CheckTools, "outbound">,
  urls: readonly string[],
  { maxBytes, maxTotalBytes, timeoutMs, redirects = 0 }: ImageLimits,
): Promise<FetchedImages> {
  const images = new Map<string, InlineImage>();
  let total = 0;
  const fetchOne = async (named: string, url = named, left = redirects): Promise<string | undefined> => {
    const call = { url, method: "GET", headers: { accept: "image/*" }, timeoutMs, maxBytes } as const;
    if (total >= maxTotalBytes) return "the images together are too large";
    const { status, headers, bytes } = await fetchBytes(tools, call);
    const next = left > 0 ? redirectOf(url, status, headers) : undefined;
    if (next !== undefined) return fetchOne(named, next, left - 1);
    if (status !== 200) return `the server returned ${status}`;
    const type = readImageType(bytes, headers.get("content-type"));
    if (type === undefined) return "it is not an image";
    total += bytes.length;
    if (total > maxTotalBytes) return "the images together are too large";
    images.set(named, { type, base64: toBase64(bytes) });
    return undefined;
  };
  const reasons = await mapParallel(urls.slice(0, maxImages), maxAtOnce, (url) =>
    fetchOne(url).catch((error) => (error instanceof CheckError ? error.message : Promise.reject(error))),
  );
  const failures = urls.flatMap((url, index) => {
    const reason = index < maxImages ? reasons[index] : `only ${maxImages} images are fetched`;
    return reason === undefined ? [] : [{ url, reason }];
  });
  return { images, failures };
}
