import { memoizeText } from "../../lib/bounded-map.ts";
import { type DataUrl, readDataUrl } from "../../lib/data-url.ts";
import { isObject, isTooComplex, parseJson, stringOf } from "../../lib/json.ts";
import type { Body } from "../types.ts";
import {
  base64,
  decodeFile,
  holdsFile,
  isCoded,
  isMediaType,
  isTextType,
  statedType,
  typeOfName,
} from "./coded-files.ts";
import { type Holder, isMemberName, isWireWord, sealedForm } from "./member-kinds.ts";
import { StringWalk } from "./string-walk.ts";

/** What is read of a body. */
export interface FoundStrings {
  readonly strings: readonly string[];
  /** It contains a document that is not text, such as a PDF. */
  readonly hasOpaque: boolean;
}

/** Fields whose values are ids, names of users or settings, or credentials. */
const nameForm =
  /^(?:id|model|user|safety_identifier|prompt_cache_key|service_tier|category|threshold|voice|format|response_format|size|quality|language)$|(?:_id|Id|_ids|Ids|[Tt]oken|authorization|api_key|apiKey|secret)$/;
/** Fields that hold the address of a file. */
const addressForm = /(?:url|URL|Url|uri|Uri)$/;
/** Fields that hold a file as base64. */
const fileForm = /^(?:data|file_data|fileData|bytes|image|images|mask|b64_json|audio|video)$/;

const plainWord = /^[\w.:/@+=|~-]{1,256}$/;
const address = /^(?:https?|gs|s3|file):\S+$/i;

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

/** What the strings of a field may be besides text. */
interface Member {
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
  const isAddress = addressForm.test(name);
  const form = isAddress ? address : nameForm.test(name) ? plainWord : sealedForm.test(name) ? base64 : undefined;
  return { isFile: fileForm.test(name), isAddress, form };
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
  if (uri !== undefined) return !isMediaType(statedType(part) ?? (isVideoLink(uri) ? "video/mp4" : ""));
  if (!documentParts.has(part.type)) return false;
  return [part, part.file, part.source].some((holder) => isObject(holder) && isReference(holder));
}

function isVideoLink(uri: string): boolean {
  return /^https:\/\/(?:(?:www\.|m\.)?youtube\.com|youtu\.be)\//.test(uri);
}

/** Collects the strings of a request. */
class RequestWalk extends StringWalk {
  readonly strings: string[] = [];
  #name = "";
  #member: Member | undefined;

  protected override ownsNames(name: string): boolean {
    return ownValues.has(name);
  }

  protected override object(holder: Body, outer: string): Body {
    if (!isPlain(holder)) return holder;
    if (isRemoteDocument(holder)) this.hasOpaque = true;
    return super.object(holder, outer);
  }

  protected override name(name: string, outer: string): string {
    if (this.isOwn || namedMaps.has(outer) || !isMemberName(name)) this.strings.push(name);
    return name;
  }

  protected override string(string: string, name: string, holder: Holder): string {
    if (string === "" || isWireWord(string)) return string;
    // lists hold many strings under one name, which may be long
    if (this.#name !== name || !this.#member) this.#member = readMember(name);
    this.#name = name;
    const { isFile, isAddress, form } = this.#member;
    const url = isFile || isAddress ? readDataUrl(string) : undefined;
    const type = isFile ? statedType(holder) : undefined;
    const isData = isFile && holder.type !== "text" && holdsFile(string, type);
    if (url) this.#readUrl(url, string);
    else if (isData) this.#readFile(string, type ?? typeOfName(holder));
    else if (this.isOwn || !form?.test(string) || (form === base64 && !isCoded(string))) this.#add(string);
    return string;
  }

  /** Adds a string; if it is JSON, its unescaped strings are added as well. */
  #add(string: string): void {
    this.strings.push(string);
    if (!string.includes("\\u") || !/^\s*[{["]/.test(string)) return;
    if (isTooComplex(string)) this.hasOpaque = true;
    else this.walk(parseJson(string));
  }

  #readUrl({ type, isBase64, data }: DataUrl, written: string): void {
    const isFile = isMediaType(type) ? isCoded(data) : base64.test(data);
    if (isBase64 && isFile) this.#readFile(data, type);
    else this.strings.push(decodePercent(written));
  }

  /** A file inside the request: without a media type it is an image or audio. */
  #readFile(data: string, type: string | undefined): void {
    if (type === undefined || isMediaType(type)) return;
    const text = isTextType(type) ? decodeFile(data) : undefined;
    if (text !== undefined) this.strings.push(text);
    // text that only resembles base64 is added as it is
    else if (/\s/.test(data.trim())) this.strings.push(data);
    else this.hasOpaque = true;
  }
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

/** The strings of a request and the caller's names of members, without API words, ids and media. */
export function readRequest(request: unknown): FoundStrings {
  const walk = new RequestWalk();
  walk.walk(request);
  return walk;
}
