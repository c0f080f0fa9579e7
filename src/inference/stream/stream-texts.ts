import type { Body, RequestType } from "../../guardrails/types.ts";
import { isObject, objectsIn } from "../../lib/json.ts";

/** A string of an event that is part of a response's text. */
export interface TextPlace {
  /** The object or list that holds it, and under which key. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Name of the text it continues; undefined where it is whole. */
  readonly name: string | undefined;
  /** It is JSON text, such as the arguments of a tool call. */
  readonly isJson: boolean;
  /** Other events held it already. */
  readonly isRepeat: boolean;
}

/** The text in one event. */
interface EventTexts {
  readonly places: TextPlace[];
  /** Beginnings of the names of the parts that end with it. */
  readonly ends: string[];
}

/** Members that hold no text of a model: keywords of the APIs, ids, addresses, signatures and media. */
const passedOver = new Set([
  "id",
  "event_id",
  "previous_item_id",
  "type",
  "role",
  "name",
  "object",
  "index",
  "status",
  "format",
  "call_id",
  "item_id",
  "tool_use_id",
  "response_id",
  "file_id",
  "container_id",
  "url",
  "uri",
  "fileUri",
  "file_url",
  "mimeType",
  "mime_type",
  "media_type",
  "signature",
  "thoughtSignature",
  "thought_signature",
  "encrypted_content",
  "encrypted_index",
  "obfuscation",
  "data",
  "b64_json",
  "partial_image_b64",
  "result",
  "finish_reason",
  "stop_reason",
  "logprobs",
]);
/** Members that hold JSON text. */
const jsonMembers = new Set(["arguments", "partial_json"]);

/** An object, or a list: lists are cast to it, as their items are read and written by place. */
type Holder = Record<string | number, unknown>;

/** Collects the strings of one event. */
class Collector implements EventTexts {
  readonly places: TextPlace[] = [];
  readonly ends: string[] = [];

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

  /** Every string below a value that comes whole. */
  addWhole(holder: Holder, key: string | number, isRepeat = false): void {
    const value = holder[key];
    if (typeof value === "string") this.add(holder, key, { isRepeat });
    else if (Array.isArray(value))
      // a list holds its items by their index
      for (const index of value.keys()) this.addWhole(value as unknown as Holder, index, isRepeat);
    else if (isObject(value)) {
      for (const name of Object.keys(value)) if (!passedOver.has(name)) this.addWhole(value, name, isRepeat);
    }
  }

  /** Every string below a value whose strings continue those of earlier events at the same place. */
  addGrowing(holder: Holder, key: string | number, name: string): void {
    const value = holder[key];
    if (typeof value === "string") this.add(holder, key, { name });
    else if (Array.isArray(value)) {
      for (const [place, item] of value.entries()) {
        const index = isObject(item) && typeof item.index === "number" ? item.index : place;
        this.addGrowing(value as unknown as Holder, place, `${name}/${index}`); // as above
      }
    } else if (isObject(value)) {
      for (const inner of Object.keys(value)) {
        if (!passedOver.has(inner)) this.addGrowing(value, inner, `${name}/${inner}`);
      }
    }
  }
}

/** Chunks of chats and completions. */
function readChunk({ choices }: Body, found: Collector): void {
  const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
  // plain loops: this runs for every event
  for (let place = 0; place < list.length; place++) {
    const choice = list[place];
    if (!isObject(choice)) continue;
    const name = `${typeof choice.index === "number" ? choice.index : place}/`;
    if (choice.delta !== undefined) found.addGrowing(choice, "delta", name);
    if (typeof choice.text === "string") found.add(choice, "text", { name: `${name}text` });
    if (choice.message !== undefined) found.addWhole(choice, "message");
    if (typeof choice.finish_reason === "string") found.ends.push(name);
  }
}

/** Events of the Messages API. */
function readMessageEvent(event: Holder, found: Collector): void {
  const { type, index, message } = event;
  const name = `${String(index)}/`;
  if (type === "content_block_stop") found.ends.push(name);
  else if (type === "message_stop") found.ends.push("");
  else if (type === "message_start" && isObject(message)) found.addWhole(message, "content");
  else if (type === "content_block_start" || type === "content_block_delta") {
    const part = type === "content_block_delta" ? event.delta : event.content_block;
    if (!isObject(part)) return;
    for (const key of Object.keys(part)) {
      if (passedOver.has(key)) continue;
      if (typeof part[key] === "string") found.add(part, key, { name: `${name}${key}` });
      else found.addWhole(part, key);
    }
  }
}

