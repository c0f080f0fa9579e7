import { fromBase64Url } from "../lib/base64.ts";
import { memoizeText } from "../lib/bounded-map.ts";
import { type DataUrl, readDataUrl } from "../lib/data-url.ts";
import { isObject, isTooComplex, parseJson, stringOf } from "../lib/json.ts";

/** Every string of a request that can be read. */
export interface Leaves {
  readonly texts: readonly string[];
  /** It contains a document that is not text, such as a PDF. */
  readonly hasOpaque: boolean;
}

/** Words of the APIs and of JSON Schema for kinds and roles; they carry no content of the caller. */
const wireWords: ReadonlySet<string> = new Set([
  "system",
  "user",
  "assistant",
  "tool",
  "developer",
  "function",
  "model",
  "custom",
  "auto",
  "none",
  "any",
  "required",
  "object",
  "string",
  "number",
  "integer",
  "boolean",
  "array",
  "null",
  "enum",
  "json_schema",
  "json_object",
  "OBJECT",
  "STRING",
  "NUMBER",
  "INTEGER",
  "BOOLEAN",
  "ARRAY",
  "NULL",
  "AUTO",
  "ANY",
  "NONE",
  "VALIDATED",
  "text",
  "input_text",
  "output_text",
  "refusal",
  "message",
  "reasoning",
  "thinking",
  "redacted_thinking",
  "summary_text",
  "image",
  "image_url",
  "input_image",
  "input_audio",
  "audio",
  "video",
  "file",
  "input_file",
  "document",
  "content",
  "tool_use",
  "tool_result",
  "server_tool_use",
  "search_result",
  "function_call",
  "function_call_output",
  "base64",
  "url",
  "ephemeral",
  "enabled",
  "disabled",
  "adaptive",
  "default",
  "low",
  "medium",
  "high",
  "minimal",
  "float",
  "wav",
  "mp3",
]);

/** Longer strings are not looked up: that would read all of them. */
const longestWord = Math.max(...[...wireWords].map(({ length }) => length));

/** Whether a string is a word of the APIs or of JSON Schema. */
export function isWireWord(text: string): boolean {
  return text.length <= longestWord && wireWords.has(text);
}

/** Field names in the style of APIs; other keys count as text. */
const memberName = /^[\w$.:-]{1,64}$/;
/** Fields whose values are ids, names of users or settings, or credentials. */
const nameForm =
  /^(?:id|model|user|safety_identifier|prompt_cache_key|service_tier|category|threshold|voice|format|response_format|size|quality|language)$|(?:_id|Id|_ids|Ids|[Tt]oken|authorization|api_key|apiKey|secret)$/;
/** Fields that only the provider can read, in its own encoding. */
const sealedForm = /^(?:signature|thought_?[sS]ignature|encrypted_\w+)$/;
/** Fields that hold the address of a file. */
const addressForm = /(?:url|URL|Url|uri|Uri)$/;
/** Fields that hold a file as base64. */
const fileForm = /^(?:data|file_data|fileData|bytes|image|images|mask|b64_json|audio|video)$/;

const plainWord = /^[\w.:/@+=|~-]{1,256}$/;
const address = /^(?:https?|gs|s3|file):\S+$/i;
const base64 = /^[A-Za-z0-9+/_\r\n-]+={0,2}\s*$/;
const wrappedBase64 = /^[A-Za-z0-9+/_\s-]+={0,2}\s*$/;
/** Characters that text has and base64 rarely has: those of its URL-safe form, and line breaks. */
const textMark = /[-_\r\n]/;
/** Shorter strings of base64 characters are treated as text. */
const shortestFile = 64;

/** Fields of JSON Schema whose keys are chosen by the caller. */
const namedMaps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependentRequired",
  "arguments",
  "input",
  "args",
  "response",
  "variables",
  "metadata",
]);
/** Fields whose values reach the model unchanged, whatever keys they contain. */
const ownValues: ReadonlySet<string> = new Set(["documents", "state"]);

const textType =
  /^text\/|^image\/svg\+xml$|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-javascript|typescript|sql|toml|x-ndjson|x-sh|csv|rtf)$/;
