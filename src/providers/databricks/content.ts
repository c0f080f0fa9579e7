import * as v from "valibot";
import { isObject } from "../../lib/json.ts";

const Part = v.looseObject({
  type: v.string(),
  text: v.nullish(v.string()),
  summary: v.nullish(v.array(v.looseObject({ text: v.nullish(v.string()), signature: v.nullish(v.string()) }))),
});

/** The content of a message, without its reasoning. */
interface SplitContent {
  content: unknown;
  reasoning: string;
  /** Reasoning with the signatures that are needed to send it back. */
  blocks: object[];
}

/** Separates `reasoning` and `text` parts; other content stays unchanged. */
function splitContent(content: unknown): SplitContent {
  if (!Array.isArray(content)) return { content, reasoning: "", blocks: [] };
  const parts = v.parse(v.array(Part), content);
  const summaries = parts.flatMap(({ summary }) => summary ?? []);
  const strings = parts.filter(({ type }) => type === "text").map(({ text }) => text ?? "");
  return {
    content: strings.length === 0 ? null : strings.join(""),
    reasoning: summaries.map(({ text }) => text ?? "").join(""),
    blocks: summaries.map(({ text, signature }) => ({
      type: "thinking",
      thinking: text ?? "",
      ...(signature && { signature }),
    })),
  };
}

/** A message or stream delta in the gateway's shape. */
export function fromContent(message: Record<string, unknown>, strict: boolean): Record<string, unknown> {
  if (!Array.isArray(message.content)) return message;
  const { content, reasoning, blocks } = splitContent(message.content);
  if (strict || blocks.length === 0) return { ...message, content };
  return { ...message, content, reasoning_content: reasoning, content_blocks: blocks };
}

function toReasoning(block: unknown): object[] {
  if (!isObject(block) || block.type !== "thinking" || typeof block.thinking !== "string") return [];
  const { thinking: text, signature } = block;
  return [{ type: "reasoning", summary: [{ type: "summary_text", text, ...(signature ? { signature } : {}) }] }];
}

/** A message from the caller; its reasoning moves into the content list. */
export function toContent<Message extends object>(message: Message): object {
  const { content_blocks: blocks, ...rest } = message as Message & { content_blocks?: unknown; content?: unknown }; // any message may have these fields
  if (!Array.isArray(blocks)) return blocks === undefined ? message : rest;
  const reasoning = blocks.flatMap(toReasoning);
  if (reasoning.length === 0) return rest;
  const { content } = rest;
  const said = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
  return { ...rest, content: [...reasoning, ...(Array.isArray(content) ? content : said)] };
}