/** Events of the Responses API, whose last events repeat the text of those before them. */
function readResponseEvent(event: Holder, found: Collector): void {
  const type = String(event.type);
  if (isObject(event.response)) {
    found.addWhole(event.response, "output", true);
    if (type === "response.completed" || type === "response.incomplete") found.ends.push("");
    return;
  }
  const index = event.content_index ?? event.summary_index ?? "";
  const name = `${String(event.output_index)}/${String(index)}/${type.replace(/\.(?:delta|done)$/, "")}`;
  const isJson = type.includes("_call_arguments") || type.includes("function_call.arguments");
  if (type.endsWith(".delta")) {
    if (typeof event.delta === "string") found.add(event, "delta", { name, isJson });
    else found.addWhole(event, "delta");
    return;
  }
  if (type.endsWith(".done")) found.ends.push(type.endsWith("item.done") ? `${String(event.output_index)}/` : name);
  for (const key of Object.keys(event)) if (!passedOver.has(key)) found.addWhole(event, key, type.endsWith(".done"));
}

/** Events of a session that show what the client sent, or nothing of a model. */
const ownEvents = /^(?:session|transcription_session|input_audio_buffer|output_audio_buffer|rate_limits|error)\b/;

/**
 * Events of a session (https://platform.openai.com/docs/api-reference/realtime-server-events). What the client said
 * comes back only as the transcript of its audio.
 */
function readSessionEvent(event: Holder, found: Collector): void {
  const type = String(event.type);
  const { item, response, item_id: itemId } = event;
  if (ownEvents.test(type) || (isObject(item) && (item.role === "user" || item.role === "system"))) return;
  if (isObject(response)) {
    found.addWhole(response, "output", true);
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
    if (!isAudio && !passedOver.has(key)) found.addWhole(event, key, state === "done" || state === "completed");
  }
}

/** Events of transcripts, whose last event repeats the text. */
function readTranscriptEvent(event: Holder, found: Collector): void {
  const { type } = event;
  if (type === "transcript.text.delta") found.add(event, "delta", { name: "text" });
  else if (type === "transcript.text.segment") found.add(event, "text", { name: "segments" });
  else if (type === "transcript.text.done") {
    found.addWhole(event, "text", true);
    found.ends.push("");
  }
}

/** Chunks of the Gemini API. */
function readContent({ candidates }: Body, found: Collector): void {
  for (const [place, candidate] of objectsIn(candidates).entries()) {
    const name = `${typeof candidate.index === "number" ? candidate.index : place}/`;
    const parts = isObject(candidate.content) ? candidate.content.parts : undefined;
    for (const part of Array.isArray(parts) ? objectsIn(parts) : isObject(parts) ? [parts] : []) {
      for (const key of Object.keys(part)) {
        const value = part[key];
        if (passedOver.has(key)) continue;
        if (typeof value === "string")
          found.add(part, key, { name: `${name}${part.thought === true ? "thought" : key}` });
        else if (isObject(value)) readCall(part, key, { name: `${name}${key}`, value, found });
      }
    }
    if (typeof candidate.finishReason === "string") found.ends.push(name);
  }
}

/** A call in a part: whole, or with its arguments in pieces. */
function readCall(
  part: Holder,
  key: string,
  { name, value, found }: { name: string; value: Body; found: Collector },
): void {
  const pieces = value.partialArgs;
  if (!Array.isArray(pieces)) {
    found.addWhole(part, key);
    return;
  }
  for (const piece of objectsIn(pieces)) {
    if (typeof piece.stringValue === "string") {
      found.add(piece, "stringValue", { name: `${name}/${String(piece.jsonPath)}` });
    }
  }
}

/** The strings of a streamed event that belong to the text of the response. Unknown members are read too. */
export function readEventTexts(requestType: RequestType, event: Body): EventTexts {
  const found = new Collector();
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
export function dropTokens(event: Body, places: readonly TextPlace[]): void {
  for (const one of [...objectsIn(event.choices), ...objectsIn(event.candidates)]) {
    if (one.logprobs) Reflect.set(one, "logprobs", null);
    Reflect.deleteProperty(one, "logprobsResult");
  }
  for (const { holder } of places) if (holder.logprobs) holder.logprobs = [];
}
