import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { MessagesRequest } from "../../schemas/messages.ts";
import { cacheControl, dropUnmapped, toContent, toEffort, toStop } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { toMessages, toParts } from "./turns.ts";

type Members = Record<string, unknown>;

/** Fields that are mapped. */
const mapped = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "temperature",
  "top_p",
  "stop_sequences",
  "stream",
  "metadata",
  "thinking",
  "tools",
  "tool_choice",
  "output_config",
]);

function toSystem({ system }: MessagesRequest): ChatRequest["messages"] {
  const parts = toParts(system);
  return parts.length === 0 ? [] : [{ role: "system", content: toContent(parts) }];
}

/** Whether a tool is the caller's: other tools run at their provider. */
const isOwn = ({ type }: NonNullable<MessagesRequest["tools"]>[number]): boolean =>
  type === undefined || type === null || type === "custom";

function toTools({ tools, tool_choice: choice }: MessagesRequest, { drop }: DialectOptions): Members {
  if (!tools || tools.length === 0) return {};
  const own = tools.filter(isOwn);
  for (const tool of tools) if (!isOwn(tool)) drop(`tools.${tool.type}`);
  if (choice?.type === "tool" && !own.some(({ name }) => name === choice.name)) {
    throw new InvalidRequestError("Cannot force this tool: the provider of this model does not have it", {
      param: "tool_choice",
      code: "unsupported_parameter",
    });
  }
  if (own.length === 0) return {};
  const functions = own.map((tool) => {
    const { name, description, input_schema: parameters, strict } = tool;
    const described = typeof description === "string" ? { description } : {};
    const asked = typeof strict === "boolean" ? { strict } : {};
    return {
      type: "function",
      function: { name, ...described, parameters: parameters ?? {}, ...asked },
      ...cacheControl(tool),
    };
  });
  return { tools: functions, ...toChoice(choice) };
}

function toChoice(choice: MessagesRequest["tool_choice"]): Members {
  if (!choice) return {};
  const { type, name, disable_parallel_tool_use: isSingle } = choice;
  const words = { auto: "auto", any: "required", none: "none", tool: { type: "function", function: { name } } };
  return { tool_choice: words[type], ...(isSingle === true && { parallel_tool_calls: false }) };
}

function readEffort({ thinking, output_config: output }: MessagesRequest): string | undefined {
  if (typeof output?.effort === "string") return output.effort;
  if (thinking?.type !== "enabled") return undefined;
  return toEffort(thinking.budget_tokens ?? 0);
}

function toThinking(request: MessagesRequest): Members {
  const { thinking } = request;
  // models that think by default must hear that they should not
  if (thinking?.type === "disabled") return { thinking: { type: "disabled" } };
  const effort = readEffort(request);
  return {
    ...(thinking && { thinking }),
    ...(effort !== undefined && { reasoning_effort: effort }),
  };
}

function toFormat({ output_config: output }: MessagesRequest, { drop }: DialectOptions): Members {
  const format = output?.format;
  if (!isObject(format)) return {};
  if (format.type === "json_schema" && isObject(format.schema)) {
    return { response_format: { type: "json_schema", json_schema: { name: "output", schema: format.schema } } };
  }
  drop("output_config.format");
  return {};
}

/** Longest user of a chat; clients of the Messages API put whole records there. */
const maxUserLength = 64;

function toUser(metadata: MessagesRequest["metadata"], { drop }: DialectOptions): Members {
  const id = metadata?.user_id;
  if (typeof id !== "string" || id === "") return {};
  if (id.length <= maxUserLength) return { user: id };
  drop("metadata.user_id");
  return {};
}

/**
 * The equivalent chat of a Messages request.
 *
 * @throws {InvalidRequestError} If a built-in tool of another provider is forced.
 */
export function toChat(request: MessagesRequest, options: DialectOptions): ChatRequest {
  dropUnmapped(request, mapped, options.drop);
  const { model, max_tokens, temperature, top_p, stream, metadata, stop_sequences: stops } = request;
  return {
    model,
    messages: [...toSystem(request), ...toMessages(request.messages, options)],
    max_completion_tokens: max_tokens,
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { top_p }),
    ...(stream === true && { stream: true }),
    ...toUser(metadata, options),
    ...toStop(stops ?? [], () => options.drop("stop_sequences")),
    ...toTools(request, options),
    ...toThinking(request),
    ...toFormat(request, options),
  };
}
