import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest } from "../../schemas/embeddings.ts";
import { refuseMember } from "./messages.ts";

/** An image or video of an input: its URL or its bytes. */
export interface Medium {
  /** URL; never a data URL. */
  url?: string;
  /** Bytes, in base64. */
  base64?: string;
  /** Media type: stated by the input, else guessed from the first bytes or the file extension. */
  type: string;
  /** Further fields, such as the segment of a video. */
  more: Readonly<Record<string, unknown>>;
}

/** One input of an embeddings request. */
export interface MediaInput {
  text?: string | undefined;
  image?: Medium | undefined;
  video?: Medium | undefined;
  /** The input as it was sent. */
  sent: unknown;
}

/** Media types by base64 prefix and by file extension. */
const beginnings = [
  [/^\/9j\//, "image/jpeg"],
  [/^iVBOR/, "image/png"],
  [/^R0lG/, "image/gif"],
  [/^UklGR/, "image/webp"],
] as const;
const endings = [
  [/\.png(?:[?#]|$)/i, "image/png"],
  [/\.gif(?:[?#]|$)/i, "image/gif"],
  [/\.webp(?:[?#]|$)/i, "image/webp"],
  [/\.webm(?:[?#]|$)/i, "video/webm"],
  [/\.mov(?:[?#]|$)/i, "video/quicktime"],
] as const;

function typeOf(text: string, table: typeof beginnings | typeof endings, kind: "image" | "video"): string {
  const found = table.find(([form]) => form.test(text))?.[1];
  return found?.startsWith(kind) ? found : kind === "image" ? "image/jpeg" : "video/mp4";
}

/** A medium given as a URL, a data URL, base64, or an object with one of them. */
function readMedium(given: unknown, kind: "image" | "video"): Medium | undefined {
  const { url, base64, mime_type: stated, text: _, ...more } = isObject(given) ? given : { url: given };
  const source = typeof base64 === "string" ? base64 : url;
  if (typeof source !== "string" || source === "") return undefined;
  const inline = readDataUrl(source);
  if (inline?.isBase64) {
    return { base64: inline.data, type: inline.type || typeOf(inline.data, beginnings, kind), more };
  }
  const isAddress = /^[a-z][a-z0-9+.-]*:\/\//i.test(source);
  if (!isAddress) {
    return { base64: source, type: typeof stated === "string" ? stated : typeOf(source, beginnings, kind), more };
  }
  return { url: source, type: typeof stated === "string" ? stated : typeOf(source, endings, kind), more };
}

function readInput(sent: unknown): MediaInput | undefined {
  if (typeof sent === "string") return { text: sent, sent };
  if (!isObject(sent)) return undefined;
  const described = isObject(sent.image) ? sent.image.text : undefined;
  const text = [sent.text, described].find((one) => typeof one === "string");
  const image = readMedium(sent.image ?? sent.image_url, "image");
  const video = readMedium(sent.video ?? sent.video_url, "video");
  return { ...(typeof text === "string" && { text }), ...(image && { image }), ...(video && { video }), sent };
}

/**
 * The inputs of a request, text and media in one form.
 *
 * @throws {InvalidRequestError} If they are token lists, which depend on another provider's tokenizer.
 */
export function readInputs(provider: string, { input }: Pick<EmbeddingRequest, "input">): MediaInput[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  return list.map(
    (one) => readInput(one) ?? refuseMember(provider, "input", "it embeds text and media, not lists of tokens"),
  );
}

/** Whether a request has inputs besides text. */
export function hasMedia({ input }: Pick<EmbeddingRequest, "input">): boolean {
  return Array.isArray(input) && input.some((one) => isObject(one));
}

/** A medium as a URL: a data URL when its bytes were given. */
export function toAddress({ url, base64, type }: Medium): string {
  return url ?? `data:${type};base64,${base64 ?? ""}`;
}

/**
 * The bytes of a medium in base64, for providers that do not fetch URLs.
 *
 * @throws {InvalidRequestError} If only its URL was given.
 */
export function requireBytes(provider: string, { base64 }: Medium): string {
  return base64 ?? refuseMember(provider, "input", "it does not fetch URLs: send the image in base64");
}
