import { isObject } from "../../src/lib/json.ts";
import {
  argumentsText,
  type EmulatedRequest,
  type Emulator,
  eventStream,
  jsonResponse,
  type Members,
  type Memory,
  type ModelTurn,
  objectsOf,
  type Rule,
  readRequest,
  type Said,
  toPieces,
} from "./emulator.ts";
import { refuseChat } from "./openai-chat.ts";
import { effortRules, findToolFault, isReasoning, reasons } from "./openai-models.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  create: "https://platform.openai.com/docs/api-reference/responses/create",
  functions: "https://platform.openai.com/docs/guides/function-calling",
  reasoning: "https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context",
} as const;

const itemsOf = ({ body }: EmulatedRequest): Members[] => objectsOf(body.input);
const callTypes: readonly unknown[] = ["function_call", "custom_tool_call"];
const outputTypes: readonly unknown[] = ["function_call_output", "custom_tool_call_output"];

/** Function tools, those in namespaces and in `additional_tools` items too. */
function toolsOf(request: EmulatedRequest): Members[] {
  const added = itemsOf(request).flatMap((item) => (item.type === "additional_tools" ? objectsOf(item.tools) : []));
  return [...objectsOf(request.body.tools), ...added].flatMap((tool) =>
    tool.type === "namespace" ? objectsOf(tool.tools) : [tool],
  );
}

/** `client_metadata` is not documented; Codex sends it to the API (https://github.com/openai/codex/pull/27122). */
const topLevel = new Set(
  (
    "background client_metadata conversation context_management include input instructions max_output_tokens max_tool_calls metadata model " +
    "parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier " +
    "service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
  ).split(" "),
);

/** A rule about reasoning that another host sealed. */
export const sealRule = (source: string, message: string): Rule => ({
  id: "foreign-seals",
  source,
  find: (request, memory) => {
    const sealed = itemsOf(request).filter(({ type, encrypted_content: seal }) => type === "reasoning" && seal);
    return sealed.some(({ encrypted_content: seal }) => !memory.find(seal)) ? message : undefined;
  },
});

/** A rule about kinds of tools, which stand in the request or in its input. */
export const toolTypesRule = (
  source: string,
  refused: readonly string[],
  toMessage: (type: string) => string,
): Rule => ({
  id: "tool-types",
  source,
  find: (request) => {
    const kinds = [...objectsOf(request.body.tools), ...itemsOf(request)].map(({ type }) => String(type));
    const calls = refused.includes("custom") ? ["custom_tool_call"] : [];
    const type = kinds.find((one) => refused.includes(one) || one === "additional_tools" || calls.includes(one));
    const isGrouped = itemsOf(request).some(({ namespace }) => namespace !== undefined);
    return type !== undefined || isGrouped ? toMessage(type ?? "namespace") : undefined;
  },
});

/** A rule about calls and their outputs. */
export const outputRule = (source: string): Rule => ({
  id: "call-outputs",
  source,
  find: (request) => {
    const open = new Set<unknown>();
    const made = new Set<unknown>();
    for (const { type, call_id: id } of itemsOf(request)) {
      if (callTypes.includes(type)) {
        open.add(id);
        made.add(id);
      }
      if (!outputTypes.includes(type)) continue;
      if (!made.has(id)) return `No tool call found for function call output with call_id ${id}.`;
      open.delete(id);
    }
    return open.size === 0 ? undefined : `No tool output found for function call ${[...open][0]}.`;
  },
});

/** Beginnings of item ids. */
const idPrefixes: Readonly<Record<string, string>> = { message: "msg", function_call: "fc", reasoning: "rs" };

const partTypes: Readonly<Record<string, readonly string[]>> = {
  assistant: ["output_text", "refusal"],
  user: ["input_text", "input_image", "input_file", "input_audio"],
  system: ["input_text", "input_image", "input_file"],
  developer: ["input_text", "input_image", "input_file"],
};

