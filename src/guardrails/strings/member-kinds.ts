import { memoizeText } from "../../lib/bounded-map.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isObject } from "../../lib/json.ts";
import { visitJson } from "../../lib/json-strings.ts";
import type { Body } from "../types.ts";
import { isCoded, isMediaType, statedType } from "./coded-files.ts";

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

/**
 * Members of responses and their events whose values are keywords of the APIs, names of models, or media types
 * (https://platform.openai.com/docs/api-reference, https://docs.claude.com/en/api, https://ai.google.dev/api).
 */
const keywordMembers: ReadonlySet<string> = new Set([
  "type",
  "role",
  "object",
  "status",
  "model",
  "modelVersion",
  "model_version",
  "provider",
  "phase",
  "finish_reason",
  "finishReason",
  "native_finish_reason",
  "stop_reason",
  "blockReason",
  "service_tier",
  "serviceTier",
  "trafficType",
  "inference_geo",
  "system_fingerprint",
  "format",
  "output_format",
  "media_type",
  "mimeType",
  "mime_type",
  "modality",
  "voice",
  "quality",
  "size",
  "background",
  "detail",
  "truncation",
  "category",
  "task",
  "language",
  "outcome",
  "urlRetrievalStatus",
  "probability",
  "severity",
  "createTime",
  "expires_at",
]);
const idForm = /^id$|(?:_id|Id|_ids|Ids)$/;
/** What a keyword, an id or the name of a model looks like. */
const word = /^[\w.:/+=|~-]{1,256}$/;
const modelWord = /^[\w.:/@+=|~-]{1,256}$/;

/** Members that only the provider can read, in its own encoding. */
export const sealedForm = /^(?:signature|thought_?[sS]ignature|encrypted_\w+)$/;
/** Padding of streamed events. */
const padding = /^[A-Za-z0-9]{1,64}$/;
/** Members that hold a file as base64. */
const fileMembers: ReadonlySet<string> = new Set([
  "data",
  "file_data",
  "fileData",
  "bytes",
  "image",
  "audio",
  "video",
  "b64_json",
  "image_base64",
  "partial_image_b64",
  "result",
]);

/** What stands beside a string. */
export type Holder = Readonly<Record<string | number, unknown>>;

/** What the name of a member says of its strings. */
type MemberKind = "text" | "keyword" | "model" | "padding" | "sealed" | "file";

/** Most names whose kinds are remembered, and the longest of them. */
const mostNames = 1_000;
const longestName = 64;

const kindOf = memoizeText(mostNames, toKind, longestName);

function toKind(name: string): MemberKind {
  if (name === "model") return "model";
  if (keywordMembers.has(name) || idForm.test(name)) return "keyword";
  if (name === "obfuscation") return "padding";
  if (sealedForm.test(name)) return "sealed";
  return fileMembers.has(name) ? "file" : "text";
}

/**
 * Whether a string of a response is no text of a model: a keyword, an id, an image, or what only the provider can read.
 * Values of another form are text, whatever their member is.
 */
export function isNoText(name: string, text: string, holder: Holder): boolean {
  if (text === "") return true;
  switch (kindOf(name)) {
    case "model":
      return modelWord.test(text);
    case "keyword":
      return word.test(text);
    case "padding":
      return padding.test(text);
    case "sealed":
      return isCoded(text);
    case "file":
      return isCoded(text) && isMediaOrSealed(holder);
    case "text":
      return text.startsWith("data:") ? isMedia(text) : isWireWord(text);
  }
}

/** Whether an address holds an image, audio or video itself. */
function isMedia(address: string): boolean {
  const url = readDataUrl(address);
  return url?.isBase64 === true && isMediaType(url.type) && isCoded(url.data);
}

/** Whether the file in an object has no type, or that of an image, audio or video. */
function isMediaOrSealed(holder: Holder): boolean {
  const type = statedType(holder);
  return type === undefined || isMediaType(type);
}

/** Members that name a tool, or repeat a setting of the request. */
const echoMembers: ReadonlySet<string> = new Set(["name", "server_label", "server_name", "toolName", "stop_sequence"]);
/** Members of a response that repeat the request (https://platform.openai.com/docs/api-reference/responses/object). */
const responseEchoes: ReadonlySet<string> = new Set([
  "instructions",
  "tools",
  "tool_choice",
  "metadata",
  "prompt",
  "text",
  "reasoning",
  "user",
  "safety_identifier",
  "prompt_cache_key",
  "conversation",
]);

/** Whether a member may repeat what the request says. `isResponse`: it belongs to a whole response of that API. */
export function mayEcho(name: string, isResponse: boolean): boolean {
  return echoMembers.has(name) || (isResponse && responseEchoes.has(name));
}

/** Whether an object is a whole response of the Responses API. */
export function isWholeResponse(value: Holder): boolean {
  return value.object === "response" && Array.isArray(value.output);
}

/** Strings and names of members of a request, collected when one is looked for. */
export class RequestStrings {
  readonly #body: Body;
  #strings: Set<string> | undefined;

  constructor(body: Body) {
    this.#body = body;
  }

  has(text: string): boolean {
    if (!this.#strings) {
      const strings = new Set<string>();
      const add = (one: string): void => void strings.add(one);
      visitJson(this.#body, { string: add, name: add });
      this.#strings = strings;
    }
    return this.#strings.has(text);
  }
}

/** Members that hold JSON text. */
export const jsonMembers: ReadonlySet<string> = new Set(["arguments", "partial_json"]);

/** Objects whose names of members a model or a tool chooses. */
const ownNames: ReadonlySet<string> = new Set(["arguments", "input", "args", "response", "env", "metadata"]);
/** Whether a name is in the style of APIs. */
export const isMemberName = memoizeText(mostNames, (name) => /^[\w$.:-]{1,64}$/.test(name), longestName);

/** Whether the name of a member is text: one that no API has, or that a model chose. */
export function isNameText(name: string, isOwn: boolean): boolean {
  return isOwn || !isMemberName(name);
}

/** Whether all names in the object of a member are chosen by a model or a tool. Events have whole responses as `response`. */
export function hasOwnNames(name: string, value: Holder): boolean {
  return ownNames.has(name) && !(name === "response" && value.object !== undefined);
}

/** Members that repeat a text token by token. */
export const tokenMembers: readonly string[] = ["logprobs", "logprobsResult"];

/** The text that tokens add up to, and their alternatives, which are shown too. */
export function readTokens(value: unknown): { chosen: string; others: string } {
  const [chosen, others]: [string[], string[]] = [[], []];
  collectTokens(value, "", { chosen, others });
  return { chosen: chosen.join(""), others: others.join("\n") };
}

const topForm = /^top/;

function collectTokens(value: unknown, name: string, found: { chosen: string[]; others: string[] }): void {
  const isTop = topForm.test(name);
  if (typeof value === "string") (isTop ? found.others : found.chosen).push(value);
  else if (Array.isArray(value)) for (const item of value) collectTokens(item, name, found);
  else if (isObject(value)) {
    for (const [inner, one] of Object.entries(value)) {
      // the older form has alternatives as names of members
      if (isTop && typeof one === "number" && !/^(?:logprob|logProbability|tokenId)$/.test(inner))
        found.others.push(inner);
      collectTokens(one, isTop ? name : inner, found);
    }
  }
}

/** A number in which something was found: its digits become nines, so that it stays a number. */
export function maskNumber(number: number): number {
  return Number(String(number).replace(/[0-9]/g, "9"));
}
