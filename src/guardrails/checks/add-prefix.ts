import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { type Body, beforeOnly, type Check, CheckError, type CheckInput } from "../types.ts";

const roles = ["user", "system", "assistant"] as const;

const AddPrefix = v.object({
  prefix: v.nullish(v.string(), "Answer what follows with care, and say so where you are not sure: "),
  applyToRole: v.nullish(v.picklist(roles), "user"),
  addToExisting: v.nullish(v.boolean(), true),
  onlyIfEmpty: v.nullish(v.boolean(), false),
});
type AddPrefix = v.InferOutput<typeof AddPrefix>;

/** A string or a list of parts, as in messages. */
type Content = unknown;

/** Parts that some APIs require at the beginning of a message. */
const leading = new Set(["tool_result", "thinking", "redacted_thinking"]);

function typeOf(part: unknown): unknown {
  return isObject(part) ? part.type : undefined;
}

function holdsToolResults(message: Body): boolean {
  return Array.isArray(message.content) && message.content.some((part) => typeOf(part) === "tool_result");
}

function isText(part: unknown): part is Body & { text: string } {
  return isObject(part) && part.type === "text" && typeof part.text === "string";
}

/** Whether content is not empty. */
function isFilled(content: Content): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return Array.isArray(content) && content.some((part) => !isText(part) || part.text.trim() !== "");
}

/** Content with a prefix: before its first text, or as a separate part. */
function prefixContent(content: Content, prefix: string): Content {
  if (!Array.isArray(content)) return typeof content === "string" ? prefix + content : prefix;
  const index = content.findIndex(isText);
  const part: unknown = content[index];
  if (isText(part)) return content.with(index, { ...part, text: prefix + part.text });
  return insertPart(content, prefix);
}

/** A list of parts with one more, inserted as early as allowed. */
function insertPart(content: readonly unknown[], prefix: string): unknown[] {
  const first = content.findIndex((part) => !leading.has(String(typeOf(part))));
  return content.toSpliced(first < 0 ? content.length : first, 0, { type: "text", text: prefix });
}

/** Whether a message has a role; `developer` counts as `system`, its older name. */
function isOf(message: unknown, role: AddPrefix["applyToRole"]): message is Body {
  if (!isObject(message)) return false;
  return message.role === role || (role === "system" && message.role === "developer");
}

/** The messages with the prefix; undefined where nothing changes. */
function prefixMessages(messages: readonly unknown[], parameters: AddPrefix): unknown[] | undefined {
  const { prefix, applyToRole: role, addToExisting, onlyIfEmpty } = parameters;
  const isFilledOne = (message: unknown) => isOf(message, role) && isFilled(message.content);
  if (onlyIfEmpty && messages.some(isFilledOne)) return undefined;
  const own = { role, content: prefix };
  const index = messages.findLastIndex(
    // a message of tool results alone is not written by the user
    (message) => isOf(message, role) && (!holdsToolResults(message) || hasText(message)),
  );
  const message = messages[index];
  if (!isOf(message, role)) return role === "system" ? [own, ...messages] : [...messages, own];
  if (addToExisting) return messages.with(index, { ...message, content: prefixContent(message.content, prefix) });
  // tool results must directly follow their calls
  const { content } = message;
  if (Array.isArray(content) && holdsToolResults(message)) {
    return messages.with(index, { ...message, content: insertPart(content, prefix) });
  }
  return messages.toSpliced(index, 0, own);
}

function hasText({ content }: Body): boolean {
  return Array.isArray(content) && content.some(isText);
}

/** The instructions of APIs that carry them outside the messages. */
function prefixSystem(system: unknown, { prefix, addToExisting, onlyIfEmpty }: AddPrefix): unknown {
  if (onlyIfEmpty && isFilled(system)) return undefined;
  if (addToExisting || !isFilled(system)) return prefixContent(system, prefix);
  const blocks = Array.isArray(system) ? system : [{ type: "text", text: system }];
  return [{ type: "text", text: prefix }, ...blocks];
}

/** Most characters the prefix adds to a request, over all prompts. */
const maxAdded = 4 * 1024 * 1024;

/** The prompts of a completion; token lists stay unchanged, as their tokenizer is unknown. */
function prefixPrompt(prompt: unknown, { prefix, onlyIfEmpty }: AddPrefix): unknown {
  const prompts: readonly unknown[] = Array.isArray(prompt) ? prompt : [prompt ?? ""];
  if (!prompts.every((one) => typeof one === "string")) return undefined;
  if (onlyIfEmpty && prompts.some(isFilled)) return undefined;
  if (prompts.length * (prefix?.length ?? 0) > maxAdded)
    throw new CheckError("Cannot add the prefix: there are too many prompts");
  const changed = prompts.map((one) => prefix + one);
  return Array.isArray(prompt) ? changed : changed[0];
}

/** The field of a request that changes, and its new value; undefined where nothing changes. */
function change({ requestType, request }: CheckInput, parameters: AddPrefix): readonly [string, unknown] | undefined {
  const { messages, system, prompt } = request.body;
  if (requestType === "complete") return ["prompt", prefixPrompt(prompt, parameters)];
  if (requestType === "messages" && parameters.applyToRole === "system") {
    return ["system", prefixSystem(system, parameters)];
  }
  if (requestType !== "chatComplete" && requestType !== "messages") return undefined;
  return Array.isArray(messages) ? ["messages", prefixMessages(messages, parameters)] : undefined;
}

/** Inserts text before the messages of a role. */
export const addPrefix: Check<AddPrefix> = {
  id: "default.addPrefix",
  phases: beforeOnly,
  parameters: AddPrefix,
  changes: () => true,
  run(input, parameters) {
    const { applyToRole, addToExisting, onlyIfEmpty } = parameters;
    const [name, value] = change(input, parameters) ?? [];
    const isChange = name !== undefined && value !== undefined;
    const explanation = isChange ? "The prefix was added" : "There was no message to add the prefix to";
    const data = { explanation, applyToRole, addToExisting, onlyIfEmpty };
    return isChange ? { pass: true, data, body: { ...input.request.body, [name]: value } } : { pass: true, data };
  },
};
