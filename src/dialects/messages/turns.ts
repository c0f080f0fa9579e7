import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { cacheControl, type Part, toContent } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { readCallSignature } from "./signatures.ts";

type Block = Record<string, unknown>;
type Turn = MessagesRequest["messages"][number];
type Message = ChatRequest["messages"][number];

const textPart = (text: string, block: Block = {}): Part => ({ type: "text", text, ...cacheControl(block) });

function toImage(source: Block, block: Block, drop: (member: string) => void): Part[] {
  const { type, media_type: media, data, url: address } = source;
  const held = type === "base64" && typeof data === "string";
  const url = held ? `data:${String(media ?? "image/png")};base64,${data}` : address;
  if (typeof url === "string") return [{ type: "image_url", image_url: { url }, ...cacheControl(block) }];
  drop("messages.image");
  return [];
}

function toDocument(source: Block, block: Block, drop: (member: string) => void): Part[] {
  const { type, media_type: media, data, url, file_id: id, content } = source;
  const filename = typeof block.title === "string" ? block.title : "document.pdf";
  const file = (members: Block): Part[] => [{ type: "file", file: members, ...cacheControl(block) }];
  if (type === "text" && typeof data === "string") return [textPart(data, block)];
  if (type === "content") return toParts(content, drop);
  if (type === "url" && typeof url === "string") return file({ file_url: url, filename });
  if (type === "file" && typeof id === "string") return file({ file_id: id });
  if (typeof data === "string") {
    return file({ file_data: `data:${String(media ?? "application/pdf")};base64,${data}`, filename });
  }
  drop("messages.document");
  return [];
}

/** Text of a search result that the caller provides. */
function toSearchResult({ title, source, content }: Block): Part {
  const found = toParts(content).map(({ text }) => (typeof text === "string" ? text : ""));
  return textPart([title, source, ...found].filter((line) => typeof line === "string").join("\n"));
}

/** Parts of a message; blocks without a counterpart are left out. */
export function toParts(content: unknown, drop: (member: string) => void = () => {}): Part[] {
  if (typeof content === "string") return content === "" ? [] : [textPart(content)];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((block): Part[] => {
    const source = isObject(block.source) ? block.source : {};
    switch (block.type) {
      case "text":
        return typeof block.text === "string" && block.text !== "" ? [textPart(block.text, block)] : [];
      case "image":
        return toImage(source, block, drop);
      case "document":
        return toDocument(source, block, drop);
      case "search_result":
        return [toSearchResult(block)];
      case "tool_reference":
        // in a chat all tools are loaded
        return [textPart(`Found the tool ${String(block.tool_name)}`, block)];
      default:
        drop(`messages.${String(block.type)}`);
        return [];
    }
  });
}

interface Results {
  messages: Message[];
  /** Content of the results besides text, which tool messages cannot hold. */
  media: Part[];
}

/** A tool result, and the media in it. */
function toResult(block: Block, { drop }: DialectOptions): Results {
  const parts = toParts(block.content, drop);
  const text = parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
  const content = block.is_error === true ? `Error: ${text}` : text;
  const media = parts.filter(({ type }) => type !== "text");
  return {
    messages: [{ role: "tool", tool_call_id: String(block.tool_use_id), content, ...cacheControl(block) }],
    media: media.length === 0 ? [] : [textPart(`Shown by the tool call ${String(block.tool_use_id)}:`), ...media],
  };
}

const isResult = ({ type }: Block): boolean => type === "tool_result";

/** Messages of a user turn: tool results first, as separate messages. */
function toUserMessages({ content }: Turn, options: DialectOptions): Message[] {
  if (typeof content === "string") return [{ role: "user", content }];
  const results = content.filter(isResult).map((block) => toResult(block, options));
  const said = toParts(
    content.filter((block) => !isResult(block)),
    options.drop,
  );
  const parts = [...results.flatMap(({ media }) => media), ...said];
  const messages = results.flatMap((result) => result.messages);
  return parts.length === 0 ? messages : [...messages, { role: "user", content: toContent(parts) }];
}

function toCall(block: Block, signature: string | undefined): Block {
  return {
    id: block.id,
    type: "function",
    function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
    ...cacheControl(block),
    ...(signature !== undefined && { thought_signature: signature }),
  };
}

const thoughts = new Set(["thinking", "redacted_thinking"]);

/** Tool calls, each with the signature that the block before it carries. */
function toCalls(blocks: readonly Block[]): Block[] {
  let signature: string | undefined;
  return blocks.flatMap((block) => {
    if (block.type !== "tool_use") {
      signature = readCallSignature(block) ?? signature;
      return [];
    }
    const call = toCall(block, signature);
    signature = undefined;
    return [call];
  });
}

/** Reasoning as a chat carries it: signed blocks as blocks, others as text. */
function toReasoning(blocks: readonly Block[]): Block {
  const own = blocks.filter(({ type }) => thoughts.has(String(type))).filter((block) => !readCallSignature(block));
  const isSigned = ({ signature, data }: Block) => Boolean(signature) || Boolean(data);
  if (own.some(isSigned)) {
    const ordered = blocks.flatMap((block): Block[] => {
      if (block.type === "tool_use") return [callPlace(block.id)];
      if (!thoughts.has(String(block.type))) return toParts([block]);
      return isSigned(block) && !readCallSignature(block) ? [block] : [];
    });
    return { content_blocks: trimPlaces(ordered) };
  }
  const text = own.map(({ thinking }) => (typeof thinking === "string" ? thinking : "")).join("");
  return text === "" ? {} : { reasoning_content: text };
}

function toAssistantMessages({ content }: Turn, { drop }: DialectOptions): Message[] {
  if (typeof content === "string") return content === "" ? [] : [{ role: "assistant", content }];
  const said = toParts(
    content.filter(({ type }) => !thoughts.has(type) && type !== "tool_use"),
    drop,
  );
  const calls = toCalls(content);
  const kept = toReasoning(content);
  if (said.length === 0 && calls.length === 0 && Object.keys(kept).length === 0) return [];
  return [
    {
      role: "assistant",
      content: said.length === 0 ? null : toContent(said),
      ...kept,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ];
}

/** Messages of a chat from the turns of a conversation. */
export function toMessages(turns: readonly Turn[], options: DialectOptions): Message[] {
  return turns.flatMap((turn): Message[] => {
    if (turn.role === "assistant") return toAssistantMessages(turn, options);
    if (turn.role === "user") return toUserMessages(turn, options);
    const parts = toParts(turn.content, options.drop);
    return parts.length === 0 ? [] : [{ role: "system", content: toContent(parts) }];
  });
}
