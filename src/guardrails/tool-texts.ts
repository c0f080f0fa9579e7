import { isObject } from "../lib/json.ts";
import type { Body, Phase, Replace } from "./types.ts";
import { mapItems, mapMembers, onText, walkValues, withMember } from "./walk-values.ts";

/** Fields of a call that hold what the caller says to the tool. */
const requestMembers = ["arguments", "inputResponses"] as const;

/** Fields of content that hold no text: kinds, encoded files, and what only programs read. */
const noText: ReadonlySet<string> = new Set(["type", "mimeType", "blob", "_meta", "annotations", "icons"]);
/** Kinds of content whose field `data` is an encoded file. */
const files: ReadonlySet<unknown> = new Set(["image", "audio"]);

/** The strings of the arguments of a tool call. */
export function walkToolRequest(body: Body, replace: Replace): Body {
  let changed = body;
  for (const name of requestMembers) changed = withMember(changed, name, (value) => walkValues(value, replace));
  return changed;
}

/** An item of content, of a kind that the protocol has or of another (Model Context Protocol, content kinds). */
function walkContent(item: unknown, replace: Replace): unknown {
  if (typeof item === "string") return replace(item);
  if (Array.isArray(item)) return mapItems(item, (one) => walkContent(one, replace));
  if (!isObject(item)) return item;
  return mapMembers(item, (value, name) => {
    const isFile = name === "data" && files.has(item.type);
    return noText.has(name) || isFile ? value : walkContent(value, replace);
  });
}

/** A message of a prompt. */
const onMessage =
  (replace: Replace) =>
  (message: unknown): unknown =>
    isObject(message) ? withMember(message, "content", (content) => walkContent(content, replace)) : message;

/** What a server asks of the client: all but the method. */
function walkInputRequests(requests: unknown, replace: Replace): unknown {
  if (!isObject(requests)) return requests;
  return mapMembers(requests, (one) =>
    isObject(one) ? withMember(one, "params", (params) => walkValues(params, replace)) : one,
  );
}

/** Fields of messages beside a result that only programs read. */
const messageMarks: ReadonlySet<string> = new Set(["_meta", "progressToken", "level", "requestId"]);

/** Parameters of a message that comes before the result: progress, a log entry, or a question to the client. */
function walkNotification(params: unknown, replace: Replace): unknown {
  if (!isObject(params)) return params;
  return mapMembers(params, (value, name) => (messageMarks.has(name) ? value : walkContent(value, replace)));
}

/** The strings of a result beside its structured content, or of a message that comes before it. */
function walkResult(body: Body, replace: Replace): Body {
  let changed = withMember(body, "content", (content) => walkContent(content, replace));
  changed = withMember(changed, "contents", (contents) => walkContent(contents, replace));
  changed = withMember(changed, "messages", (messages) => mapItems(messages, onMessage(replace)));
  changed = withMember(changed, "description", onText(replace));
  changed = withMember(changed, "inputRequests", (requests) => walkInputRequests(requests, replace));
  changed = withMember(changed, "notification", (params) => walkNotification(params, replace));
  return withMember(changed, "error", (error) => walkValues(error, replace));
}

/** The strings of the result of a tool call, or of its error. */
export function walkToolAnswer(body: Body, replace: Replace): Body {
  const changed = walkResult(body, replace);
  return withMember(changed, "structuredContent", (value) => walkValues(value, replace));
}

const toJson = (value: unknown): string[] => (value === undefined ? [] : [JSON.stringify(value)]);

/** The text of a tool call: of a request its arguments as JSON, of a result its text and structured content. */
export function toToolText(phase: Phase, body: Body): string {
  if (phase === "beforeRequestHook") {
    const asked = requestMembers.flatMap((name) => toJson(body[name]));
    return [...asked, ...(typeof body.uri === "string" ? [body.uri] : [])].join("\n");
  }
  const texts: string[] = [];
  walkResult(body, (text) => {
    texts.push(text);
    return text;
  });
  return [...texts, ...toJson(body.structuredContent)].join("\n");
}

/** Names of members, and numbers, at any depth. */
function collectNames(value: unknown, found: string[]): void {
  if (typeof value === "number") found.push(String(value));
  else if (Array.isArray(value)) for (const one of value) collectNames(one, found);
  else if (isObject(value)) {
    for (const [name, one] of Object.entries(value)) {
      found.push(name);
      collectNames(one, found);
    }
  }
}

/** What a call holds beside its strings, none of which can be changed: names of members, and numbers. */
export function readToolRest(phase: Phase, body: Body): string[] {
  const found: string[] = [];
  const members = phase === "beforeRequestHook" ? requestMembers : (["structuredContent"] as const);
  for (const name of members) collectNames(body[name], found);
  if (phase === "beforeRequestHook" && typeof body.uri === "string") found.push(body.uri);
  // data of log entries may be anything
  if (isObject(body.notification)) collectNames(body.notification.data, found);
  return found;
}