const mediaType = /^(?:image|audio|video|font)\/(?!svg\+xml$)/;
const textFile =
  /\.(?:txt|md|csv|tsv|json|jsonl|xml|html?|ya?ml|toml|ini|log|sql|py|js|ts|java|c|cc|cpp|h|go|rs|rb|php|sh|css)$/i;

/** Whether a media type is that of a file which is read. */
export function isTextType(type: string): boolean {
  return type === "" || textType.test(type);
}

/** Whether a media type is that of an image, audio or video. */
export function isMediaType(type: string): boolean {
  return mediaType.test(type);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });
const utf16 = new TextDecoder("utf-16le");
const utf16be = new TextDecoder("utf-16be");

/** What the strings of a field may be besides text. */
interface Member {
  /** Its name is one of an API's, no text of the caller. */
  isNamed: boolean;
  isFile: boolean;
  isAddress: boolean;
  /** Matches values that are not the caller's text: addresses, ids, data only the provider can read. */
  form: RegExp | undefined;
}

/** Most names whose members are known, and the longest of them. */
const mostNames = 1_000;
const longestName = 64;

const readMember = memoizeText(mostNames, toMember, longestName);

function toMember(name: string): Member {
  const isNamed = memberName.test(name);
  const isAddress = addressForm.test(name);
  const form = isAddress ? address : nameForm.test(name) ? plainWord : sealedForm.test(name) ? base64 : undefined;
  return { isNamed, isFile: fileForm.test(name), isAddress, form };
}

/** Whether all lines but the last are equally long, as in wrapped base64 (RFC 2045, section 6.8). */
function isWrapped(lines: readonly string[]): boolean {
  const [{ length } = ""] = lines;
  return (
    length >= 32 && lines.slice(1, -1).every((line) => line.length === length) && (lines.at(-1) ?? "").length <= length
  );
}

/** Whether a string is base64, and not words separated by characters that base64 also has. */
export function isCoded(text: string): boolean {
  if (text.length < shortestFile || !base64.test(text)) return false;
  if (!textMark.test(text)) return true;
  const lines = text.trimEnd().split(/\r?\n/);
  if (lines.length > 1 && !isWrapped(lines)) return false;
  let marks = 0;
  for (let index = 0; index < text.length; index++) {
    const letter = text.charCodeAt(index);
    if (letter === 0x2d || letter === 0x5f) marks++;
  }
  // two of the 64 characters are punctuation
  return marks * 10 < text.length;
}

/** Whether the value of a file field is a file. */
function holdsFile(text: string, type: string | undefined): boolean {
  return type === undefined || mediaType.test(type) ? isCoded(text) : wrappedBase64.test(text);
}

