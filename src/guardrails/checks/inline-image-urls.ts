import * as v from "valibot";
import { toBase64, toHex } from "../../lib/base64.ts";
import { isObject } from "../../lib/json.ts";
import { mapParallel } from "../../lib/parallel.ts";
import { fetchBytes, timeoutOf } from "../call.ts";
import { type Body, beforeOnly, type Check, CheckError, type CheckOutcome, type CheckTools } from "../types.ts";

/** Most images of one request, and how many are fetched at once. */
const maxImages = 20;
const maxAtOnce = 4;
/** Largest image that may be allowed, and all images of one request together, in bytes. */
const maxImageBytes = 50 * 1024 * 1024;
const maxTotalBytes = 64 * 1024 * 1024;
/** Longest address that is told, in characters. */
const maxToldUrl = 200;

const InlineImageUrls = v.object({
  providers: v.nullish(v.array(v.string())),
  maxSizeBytes: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxImageBytes)), 20 * 1024 * 1024),
  timeoutMs: timeoutOf(30_000),
  /** Read here too: without it, the images that came are used although others did not. */
  failOnError: v.nullish(v.boolean(), false),
});
type InlineImageUrls = v.InferOutput<typeof InlineImageUrls>;

/** An image that was fetched. */
interface Image {
  type: string;
  base64: string;
}

/** Gives the address of an image the image; undefined leaves the place as it is. */
type Lookup = (url: string) => Image | undefined;

/** How files of images begin, in hexadecimal digits. */
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

/** Media type of an image: what its first bytes say, else what the server said; undefined where it is no image. */
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

/** An image of a chat: an address, or an object with one. */
function inlineChatPart(part: Body, find: Lookup): Body {
  const { image_url: place } = part;
  const url = isObject(place) ? place.url : place;
  const image = isAddress(url) ? find(url) : undefined;
  if (!image) return part;
  const data = `data:${image.type};base64,${image.base64}`;
  return { ...part, image_url: isObject(place) ? { ...place, url: data } : data };
}

/** An image of the messages API. */
function inlineSource(part: Body, find: Lookup): Body {
  const { source } = part;
  const image = isObject(source) && source.type === "url" && isAddress(source.url) ? find(source.url) : undefined;
  return image ? { ...part, source: { type: "base64", media_type: image.type, data: image.base64 } } : part;
}

/** A request with the images that are found in place of their addresses. */
function inlineAll(body: Body, find: Lookup): Body {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  return { ...body, messages: messages.map((message) => inlinePart(message, find)) };
}

/** Addresses of the images of a request, each once. */
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
  return url.replace(/[?#].*$/s, "").slice(0, maxToldUrl);
}

/** Fetches images; what does not come, or is none, is listed. */
async function fetchImages(tools: CheckTools, urls: readonly string[], parameters: InlineImageUrls): Promise<Fetched> {
  const { maxSizeBytes: maxBytes, timeoutMs } = parameters;
  const images = new Map<string, Image>();
  let total = 0;
  const fetchOne = async (url: string): Promise<string | undefined> => {
    const call = { url, method: "GET", headers: { accept: "image/*" }, timeoutMs, maxBytes } as const;
    if (total >= maxTotalBytes) return "the images are too large together";
    const { status, headers, bytes } = await fetchBytes(tools, call);
    if (status !== 200) return `the server answered ${status}`;
    const type = readType(bytes, headers.get("content-type"));
    if (type === undefined) return "it is no image";
    total += bytes.length;
    if (total > maxTotalBytes) return "the images are too large together";
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
  const explanation = `${images.size} of ${images.size + failures.length} images were put into the request`;
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

/** Puts images into a request in place of their addresses, for providers that fetch none. */
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
        return { pass: true, data: { explanation: "Images of this request stay as they are" } };
      }
      const urls = listAddresses(request.body);
      return toOutcome(request.body, await fetchImages(tools, urls, parameters), failOnError);
    },
  };
}
