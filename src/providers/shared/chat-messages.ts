import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isTextMessage } from "./messages.ts";

/** A content part that is not text, as it was sent. */
export interface ForeignPart {
  type: string;
  value: Record<string, unknown>;
}

/** A tool call. */
interface ToolCall {
  id: string;
  name: string;
  /** JSON text. */
  arguments: string;
}

/** A normalised message: content is a list of parts, and old roles have their new names. */
export interface PlainMessage {
  role: "system" | "user" | "assistant" | "tool";
  parts: (string | ForeignPart)[];
  calls: ToolCall[];
  /** Id of the call that a tool message answers. */
  callId: string;
}

/** A function the model may call. */
export interface ToolFunction {
  name: string;
  description: string | undefined;
  parameters: Record<string, unknown>;
}

/** The tool choice. */
type ToolChoice = { kind: "auto" | "none" | "required" } | { kind: "function"; name: string };

const Call = v.looseObject({
  id: v.nullish(v.string(), ""),
  function: v.looseObject({ name: v.string(), arguments: v.nullish(v.string(), "{}") }),
});
const Message = v.looseObject({
  role: v.string(),
  content: v.nullish(v.union([v.string(), v.array(v.looseObject({ type: v.string() }))])),
  tool_calls: v.nullish(v.array(Call), []),
  tool_call_id: v.nullish(v.string()),
  name: v.nullish(v.string()),
});
const Tool = v.looseObject({
  type: v.literal("function"),
  function: v.looseObject({
    name: v.string(),
    description: v.nullish(v.string()),
    parameters: v.nullish(v.looseObject({})),
  }),
});

/** @throws {InvalidRequestError} Always: the provider does not accept this field. */
export function refuseValue(param: string, problem: string): never {
  throw new InvalidRequestError(`Invalid ${param}: ${problem}`, { param, code: "invalid_value" });
}

const roles: Readonly<Record<string, PlainMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

function partsOf(content: v.InferOutput<typeof Message>["content"]): (string | ForeignPart)[] {
  if (typeof content === "string") return content === "" ? [] : [content];
  return (content ?? []).map((part) =>
    part.type === "text" && typeof part.text === "string" ? part.text : { type: part.type, value: part },
  );
}

/** One message as its schema makes it. @throws {InvalidRequestError} If it cannot be read. */
function readMessage(message: ChatRequest["messages"][number], index: number): v.InferOutput<typeof Message> {
  if (isTextMessage(message)) return { ...message, tool_calls: [] };
  const result = v.safeParse(Message, message, plainIssues);
  return result.success ? result.output : refuseValue(`messages[${index}]`, result.issues[0].message);
}

/**
 * Messages in one normalised form, for providers with their own formats.
 *
 * @throws {InvalidRequestError} If a message cannot be read.
 */
export function readMessages({ messages }: ChatRequest): PlainMessage[] {
  return messages.map((one, index) => {
    const { role, content, tool_calls: calls, tool_call_id: id, name } = readMessage(one, index);
    const known = Object.hasOwn(roles, role) ? roles[role] : undefined;
    return {
      role: known ?? refuseValue(`messages[${index}].role`, `${role} is not a known role`),
      parts: partsOf(content),
      calls: calls.map((call) => ({ id: call.id, name: call.function.name, arguments: call.function.arguments })),
      callId: id ?? name ?? "",
    };
  });
}

/** The text of the parts, joined; other parts are ignored. */
export function textOf(parts: PlainMessage["parts"]): string {
  return parts.filter((part) => typeof part === "string").join("");
}

/** Arguments of a call as an object. */
export function argumentsOf({ arguments: text }: ToolCall): Record<string, unknown> {
  const value = parseJson(text === "" ? "{}" : text);
  return isObject(value) ? value : {};
}

/**
 * The functions of a request.
 *
 * @throws {InvalidRequestError} If there is another kind of tool: leaving it out would change the response.
 */
export function readTools({ tools }: ChatRequest): ToolFunction[] {
  return (tools ?? []).map((one, index) => {
    const result = v.safeParse(Tool, one);
    if (!result.success) return refuseValue(`tools[${index}]`, `this provider accepts only functions, not ${one.type}`);
    const { name, description, parameters } = result.output.function;
    return {
      name,
      description: description ?? undefined,
      parameters: parameters ?? { type: "object", properties: {} },
    };
  });
}

/**
 * The tool choice.
 *
 * @throws {InvalidRequestError} If the value is unknown.
 */
export function readToolChoice({ tool_choice: choice }: ChatRequest): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "auto" || choice === "none" || choice === "required") return { kind: choice };
  const named = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined;
  return typeof named === "string"
    ? { kind: "function", name: named }
    : refuseValue("tool_choice", "this provider accepts auto, none, required or a function");
}

/** The requested response format: undefined for plain text, a null schema for any JSON. */
export function readJsonFormat({
  response_format: format,
}: ChatRequest): { name?: string; schema: object | null } | undefined {
  if (!isObject(format) || format.type === "text") return undefined;
  if (format.type === "json_object") return { schema: null };
  const wanted = isObject(format.json_schema) ? format.json_schema : {};
  if (!isObject(wanted.schema)) return refuseValue("response_format", "it contains no schema");
  return { schema: wanted.schema, ...(typeof wanted.name === "string" && { name: wanted.name }) };
}

/** @throws {InvalidRequestError} If the request asks for more than one choice. */
export function requireOneChoice({ n }: ChatRequest): void {
  if (typeof n === "number" && n > 1) refuseValue("n", "this provider returns one choice");
}