const rules: readonly Rule[] = [
  {
    id: "unknown-member",
    source: sources.create,
    find: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !topLevel.has(name));
      return unknown && `Unknown parameter: '${unknown}'.`;
    },
  },
  {
    id: "input",
    source: sources.create,
    find: ({ body }) =>
      body.input === undefined || (Array.isArray(body.input) && body.input.length === 0)
        ? "Missing required parameter: 'input'."
        : undefined,
  },
  outputRule(sources.functions),
  {
    id: "item-ids",
    source: sources.create,
    find: (request) => {
      const wrong = itemsOf(request).find(({ type, id }) => {
        const prefix = idPrefixes[String(type)];
        return typeof id === "string" && prefix !== undefined && !id.startsWith(prefix);
      });
      return (
        wrong &&
        `Invalid 'input.id': '${wrong.id}'. Expected an ID that begins with '${idPrefixes[String(wrong.type)]}'.`
      );
    },
  },
  {
    id: "call-ids",
    source: sources.create,
    find: (request) => {
      const wrong = itemsOf(request).find(({ call_id: id }) => typeof id === "string" && id.length > 64);
      return wrong && "Invalid 'input.call_id': string too long. Expected a string with maximum length 64.";
    },
  },
  {
    id: "parts",
    source: sources.create,
    find: (request) => {
      for (const { type, role, content } of itemsOf(request)) {
        if ((type !== "message" && type !== undefined) || !Array.isArray(content)) continue;
        const allowed = partTypes[String(role)] ?? [];
        const wrong = objectsOf(content).find((part) => !allowed.includes(String(part.type)));
        if (wrong) return `Invalid value: '${wrong.type}'. Supported values are: ${allowed.join(", ")}.`;
        if (content.length === 0) return "Invalid 'input.content': empty array.";
      }
      return undefined;
    },
  },
  {
    id: "reasoning-items",
    source: sources.reasoning,
    find: (request, memory) => {
      const items = itemsOf(request);
      for (const [index, item] of items.entries()) {
        if (item.type !== "reasoning") continue;
        const handed = memory.find(item.encrypted_content);
        if (!handed)
          return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
        const place = handed.blocks.findIndex((block) => block.encrypted_content === item.encrypted_content);
        const following = handed.blocks[place + 1];
        const next = items[index + 1];
        const isRight =
          following === undefined || (next?.type === following.type && next?.call_id === following.call_id);
        if (!isRight) return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
      }
      return undefined;
    },
  },
  {
    id: "tools",
    source: sources.functions,
    find: (request) =>
      findToolFault(
        toolsOf(request).flatMap(({ type, name, parameters }) => (type === "function" ? [{ name, parameters }] : [])),
      ),
  },
  {
    id: "sampling",
    source: sources.create,
    models: reasons,
    find: ({ body, model }) => {
      const isOff = !isReasoning(model, isObject(body.reasoning) ? body.reasoning.effort : undefined);
      const name = ["temperature", "top_p"].find((one) => body[one] !== undefined && body[one] !== 1);
      return name !== undefined && !isOff
        ? `Unsupported parameter: '${name}' is not supported with this model.`
        : undefined;
    },
  },
  {
    id: "max-output-tokens",
    source: sources.create,
    find: ({ body }) =>
      body.max_output_tokens !== undefined && Number(body.max_output_tokens) < 16
        ? "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
        : undefined,
  },
  {
    id: "reasoning-without-model",
    source: sources.create,
    models: /^(?:gpt-4|gpt-3|chatgpt-4o)/,
    find: ({ body }) =>
      isObject(body.reasoning) && body.reasoning.effort !== undefined
        ? "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        : undefined,
  },
  ...effortRules("reasoning.effort", ({ body }) => (isObject(body.reasoning) ? body.reasoning.effort : undefined)),
];

/** The tool of a name, and its namespace. */
function findTool(request: EmulatedRequest, name: string): { isCustom: boolean; namespace: Members } {
  const added = itemsOf(request).flatMap((item) => (item.type === "additional_tools" ? objectsOf(item.tools) : []));
  for (const tool of [...objectsOf(request.body.tools), ...added]) {
    const isSpace = tool.type === "namespace";
    const found = (isSpace ? objectsOf(tool.tools) : [tool]).find((one) => one.name === name);
    if (found) return { isCustom: found.type === "custom", namespace: isSpace ? { namespace: tool.name } : {} };
  }
  return { isCustom: false, namespace: {} };
}

function toCall(said: Extract<Said, { kind: "call" }>, number: number, request: EmulatedRequest): Members {
  const { isCustom, namespace } = findTool(request, said.name);
  const call = {
    call_id: `call_${String(number).padStart(24, "0")}`,
    name: said.name,
    ...namespace,
    status: "completed",
  };
  if (!isCustom || !isObject(said.arguments))
    return { type: "function_call", id: `fc_${number}`, arguments: argumentsText(said.arguments), ...call };
  return { type: "custom_tool_call", id: `ctc_${number}`, input: String(said.arguments.input), ...call };
}

