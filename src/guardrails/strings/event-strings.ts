import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import { decodeJsonText, type JsonPlace, jsonStart } from "../../lib/json-text.ts";
import { readEvents } from "../../lib/sse.ts";
import type { Body, RequestType } from "../types.ts";
import {
  hasOwnNames,
  isNameText,
  isNoText,
  isWholeResponse,
  jsonMembers,
  maskNumber,
  mayEcho,
  type RequestStrings,
  readTokens,
  tokenMembers,
} from "./member-kinds.ts";

/** A string of an event that a client may show. */
export interface StringPlace {
  /** The object or list that holds it, and under which key. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Name of the text it continues; undefined where it is whole. */
  readonly name: string | undefined;
  /** It is JSON text, such as the arguments of a tool call. */
  readonly isJson: boolean;
  /** Other events held it already. */
  readonly isRepeat: boolean;
  /** In place of the value: the name of the member itself, or what its tokens add up to. */
  readonly stands?: { readonly text: string; readonly for: "name" | "tokens" };
}

/** The text at a place. */
export function stringAt({ holder, key, stands }: StringPlace): string {
  return stands ? stands.text : String(holder[key]);
}

/** The text in one event. */
interface EventStrings {
  readonly places: StringPlace[];
  /** Beginnings of the names of the parts that end with it. */
  readonly ends: string[];
}

/** An object, or a list: lists are cast to it, as their items are read and written by place. */
type Holder = Record<string | number, unknown>;

/** What is known of a value whose strings come whole. */
interface WholeValue {
  isRepeat?: boolean;
  /** It may repeat the request. */
  isEcho?: boolean;
  /** A model or a tool chose the names around it. */
  isOwn?: boolean;
}

/** Collects the strings of one event: of members that nobody knows too. */
class Collector implements EventStrings {
  readonly places: StringPlace[] = [];
  readonly ends: string[] = [];
  readonly #request: RequestStrings;

  constructor(request: RequestStrings) {
    this.#request = request;
  }

  add(holder: Holder, key: string | number, more: { name?: string; isJson?: boolean; isRepeat?: boolean } = {}): void {
    if (holder[key] === "") return;
    this.places.push({
      holder,
      key,
      name: more.name,
      isJson: more.isJson ?? jsonMembers.has(String(key)),
      isRepeat: more.isRepeat ?? false,
    });
  }

  #isRead(holder: Holder, key: string | number, text: string, { isEcho, isOwn }: WholeValue): boolean {
    if (!isOwn && isNoText(String(key), text, holder)) return false;
    return !(isEcho && this.#request.has(text));
  }

