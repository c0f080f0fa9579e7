import { isObject } from "../../src/lib/json.ts";
import {
  type Client,
  firstHalf,
  type HeardCall,
  type Members,
  type OfferedTool,
  objectsOf,
  pickAgent,
  pixel,
  readStream,
  readWhole,
  type Setup,
  type Step,
  textIn,
} from "./client.ts";
import { shortName } from "./tools.ts";

/** How an agent writes Responses requests (sources: the packages of that name, as released in November 2026). */
interface ResponsesAgent {
  name: string;
  /** Tools stand in an item of the input, in groups, and those that take free text have a grammar. */
  addsTools: boolean;
  /** Members of items that are not sent back. */
  leavesOut: readonly string[];
  /** Plain strings instead of lists of parts, where a message is one text. */
  writesStrings: boolean;
  /** Instructions are a message of this role instead of a field. */
  instructionRole?: "developer" | "system";
  more: Members;
}

const agents: readonly ResponsesAgent[] = [
  {
    name: "openai SDK",
    addsTools: false,
    leavesOut: ["status"],
    writesStrings: false,
    more: {},
  },
  // codex-rs/protocol/src/models.rs: ids are not serialized, and reasoning items keep their summary and sealed content
  ...[true, false].map((addsTools) => ({
    name: "codex",
    addsTools,
    leavesOut: ["id", "status"],
    writesStrings: false,
    more: {
      tool_choice: "auto",
      parallel_tool_calls: true,
      prompt_cache_key: "0199f0f0-0000-7000-8000-000000000000",
      text: { verbosity: "medium" },
    },
  })),
  {
    name: "AI SDK",
    addsTools: false,
    leavesOut: ["status"],
    writesStrings: false,
    instructionRole: "developer",
    more: { tool_choice: "auto" },
  },
  {
    name: "OpenAI Agents SDK",
    addsTools: false,
    leavesOut: [],
    writesStrings: true,
    more: { tool_choice: "auto", parallel_tool_calls: false, metadata: { workflow: "test" } },
  },
  {
    name: "pydantic-ai",
    addsTools: false,
    leavesOut: ["status"],
    writesStrings: true,
    instructionRole: "system",
    more: { parallel_tool_calls: true },
  },
];

const image: Members = { type: "input_image", image_url: `data:image/png;base64,${pixel}`, detail: "auto" };

function collect(events: readonly Members[]): Members[] {
  const last = events.at(-1);
  if (last?.type !== "response.completed") throw new Error(`the stream ends with ${last?.type}`);
  // agents take the items as they are done
  return events.flatMap(({ type, item }) => (type === "response.output_item.done" && isObject(item) ? [item] : []));
}

const textsOf = (items: readonly Members[], type: string, member: string): string =>
  items
    .filter((item) => item.type === type)
    .flatMap((item) => objectsOf(item[member]).map(({ text }) => textIn(text)))
    .join("");

function toFunction({ description, schema, isCustom = false, ...tool }: OfferedTool): Members {
  const name = shortName({ description, schema, ...tool });
  if (!isCustom) return { type: "function", name, description, strict: false, parameters: schema };
  return { type: "custom", name, description, format: { type: "grammar", syntax: "lark", definition: "start: /.+/" } };
}

/** Tools in groups, as Codex sends those of MCP servers. */
function toGroups(tools: readonly OfferedTool[]): Members[] {
  const names = new Set(tools.map(({ namespace }) => namespace));
  return [...names].flatMap((namespace): Members[] => {
    const own = tools.filter((tool) => tool.namespace === namespace).map(toFunction);
    return namespace === undefined
      ? own
      : [{ type: "namespace", name: namespace, description: "A server.", tools: own }];
  });
}