function toItem(said: Said, memory: Memory, request: EmulatedRequest): Members {
  const number = memory.next();
  if (said.kind === "text") {
    const content = [{ type: "output_text", text: said.text, annotations: [], logprobs: [] }];
    return { type: "message", id: `msg_${number}`, role: "assistant", status: "completed", content };
  }
  if (said.kind === "thinking") {
    const summary = [{ type: "summary_text", text: said.text }];
    return { type: "reasoning", id: `rs_${number}`, summary, encrypted_content: `gAAAA-sealed-${number}` };
  }
  return toCall(said, number, request);
}

/** Items of a turn; models without reasoning have none. */
function toItems({ said }: ModelTurn, request: EmulatedRequest, memory: Memory, thinking: RegExp): Members[] {
  const { model } = request;
  const items = said
    .filter(({ kind }) => kind !== "thinking" || thinking.test(model))
    .map((one) => toItem(one, memory, request));
  for (const item of items) {
    if (typeof item.encrypted_content === "string") memory.hand(item.encrypted_content, { model, blocks: items });
  }
  return items;
}

/** Events of one item (https://platform.openai.com/docs/api-reference/responses-streaming). */
function toEvents(item: Members, output_index: number): Members[] {
  const at = { output_index, item_id: item.id };
  const added = (empty: Members): Members => ({ type: "response.output_item.added", output_index, item: empty });
  const done = { type: "response.output_item.done", output_index, item };
  if (callTypes.includes(item.type)) {
    const [name, member] =
      item.type === "function_call" ? ["function_call_arguments", "arguments"] : ["custom_tool_call_input", "input"];
    const given = String(item[member]);
    return [
      added({ ...item, [member]: "", status: "in_progress" }),
      ...toPieces(given).map((delta) => ({ type: `response.${name}.delta`, ...at, delta })),
      { type: `response.${name}.done`, ...at, [member]: given },
      done,
    ];
  }
  const isMessage = item.type === "message";
  const [part = {}] = objectsOf(isMessage ? item.content : item.summary);
  const place = { ...at, ...(isMessage ? { content_index: 0 } : { summary_index: 0 }) };
  const name = isMessage ? "response.output_text" : "response.reasoning_summary_text";
  const holder = isMessage ? "response.content_part" : "response.reasoning_summary_part";
  const text = String(part.text);
  return [
    added(isMessage ? { ...item, content: [], status: "in_progress" } : { ...item, summary: [] }),
    { type: `${holder}.added`, ...place, part: { ...part, text: "" } },
    ...toPieces(text).map((delta) => ({ type: `${name}.delta`, ...place, delta })),
    { type: `${name}.done`, ...place, text },
    { type: `${holder}.done`, ...place, part },
    done,
  ];
}

const usage = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 52,
};

function respond(turn: ModelTurn, request: EmulatedRequest, memory: Memory, thinking: RegExp): Response {
  const output = toItems(turn, request, memory, thinking);
  const head = { id: `resp_${memory.next()}`, object: "response", created_at: 1_795_000_000, model: request.model };
  const whole = { ...head, status: "completed", output, error: null, incomplete_details: null, usage };
  if (!request.streams) return jsonResponse(whole);
  const begun = { ...head, status: "in_progress", output: [], error: null, usage: null };
  const events: Members[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...output.flatMap(toEvents),
    { type: "response.completed", response: whole },
  ];
  return eventStream(
    events.map((data, sequence_number) => ({ event: String(data.type), data: { ...data, sequence_number } })),
  );
}

/** A host's Responses API. */
interface ResponsesHost {
  name: string;
  /** Requests of its clients are forwarded unchanged. Default: they are fitted to the host. */
  isNative?: boolean;
  /** The host and the path of the API. */
  address: string;
  rules: readonly Rule[];
  /** Models whose reasoning it shows. */
  thinking: RegExp;
}

/** A Responses API in OpenAI's form. */
export const responsesEmulator = ({ name, isNative, address, rules, thinking }: ResponsesHost): Emulator => ({
  name,
  ...(isNative && { native: "responses" }),
  showsReasoning: (model) => thinking.test(model),
  rules,
  serves: ({ host, pathname }) => host + pathname === address,
  read: readRequest,
  prefixOf: ({ body }) => [body.instructions ?? null, body.tools ?? null, ...objectsOf(body.input)],
  refuse: refuseChat,
  answer: (turn, request, memory) => respond(turn, request, memory, thinking),
});

/** OpenAI's Responses API. */
export const openaiResponses = responsesEmulator({
  name: "OpenAI Responses",
  isNative: true,
  address: "api.openai.com/v1/responses",
  rules,
  thinking: reasons,
});
