import { isObject } from "../../lib/json.ts";
import { mapItems, mapMembers, type Replace, visitJson } from "../../lib/json-strings.ts";
import type { Body, Phase } from "../types.ts";
import { everyString, items, type MemberWalks, members, text } from "./walks.ts";

/** What the caller says to the tool. */
const requestWalks: MemberWalks = { arguments: everyString, inputResponses: everyString };

/** The strings of the arguments of a tool call. */
export const toolRequest = members(requestWalks);

/** Fields of content that hold no text: kinds, encoded files, and what only programs read. */
const noText: ReadonlySet<string> = new Set(["type", "mimeType", "blob", "_meta", "annotations", "icons"]);
/** Kinds of content whose field `data` is an encoded file. */
const files: ReadonlySet<unknown> = new Set(["image", "audio"]);

/** Content of a kind that the protocol has or of another (Model Context Protocol, content kinds). */
function toolContent(value: unknown, replace: Replace): unknown {
  if (typeof value === "string") return replace(value);
  if (!isObject(value)) return mapItems(value, (item) => toolContent(item, replace));
  return mapMembers(value, (member, name) => {
    const isFile = name === "data" && files.has(value.type);
    return noText.has(name) || isFile ? member : toolContent(member, replace);
  });
}

const question = members({ params: everyString });

/** What a server asks of the client: all but the method. */
function questions(value: unknown, replace: Replace): unknown {
  return isObject(value) ? mapMembers(value, (one) => question(one, replace)) : value;
}

/** Fields of messages beside a result that only programs read. */
const messageMarks: ReadonlySet<string> = new Set(["_meta", "progressToken", "level", "requestId"]);

/** Parameters of a message that comes before the result: progress, a log entry, or a question to the client. */
function notification(value: unknown, replace: Replace): unknown {
  if (!isObject(value)) return value;
  return mapMembers(value, (member, name) => (messageMarks.has(name) ? member : toolContent(member, replace)));
}

const resultWalks: MemberWalks = {
  content: toolContent,
  contents: toolContent,
  messages: items(members({ content: toolContent })),
  description: text,
  inputRequests: questions,
  notification,
  error: everyString,
};

/** The strings of a result beside its structured content, or of a message that comes before it. */
const plainResult = members(resultWalks);

/** The strings of the result of a tool call, or of its error. */
export const toolAnswer = members({ ...resultWalks, structuredContent: everyString });

const toJson = (value: unknown): string[] => (value === undefined ? [] : [JSON.stringify(value)]);

/** The text of a tool call: of a request its arguments as JSON, of a result its text and structured content. */
export function toToolText(phase: Phase, body: Body): string {
  if (phase === "beforeRequestHook") {
    const asked = Object.keys(requestWalks).flatMap((name) => toJson(body[name]));
    return [...asked, ...(typeof body.uri === "string" ? [body.uri] : [])].join("\n");
  }
  const strings: string[] = [];
  plainResult(body, (string) => {
    strings.push(string);
    return string;
  });
  return [...strings, ...toJson(body.structuredContent)].join("\n");
}

/** What a call holds beside its strings, none of which can be changed: names of members, and numbers. */
export function readToolRest(phase: Phase, body: Body): string[] {
  const found: string[] = [];
  const visitor = {
    name: (name: string) => void found.push(name),
    number: (number: number) => void found.push(String(number)),
  };
  const names = phase === "beforeRequestHook" ? Object.keys(requestWalks) : ["structuredContent"];
  for (const name of names) visitJson(body[name], visitor);
  if (phase === "beforeRequestHook" && typeof body.uri === "string") found.push(body.uri);
  // data of log entries may be anything
  if (isObject(body.notification)) visitJson(body.notification.data, visitor);
  return found;
}