/** The items in front of a conversation, and the fields of a request that stay the same. */
function begin(
  setup: Setup,
  { addsTools, instructionRole, more }: ResponsesAgent,
): { items: Members[]; fields: Members } {
  const { instructions, tools } = setup;
  const hasTools = tools.length > 0;
  const { tool_choice, parallel_tool_calls, ...rest } = more;
  const choices = {
    ...(tool_choice !== undefined && { tool_choice }),
    ...(parallel_tool_calls !== undefined && { parallel_tool_calls }),
  };
  const plain = tools.map((tool) => ({ ...toFunction({ ...tool, isCustom: false }), name: tool.name }));
  return {
    items: [
      ...(addsTools && hasTools ? [{ type: "additional_tools", role: "developer", tools: toGroups(tools) }] : []),
      ...(instructionRole !== undefined && instructions !== ""
        ? [{ role: instructionRole, content: instructions }]
        : []),
    ],
    fields: {
      store: false,
      include: ["reasoning.encrypted_content"],
      max_output_tokens: setup.maxTokens,
      ...(instructionRole === undefined && instructions !== "" && { instructions }),
      ...(setup.temperature !== undefined && { temperature: setup.temperature }),
      ...(setup.effort !== undefined && {
        reasoning: { effort: setup.effort === "off" ? "none" : setup.effort, summary: "auto" },
      }),
      ...rest,
      ...(hasTools && choices),
      ...(hasTools && !addsTools && { tools: plain }),
      stream: setup.streams,
    },
  };
}

function toOutput({ text, hasImage }: Step["outcomes"][number]): unknown {
  return hasImage ? [{ type: "input_text", text }, image] : text;
}

/** What is left of a response that the user interrupted. */
function cut(items: readonly Members[]): Members[] {
  return items.every(({ type }) => type === "message")
    ? items.map((item) => ({
        ...item,
        content: objectsOf(item.content).map((part) => ({ ...part, text: firstHalf(textIn(part.text)) })),
      }))
    : [];
}

function toCall(item: Members): HeardCall[] {
  if (item.type !== "function_call" && item.type !== "custom_tool_call") return [];
  const name = typeof item.namespace === "string" ? `${item.namespace}__${item.name}` : String(item.name);
  const given = item.type === "function_call" ? textIn(item.arguments) : JSON.stringify({ input: item.input });
  return [{ id: String(item.call_id), name, arguments: given }];
}

/** A client of the Responses API that holds the conversation itself, as Codex does. */
export function createResponsesClient(setup: Setup): Client {
  const agent = pickAgent(agents, setup);
  const { items: input, fields } = begin(setup, agent);
  let heard: Members[] = [];
  const toInput = (item: Members): Members =>
    Object.fromEntries(Object.entries(item).filter(([name]) => !agent.leavesOut.includes(name)));
  const say = (role: string, parts: Members[]) => {
    const [only] = parts;
    const isString = agent.writesStrings && parts.length === 1 && only?.type === "input_text";
    if (parts.length > 0) input.push({ type: "message", role, content: isString ? only.text : parts });
  };
  return {
    showsReasoning: true,
    path: () => "/v1/responses",
    headers: {},
    ask({ outcomes, text, hasImage, instruction, isCut = false }, model) {
      input.push(...(isCut ? cut(heard) : heard).map(toInput));
      const calls = isCut ? [] : heard.filter((item) => toCall(item).length > 0);
      for (const [index, { type, call_id }] of calls.entries()) {
        const output = toOutput(outcomes[index] as Step["outcomes"][number]);
        input.push({ type: `${type}_output`, call_id, output });
      }
      say("user", [...(hasImage ? [image] : []), ...(text === "" ? [] : [{ type: "input_text", text }])]);
      if (instruction !== "") say("developer", [{ type: "input_text", text: instruction }]);
      return { model, ...fields, input: [...input] };
    },
    async hear(response) {
      heard = setup.streams ? collect(await readStream(response)) : objectsOf((await readWhole(response)).output);
      const reasoning = textsOf(heard, "reasoning", "summary") + textsOf(heard, "reasoning", "content");
      return { text: textsOf(heard, "message", "content"), reasoning, calls: heard.flatMap(toCall) };
    },
  };
}