  /** Every string below a value that comes whole. */
  addWhole(holder: Holder, key: string | number, whole: WholeValue = {}): void {
    const value = holder[key];
    const isRepeat = whole.isRepeat ?? false;
    if (typeof value === "string") {
      if (this.#isRead(holder, key, value, whole)) this.add(holder, key, { isRepeat });
    } else if (typeof value === "number") {
      if (whole.isOwn) this.add(holder, key, { isRepeat });
    } else if (Array.isArray(value))
      // a list holds its items by their index
      for (const index of value.keys()) this.addWhole(value as unknown as Holder, index, whole);
    else if (isObject(value)) this.#addMembers(value, String(key), whole);
  }

  #addMembers(value: Holder, outer: string, whole: WholeValue): void {
    const isOwn = whole.isOwn === true || hasOwnNames(outer, value);
    const isResponse = isWholeResponse(value);
    for (const name of Object.keys(value)) {
      if (tokenMembers.includes(name)) this.addTokens(value, name);
      else this.addWhole(value, name, { ...whole, isOwn, isEcho: whole.isEcho === true || mayEcho(name, isResponse) });
      if (isNameText(name, isOwn) && !(whole.isEcho && this.#request.has(name)))
        this.#addStanding(value, name, { text: name, for: "name" });
    }
  }

  #addStanding(holder: Holder, key: string, stands: NonNullable<StringPlace["stands"]>, name?: string): void {
    if (stands.text === "") return;
    this.places.push({ holder, key, name, isJson: false, isRepeat: stands.for === "tokens", stands });
  }

  /** What repeats a text token by token. */
  addTokens(holder: Holder, key: string, name?: string): void {
    const { chosen, others } = readTokens(holder[key]);
    this.#addStanding(holder, key, { text: chosen, for: "tokens" }, name);
    this.#addStanding(holder, key, { text: others, for: "tokens" });
  }

  /** Every string below a value whose strings continue those of earlier events at the same place. */
  addGrowing(holder: Holder, key: string | number, name: string): void {
    const value = holder[key];
    if (typeof value === "string") {
      const isEcho = mayEcho(String(key), false);
      if (this.#isRead(holder, key, value, { isEcho })) this.add(holder, key, { name });
    } else if (Array.isArray(value)) {
      for (const [place, item] of value.entries()) {
        const index = isObject(item) && typeof item.index === "number" ? item.index : place;
        this.addGrowing(value as unknown as Holder, place, `${name}/${index}`); // as above
      }
    } else if (isObject(value)) {
      for (const inner of Object.keys(value)) {
        if (tokenMembers.includes(inner)) this.addTokens(value, inner, `${name}/${inner}`);
        else this.addGrowing(value, inner, `${name}/${inner}`);
        if (isNameText(inner, false)) this.#addStanding(value, inner, { text: inner, for: "name" });
      }
    }
  }

  /** Every string of an event beside those of some members. */
  addOthers(event: Holder, but: readonly string[], whole: WholeValue = {}): void {
    // plain loop: this runs for every event
    for (const key in event) {
      const value = event[key];
      const holdsText = typeof value === "string" || (typeof value === "object" && value !== null);
      if ((holdsText || isNameText(key, false)) && !but.includes(key)) this.addMember(event, key, whole);
    }
  }

  /** Every string of a member of an event. */
  addMember(event: Holder, key: string, whole: WholeValue = {}): void {
    if (tokenMembers.includes(key)) this.addTokens(event, key);
    else if (mayEcho(key, false)) this.addWhole(event, key, { ...whole, isEcho: true });
    else this.addWhole(event, key, whole);
    if (isNameText(key, false)) this.#addStanding(event, key, { text: key, for: "name" });
  }
}

/** Members of chunks and choices that are read by themselves. */
const chunkMembers = ["choices"];
const choiceMembers = ["index", "delta", "text", "message", "logprobs"];

/** Chunks of chats and completions. */
function readChunk(event: Holder, found: Collector): void {
  const { choices } = event;
  const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
  // plain loops: this runs for every event
  for (let place = 0; place < list.length; place++) {
    const choice = list[place];
    if (!isObject(choice)) continue;
    const name = `${typeof choice.index === "number" ? choice.index : place}/`;
    if (choice.delta !== undefined) found.addGrowing(choice, "delta", name);
    if (typeof choice.text === "string") found.add(choice, "text", { name: `${name}text` });
    if (choice.message !== undefined) found.addWhole(choice, "message");
    if (choice.logprobs) found.addTokens(choice, "logprobs", `${name}logprobs`);
    for (const key in choice) if (!choiceMembers.includes(key)) found.addGrowing(choice, key, `${name}${key}`);
    if (typeof choice.finish_reason === "string") found.ends.push(name);
  }
  found.addOthers(event, Array.isArray(choices) ? chunkMembers : []);
}

/** Kinds of events whose members are whole, though they are no parts of the content. */
const wholeEvents: ReadonlySet<unknown> = new Set(["message_start", "message_delta", "error"]);

/** Events of the Messages API. */
function readMessageEvent(event: Holder, found: Collector): void {
  const { type, index } = event;
  const name = `${String(index)}/`;
  if (type === "content_block_stop") found.ends.push(name);
  else if (type === "message_stop") found.ends.push("");
  const isPart = type === "content_block_start" || type === "content_block_delta";
  const key = type === "content_block_delta" ? "delta" : "content_block";
  const part = isPart ? event[key] : undefined;
  if (isObject(part)) {
    for (const inner of Object.keys(part)) {
      if (typeof part[inner] === "string") found.addGrowing(part, inner, `${name}${inner}`);
      else found.addMember(part, inner);
    }
    found.addOthers(event, [key]);
  } else if (wholeEvents.has(type)) found.addOthers(event, []);
  else for (const inner of Object.keys(event)) found.addGrowing(event, inner, `${String(type)}/${name}${inner}`);
}

/** Events of the Responses API, whose last events repeat the text of those before them. */
function readResponseEvent(event: Holder, found: Collector): void {
  const type = String(event.type);
  if (isObject(event.response)) {
    found.addOthers(event, [], { isRepeat: true });
    if (type === "response.completed" || type === "response.incomplete") found.ends.push("");
    return;
  }
  const index = event.content_index ?? event.summary_index ?? "";
  const name = `${String(event.output_index)}/${String(index)}/${type.replace(/\.(?:delta|done)$/, "")}`;
  const isJson = type.includes("_call_arguments") || type.includes("function_call.arguments");
  if (type.endsWith(".delta")) {
    if (typeof event.delta === "string") found.add(event, "delta", { name, isJson });
    else found.addMember(event, "delta");
    if (event.logprobs) found.addTokens(event, "logprobs", `${name}/logprobs`);
    found.addOthers(event, deltaMembers);
    return;
  }
  if (type.endsWith(".done")) found.ends.push(type.endsWith("item.done") ? `${String(event.output_index)}/` : name);
  found.addOthers(event, [], { isRepeat: type.endsWith(".done") });
}

const deltaMembers = ["delta", "logprobs"];

/** Events of a session that show what the client sent, or nothing of a model. */
const ownEvents = /^(?:session|transcription_session|input_audio_buffer|output_audio_buffer|rate_limits)\b/;

/**
 * Events of a session (https://platform.openai.com/docs/api-reference/realtime-server-events). What the client said
 * comes back only as the transcript of its audio.
 */
function readSessionEvent(event: Holder, found: Collector): void {
  const type = String(event.type);
  const { item, response, item_id: itemId } = event;
  if (ownEvents.test(type) || (isObject(item) && (item.role === "user" || item.role === "system"))) return;
  if (isObject(response)) {
    found.addWhole(response, "output", { isRepeat: true });
    found.addWhole(response, "status_details");
    if (type === "response.done") found.ends.push("");
    return;
  }
  const name = `${String(itemId ?? event.output_index)}/${String(event.content_index ?? "")}/`;
  const [, kind, state] = /^(.*)\.(delta|done|completed|segment)$/.exec(type) ?? [];
  if (state === "delta") {
    // audio says what its transcript says
    if (typeof event.delta !== "string" || /audio$/.test(kind ?? "")) return;
    found.add(event, "delta", { name: `${name}${kind}`, isJson: kind?.includes("arguments") === true });
    return;
  }
  if (state === "done" || state === "completed") found.ends.push(`${name}${kind}`);
  for (const key of Object.keys(event)) {
    const isAudio = key === "audio" && typeof event[key] === "string";
    if (!isAudio) found.addMember(event, key, { isRepeat: state === "done" || state === "completed" });
  }
}

/** Events of transcripts, whose last event repeats the text. */
function readTranscriptEvent(event: Holder, found: Collector): void {
  const { type } = event;
  if (type === "transcript.text.delta") {
    found.add(event, "delta", { name: "text" });
    if (event.logprobs) found.addTokens(event, "logprobs", "logprobs");
    found.addOthers(event, deltaMembers);
  } else if (type === "transcript.text.segment") {
    found.add(event, "text", { name: "segments" });
    found.addOthers(event, ["text"]);
  } else {
    found.addOthers(event, [], { isRepeat: type === "transcript.text.done" });
    if (type === "transcript.text.done") found.ends.push("");
  }
}

/** Members of contents and candidates that are read by themselves. */
const contentMembers = ["candidates"];
const candidateMembers = ["content"];

/** Chunks of the Gemini API. */
function readContent(event: Holder, found: Collector): void {
  for (const [place, candidate] of objectsIn(event.candidates).entries()) {
    const name = `${typeof candidate.index === "number" ? candidate.index : place}/`;
    const parts = isObject(candidate.content) ? candidate.content.parts : undefined;
    for (const part of Array.isArray(parts) ? objectsIn(parts) : isObject(parts) ? [parts] : []) {
      for (const key of Object.keys(part)) {
        const value = part[key];
        const grown = `${name}${part.thought === true && key === "text" ? "thought" : key}`;
        if (isObject(value)) readCall(part, key, { name: grown, value, found });
        else found.addGrowing(part, key, grown);
      }
    }
    if (isObject(candidate.content)) found.addOthers(candidate.content, ["parts"]);
    found.addOthers(candidate, candidateMembers);
    if (typeof candidate.finishReason === "string") found.ends.push(name);
  }
  found.addOthers(event, Array.isArray(event.candidates) ? contentMembers : []);
}

/** A call in a part: whole, or with its arguments in pieces. */
function readCall(
  part: Holder,
  key: string,
  { name, value, found }: { name: string; value: Holder; found: Collector },
): void {
  const pieces = value.partialArgs;
  if (!Array.isArray(pieces)) {
    found.addMember(part, key);
    return;
  }
  for (const piece of objectsIn(pieces)) {
    if (typeof piece.stringValue === "string") {
      found.add(piece, "stringValue", { name: `${name}/${String(piece.jsonPath)}` });
    }
    found.addOthers(piece, ["stringValue"]);
  }
  found.addOthers(value, ["partialArgs"]);
}

/** The strings of a streamed event that a client may show. Unknown members are read too. */
export function readEventStrings(requestType: RequestType, event: Body, request: RequestStrings): EventStrings {
  const found = new Collector(request);
  // its strings are replaced in place
  const open = event as Holder;
  if (requestType === "messages") readMessageEvent(open, found);
  else if (requestType === "createModelResponse") readResponseEvent(open, found);
  else if (requestType === "generateContent") readContent(open, found);
  else if (requestType === "createTranscription") readTranscriptEvent(open, found);
  else if (requestType === "realtime") readSessionEvent(open, found);
  else readChunk(open, found);
  return found;
}

/** Removes what repeats the text of a changed event token by token. */
export function dropTokens(event: Body, places: readonly StringPlace[]): void {
  const holders: readonly Holder[] = [
    ...objectsIn(event.choices),
    ...objectsIn(event.candidates),
    ...places.map(({ holder }) => holder),
  ];
  for (const one of holders) {
    if (one.logprobs) one.logprobs = Array.isArray(one.logprobs) ? [] : null;
    Reflect.deleteProperty(one, "logprobsResult");
  }
}

/** Writes the changed text of a place into its event. Tokens are dropped, not written. */
export function writeString({ holder, key, stands }: StringPlace, text: string): void {
  if (stands?.for === "tokens" || text === stands?.text) return;
  const value = holder[key];
  if (!stands) {
    holder[key] = typeof value !== "number" ? text : text === String(value) ? value : maskNumber(value);
    return;
  }
  Reflect.deleteProperty(holder, key);
  holder[text] = value;
}

/** The strings of a whole stream: those of its events, or what the events add up to. */
export function readStreamStrings(requestType: RequestType, text: string, request: RequestStrings): string[] {
  const [whole, grown] = [new Set<string>(), new Map<string, { text: string; json: JsonPlace }>()];
  for (const { data } of readEvents(text)) {
    const event = parseJson(data);
    if (!isObject(event)) continue;
    for (const place of readEventStrings(requestType, event, request).places) {
      const said = stringAt(place);
      const known = grown.get(place.name ?? "") ?? { text: "", json: jsonStart };
      const read = place.isJson ? decodeJsonText(said, known.json) : { text: said, place: jsonStart };
      if (place.name === undefined) whole.add(read.text);
      else grown.set(place.name, { text: known.text + read.text, json: read.place });
    }
  }
  return [...whole, ...[...grown.values()].map(({ text: one }) => one)];
}
