import * as v from "valibot";
import { isObject } from "../../lib/json.ts";

const Part = v.looseObject({
  type: v.string(),
  text: v.nullish(v.string()),
  summary: v.nullish(v.array(v.looseObject({ text: v.nullish(v.string()), signature: v.nullish(v.string()) }))),
});

/** What a message says, its reasoning apart. */
interface SplitContent {
  content: unknown;
  reasoning: string;
  /** Reasoning with the signatures that are needed to replay it. */
  blocks: object[];
}

/** Takes a list of `reasoning` and `text` parts apart; other contents stay as they are. */
function splitContent(content: unknown): SplitContent {
  if (!Array.isArray(content)) return { content, reasoning: "", blocks: [] };
  const parts = v.parse(v.array(Part), content);
  const summaries = parts.flatMap(({ summary }) => summary ?? []);
  const texts = parts.filter(({ type }) => type === "text").map(({ text }) => text ?? "");
  return {
    content: texts.length === 0 ? null : texts.join(""),
    reasoning: summaries.map(({ text }) => text ?? "").join(""),
    blocks: summaries.map(({ text, signature }) => ({
      type: "thinking",
      thinking: text ?? "",
      ...(signature && { signature }),
    })),
  };
}

/** A message, or what a chunk adds to one, in the gateway's shape. */
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

/** A message of the caller's: reasoning it replays goes into its content. */
export function toContent<Message extends object>(message: Message): object {
  const { content_blocks: blocks, ...rest } = message as Message & { content_blocks?: unknown; content?: unknown }; // any message may have them
  if (!Array.isArray(blocks)) return blocks === undefined ? message : rest;
  const reasoning = blocks.flatMap(toReasoning);
  if (reasoning.length === 0) return rest;
  const { content } = rest;
  const said = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
  return { ...rest, content: [...reasoning, ...(Array.isArray(content) ? content : said)] };
}
