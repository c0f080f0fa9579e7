import { isObject } from "../lib/json.ts";

type Members = Record<string, unknown>;

/** An image in base64. */
export interface InlineImage {
  /** Media type. */
  type: string;
  base64: string;
}

/**
 * Finds the image of a web address; undefined leaves the address in place.
 *
 * @param place Path of the field that holds the address.
 */
type FindImage = (url: string, place: string) => InlineImage | undefined;

const isWebAddress = (url: unknown): url is string => typeof url === "string" && /^https?:\/\//i.test(url);

const toDataUrl = ({ type, base64 }: InlineImage): string => `data:${type};base64,${base64}`;

/** An image of a chat, or of the Responses API: an address, or an object with one. */
function inlineUrl(part: Members, place: string, find: FindImage): Members {
  const { image_url: given } = part;
  const url = isObject(given) ? given.url : given;
  const image = isWebAddress(url) ? find(url, `${place}.image_url`) : undefined;
  if (!image) return part;
  const data = toDataUrl(image);
  return { ...part, image_url: isObject(given) ? { ...given, url: data } : data };
}

/** An image of the Messages API. */
function inlineSource(part: Members, place: string, find: FindImage): Members {
  const { source } = part;
  if (!isObject(source) || source.type !== "url" || !isWebAddress(source.url)) return part;
  const image = find(source.url, `${place}.source.url`);
  return image ? { ...part, source: { type: "base64", media_type: image.type, data: image.base64 } } : part;
}

/** A file of the Gemini API, if it is an image. */
function inlineFile(part: Members, place: string, find: FindImage): Members {
  const name = isObject(part.fileData) ? "fileData" : "file_data";
  const { [name]: file, ...rest } = part;
  if (!isObject(file)) return part;
  const [url, type] = [file.fileUri ?? file.file_uri, file.mimeType ?? file.mime_type];
  if (!isWebAddress(url) || !/^image\//i.test(String(type))) return part;
  const image = find(url, `${place}.${name}`);
  return image ? { ...rest, inlineData: { mimeType: image.type, data: image.base64 } } : part;
}

function inlinePart(part: Members, place: string, find: FindImage): Members {
  if (part.type === "image_url" || part.type === "input_image") return inlineUrl(part, place, find);
  if (part.type === "image") return inlineSource(part, place, find);
  return inlineFile(part, place, find);
}

/** Members that hold messages, items or parts. */
const lists = ["messages", "input", "contents", "content", "output", "parts"] as const;
const objects = ["functionResponse", "function_response"] as const;

function inlineIn(value: unknown, place: string, find: FindImage): unknown {
  if (Array.isArray(value)) {
    const made = value.map((one, index) => inlineIn(one, `${place}.${index}`, find));
    return made.some((one, index) => one !== value[index]) ? made : value;
  }
  return isObject(value) ? inlineMembers(inlinePart(value, place, find), place, find) : value;
}

function inlineMembers<Value extends object>(value: Value, place: string, find: FindImage): Value {
  let made = value;
  for (const name of [...lists, ...objects]) {
    const held: unknown = Reflect.get(value, name);
    if (typeof held !== "object" || held === null) continue;
    const fitted = inlineIn(held, place === "" ? name : `${place}.${name}`, find);
    if (fitted !== held) made = { ...made, [name]: fitted };
  }
  return made;
}

/**
 * A request of a chat, of the Messages or Responses API, or of the Gemini API in which the found images replace their web
 * addresses; the same request where none is found.
 */
export function inlineImages<Request extends object>(request: Request, find: FindImage): Request {
  return inlineMembers(request, "", find);
}

/** Web addresses of the images of a request, each with the first field that holds it. */
export function listImageAddresses(request: object): Map<string, string> {
  const found = new Map<string, string>();
  inlineImages(request, (url, place) => {
    if (!found.has(url)) found.set(url, place);
    return undefined;
  });
  return found;
}
