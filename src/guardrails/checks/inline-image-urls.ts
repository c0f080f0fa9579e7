import * as v from "valibot";
import { toBase64, toHex } from "../../lib/base64.ts";
import { isObject } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import { fetchBytes, timeoutOf } from "../call.ts";
import { type Body, beforeOnly, type Check, CheckError, type CheckOutcome, type CheckTools } from "../types.ts";

/** Most images of one request, and most fetched at once. */
const maxImages = 20;
const maxAtOnce = 4;
/** Largest limit for one image, and for all images of a request together, in bytes. */
const maxImageBytes = 50 * 1024 * 1024;
const maxTotalBytes = 64 * 1024 * 1024;
/** Longest address that a result shows, in characters. */
const maxShownUrl = 200;

const InlineImageUrls = v.object({
  providers: v.nullish(v.array(v.string())),
  maxSizeBytes: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxImageBytes)), 20 * 1024 * 1024),
  timeoutMs: timeoutOf(30_000),
  /** Read by this check itself: when off, fetched images are used although others failed. */
  failOnError: v.nullish(v.boolean(), false),
});
type InlineImageUrls = v.InferOutput<typeof InlineImageUrls>;

/** A fetched image. */
interface Image {
  type: string;
  base64: string;
}

/** Finds the fetched image of an address; undefined leaves the address in place. */
type Lookup = (url: string) => Image | undefined;

/** First bytes of image files, in hexadecimal. */
const beginnings = [
  [/^ffd8ff/, "image/jpeg"],
  [/^89504e470d0a1a0a/, "image/png"],
  [/^474946383[79]61/, "image/gif"],
  [/^52494646.{8}57454250/, "image/webp"],
  [/^(?:49492a00|4d4d002a)/, "image/tiff"],
  [/^424d.{8}00000000/, "image/bmp"],
] as const;

/** Brands that files of the ISO base media format name in their fifth to twelfth byte (ISO/IEC 23008-12, annex B). */
const brands = [
  [/^ftyphe(?:ic|ix|im|is|vc|vx|vm|vs)$/, "image/heic"],
  [/^ftyp(?:mif1|msf1)$/, "image/heif"],
  [/^ftypavi[fs]$/, "image/avif"],
] as const;

/** Media type of an image: by its first bytes, else as the server stated; undefined where it is not an image. */
function readType(bytes: Uint8Array, stated: string | null): string | undefined {
  const start = toHex(bytes.subarray(0, 16));
  const brand = String.fromCharCode(...bytes.subarray(4, 12));
  const [, found] = beginnings.find(([form]) => form.test(start)) ?? brands.find(([form]) => form.test(brand)) ?? [];
  if (found !== undefined) return found;
  const [type = ""] = (stated ?? "").toLowerCase().split(";");
  return /^image\/[a-z0-9.+-]+$/.test(type.trim()) ? type.trim() : undefined;
}

function isAddress(url: unknown): url is string {
  return typeof url === "string" && /^https?:\/\//i.test(url);
}

function inlinePart(part: unknown, find: Lookup): unknown {
  if (!isObject(part)) return part;
  if (part.type === "image_url") return inlineChatPart(part, find);
  if (part.type === "image") return inlineSource(part, find);
  return Array.isArray(part.content) ? { ...part, content: part.content.map((one) => inlinePart(one, find)) } : part;
}

/** An image part of a chat message: an address, or an object with one. */
function inlineChatPart(part: Body, find: Lookup): Body {
  const { image_url: place } = part;
  const url = isObject(place) ? place.url : place;
  const image = isAddress(url) ? find(url) : undefined;
  if (!image) return part;
  const data = `data:${image.type};base64,${image.base64}`;
  return { ...part, image_url: isObject(place) ? { ...place, url: data } : data };
}

/** An image of the Messages API. */
function inlineSource(part: Body, find: Lookup): Body {
  const { source } = part;
  const image = isObject(source) && source.type === "url" && isAddress(source.url) ? find(source.url) : undefined;
  return image ? { ...part, source: { type: "base64", media_type: image.type, data: image.base64 } } : part;
}

/** A request in which the found images replace their addresses. */
function inlineAll(body: Body, find: Lookup): Body {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  return { ...body, messages: messages.map((message) => inlinePart(message, find)) };
}

/** Addresses of the images of a request, without duplicates. */
function listAddresses(body: Body): string[] {
  const found = new Set<string>();
  inlineAll(body, (url) => {
    found.add(url);
    return undefined;
  });
  return [...found];
}

/** What became of the images of a request. */
interface Fetched {
  images: Map<string, Image>;
  failures: { url: string; reason: string }[];
}

function toShown(url: string): string {
  return url.replace(/[?#].*$/s, "").slice(0, maxShownUrl);
}

/** Fetches images and lists those that failed or are not images. */
async function fetchImages(tools: CheckTools, urls: readonly string[], parameters: InlineImageUrls): Promise<Fetched> {
  const { maxSizeBytes: maxBytes, timeoutMs } = parameters;
  const images = new Map<string, Image>();
  let total = 0;
  const fetchOne = async (url: string): Promise<string | undefined> => {
    const call = { url, method: "GET", headers: { accept: "image/*" }, timeoutMs, maxBytes } as const;
    if (total >= maxTotalBytes) return "the images together are too large";
    const { status, headers, bytes } = await fetchBytes(tools, call);
    if (status !== 200) return `the server returned ${status}`;
    const type = readType(bytes, headers.get("content-type"));
    if (type === undefined) return "it is not an image";
    total += bytes.length;
    if (total > maxTotalBytes) return "the images together are too large";
    images.set(url, { type, base64: toBase64(bytes) });
    return undefined;
  };
  const reasons = await mapParallel(urls.slice(0, maxImages), maxAtOnce, (url) =>
    fetchOne(url).catch((error) => (error instanceof CheckError ? error.message : Promise.reject(error))),
  );
  const failures = urls.flatMap((url, index) => {
    const reason = index < maxImages ? reasons[index] : `only ${maxImages} images are fetched`;
    return reason === undefined ? [] : [{ url: toShown(url), reason }];
  });
  return { images, failures };
}

function toOutcome(body: Body, { images, failures }: Fetched, failOnError: boolean): CheckOutcome {
  const explanation = `${images.size} of ${images.size + failures.length} images were inlined`;
  const data = { explanation, inlined: images.size, failures: failures.slice(0, maxImages) };
  const problem = "Cannot fetch all images of the request";
  if (failures.length > 0 && failOnError) throw new CheckError(problem, { data });
  return {
    pass: true,
    data,
    ...(failures.length > 0 && { error: problem }),
    ...(images.size > 0 && { body: inlineAll(body, (url) => images.get(url)) }),
  };
}

/** Replaces image addresses in a request by the images, for providers that do not fetch them. */
export function createInlineImageUrlsCheck(tools: CheckTools): Check<InlineImageUrls> {
  return {
    id: "default.inlineImageUrls",
    phases: beforeOnly,
    parameters: InlineImageUrls,
    changes: () => true,
    async run({ requestType, provider, request }, parameters) {
      const { providers, failOnError } = parameters;
      const isMeant = requestType === "chatComplete" || requestType === "messages";
      if (!isMeant || (providers && providers.length > 0 && !providers.includes(provider))) {
        return { pass: true, data: { explanation: "Images of this request are not inlined" } };
      }
      const urls = listAddresses(request.body);
      return toOutcome(request.body, await fetchImages(tools, urls, parameters), failOnError);
    },
  };
}