/** Decodes text; undefined where the bytes are not text. */
function decodeText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return utf16.decode(bytes);
  if (first === 0xfe && second === 0xff) return utf16be.decode(bytes);
  try {
    const text = utf8.decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Decodes base64 text; undefined where it is not base64 or not text. */
export function decodeFile(data: string): string | undefined {
  try {
    return decodeText(fromBase64Url(data.replace(/\s/g, "")));
  } catch {
    return undefined;
  }
}

/** The media type an object states for its file, in lower case and without parameters. */
export function statedType(holder: Readonly<Record<string, unknown>>): string | undefined {
  const stated = stringOf(holder.media_type) ?? stringOf(holder.mimeType) ?? stringOf(holder.mime_type);
  return stated?.toLowerCase().split(";")[0]?.trim();
}

/** Types of parts that hold a document, and the fields that reference it. */
const documentParts: ReadonlySet<unknown> = new Set(["document", "document_url", "file", "input_file"]);
const documentReferences = ["file_id", "file_url", "document_url", "url"];

/** Whether an object references a document outside the request. */
function isReference(holder: Readonly<Record<string, unknown>>): boolean {
  return documentReferences.some((name) => {
    const value = holder[name];
    return typeof value === "string" && value !== "" && !/^data:/i.test(value);
  });
}

/** Whether an object is a part that references a document stored elsewhere, which the gateway cannot read. */
function isRemoteDocument(part: Readonly<Record<string, unknown>>): boolean {
  const uri = stringOf(part.fileUri) ?? stringOf(part.file_uri);
  // a link to a video has no type
  if (uri !== undefined) return !mediaType.test(statedType(part) ?? (isVideoLink(uri) ? "video/mp4" : ""));
  if (!documentParts.has(part.type)) return false;
  return [part, part.file, part.source].some((holder) => isObject(holder) && isReference(holder));
}

function isVideoLink(uri: string): boolean {
  return /^https:\/\/(?:(?:www\.|m\.)?youtube\.com|youtu\.be)\//.test(uri);
}

/** Deepest nesting that is read: twice that of request bodies, for JSON inside strings. */
const maxDepth = 128;

/** Collects the strings of a JSON value. */
class LeafReader {
  readonly texts: string[] = [];
  hasOpaque = false;
  #depth = 0;
  #name = "";
  #member: Member | undefined;
  /** How many of the enclosing values belong entirely to the caller. */
  #ownValues = 0;

  read(value: unknown, name = "", holder: Readonly<Record<string, unknown>> = {}): void {
    if (typeof value === "string") this.#readText(value, name, holder);
    else if (typeof value !== "object" || value === null) return;
    else if (this.#depth === maxDepth) this.hasOpaque = true;
    else {
      const isOwn = ownValues.has(name);
      this.#depth++;
      if (isOwn) this.#ownValues++;
      if (Array.isArray(value)) for (const item of value) this.read(item, name, holder);
      else if (isObject(value) && isPlain(value)) this.#readObject(value, namedMaps.has(name) || this.#ownValues > 0);
      if (isOwn) this.#ownValues--;
      this.#depth--;
    }
  }

  #readObject(value: Readonly<Record<string, unknown>>, hasOwnNames: boolean): void {
    if (isRemoteDocument(value)) this.hasOpaque = true;
    for (const name of Object.keys(value)) {
      if (hasOwnNames || !readMember(name).isNamed) this.texts.push(name);
      this.read(value[name], name, value);
    }
  }

  #readText(text: string, name: string, holder: Readonly<Record<string, unknown>>): void {
    if (text === "" || isWireWord(text)) return;
    // lists hold many strings under one name, which may be long
    if (this.#name !== name || !this.#member) this.#member = readMember(name);
    this.#name = name;
    const { isFile, isAddress, form } = this.#member;
    const url = isFile || isAddress ? readDataUrl(text) : undefined;
    const type = isFile ? statedType(holder) : undefined;
    const isData = isFile && holder.type !== "text" && holdsFile(text, type);
    if (url) this.#readUrl(url, text);
    else if (isData) this.#readFile(text, type ?? typeOfName(holder));
    else if (this.#ownValues > 0 || !form?.test(text) || (form === base64 && !isCoded(text))) this.#addText(text);
  }

  /** Adds a string; if it is JSON, its unescaped strings are added as well. */
  #addText(text: string): void {
    this.texts.push(text);
    if (!text.includes("\\u") || !/^\s*[{["]/.test(text)) return;
    if (isTooComplex(text)) this.hasOpaque = true;
    else this.read(parseJson(text));
  }

  #readUrl({ type, isBase64, data }: DataUrl, written: string): void {
    const isFile = mediaType.test(type) ? isCoded(data) : base64.test(data);
    if (isBase64 && isFile) this.#readFile(data, type);
    else this.texts.push(decodePercent(written));
  }

  /** A file inside the request: without a media type it is an image or audio. */
  #readFile(data: string, type: string | undefined): void {
    if (type === undefined || mediaType.test(type)) return;
    const text = isTextType(type) ? decodeFile(data) : undefined;
    if (text !== undefined) this.texts.push(text);
    // text that only resembles base64 is added as it is
    else if (/\s/.test(data.trim())) this.texts.push(data);
    else this.hasOpaque = true;
  }
}

/** The type of a file by its name; a document type where the name has an unknown extension. */
function typeOfName(holder: Readonly<Record<string, unknown>>): string | undefined {
  const name = stringOf(holder.filename) ?? stringOf(holder.file_name);
  if (name === undefined) return undefined;
  return textFile.test(name) ? "text/plain" : "application/octet-stream";
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether an object comes from JSON: form files do not. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The strings of a JSON value and the caller's keys, without API words, ids and media. */
export function readLeaves(value: unknown): Leaves {
  const reader = new LeafReader();
  reader.read(value);
  return { texts: reader.texts, hasOpaque: reader.hasOpaque };
}
