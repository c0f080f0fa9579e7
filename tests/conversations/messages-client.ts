import { isObject, parseJson } from "../../src/lib/json.ts";
import {
  type Client,
  firstHalf,
  type Heard,
  type HeardCall,
  type Members,
  type Outcome,
  objectsOf,
  pickAgent,
  pixel,
  prefillOf,
  readStream,
  readWhole,
  type Setup,
  textIn,
} from "./client.ts";

/** How an agent writes requests of the Messages API (sources: the packages of that name, as released in November 2026). */
interface MessagesAgent {
  name: string;
  betas: readonly string[];
  /** Blocks with a mark of the prompt cache: the last ones of the instructions, of the tools, and of the last messages. */
  marks: { system: boolean; tools: boolean; messages: number };
  /** A string instead of blocks, for instructions and for results that are one text. */
  writesStrings: boolean;
  /** Blank text blocks of a response are sent back. */
  sendsBlanks: boolean;
  /** Members of each tool. */
  toolMembers: Members;
  /** Tools of servers of MCP are found by a tool that searches them. */
  defersTools: boolean;
  /** A temperature that is always sent, unless the model thinks. */
  temperature?: number;
  more: Members;
}

const unmarked = { system: false, tools: false, messages: 0 };

const agents: readonly MessagesAgent[] = [
  {
    name: "anthropic SDK",
    betas: ["mid-conversation-system-2026-04-07"],
    marks: unmarked,
    writesStrings: false,
    sendsBlanks: true,
    toolMembers: {},
    defersTools: false,
    more: {},
  },
  ...[false, true].map((defersTools) => ({
    name: "claude-code",
    betas: [
      "claude-code-20250219",
      "interleaved-thinking-2025-05-14",
      "context-management-2025-06-27",
      "prompt-caching-scope-2026-01-05",
      "effort-2025-11-24",
      "advanced-tool-use-2025-11-20",
      "mid-conversation-system-2026-04-07",
    ],
    marks: { system: true, tools: false, messages: 1 },
    writesStrings: false,
    sendsBlanks: false,
    toolMembers: { eager_input_streaming: true },
    defersTools,
    more: { metadata: { user_id: "user_0000_account__session_0000" } },
  })),
  {
    name: "cline",
    betas: ["mid-conversation-system-2026-04-07"],
    marks: { system: true, tools: false, messages: 2 },
    writesStrings: false,
    sendsBlanks: false,
    toolMembers: {},
    defersTools: false,
    temperature: 0,
    more: {},
  },
  {
    name: "AI SDK",
    betas: ["fine-grained-tool-streaming-2025-05-14", "mid-conversation-system-2026-04-07"],
    marks: unmarked,
    writesStrings: false,
    sendsBlanks: false,
    toolMembers: {},
    defersTools: false,
    more: { tool_choice: { type: "auto" } },
  },
  {
    name: "pydantic-ai",
    betas: ["mid-conversation-system-2026-04-07"],
    marks: { system: false, tools: true, messages: 0 },
    writesStrings: true,
    sendsBlanks: false,
    toolMembers: {},
    defersTools: false,
    more: { tool_choice: { type: "auto", disable_parallel_tool_use: false } },
  },
];

const image: Members = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
const cache_control = { type: "ephemeral" };

/** Whether an image of a result stands beside it: agents know that Claude takes text alone in errors. */
const standsApart = ({ isError, hasImage }: Outcome, model: string): boolean =>
  hasImage && isError && model.includes("claude");

/** Results of a tool of the client that finds deferred tools: references to them. */
function toFound({ text, isError, hasImage }: Outcome, { tools }: Setup, { defersTools }: MessagesAgent): Members[] {
  if (!defersTools || text !== "" || isError || hasImage) return [];
  const found = tools.filter(({ name }) => name.startsWith("mcp__")).slice(0, 2);
  return found.map(({ name }) => ({ type: "tool_reference", tool_name: name }));
}

/** How results are written: by an agent, with its tools, for a model. */
interface Writing {
  agent: MessagesAgent;
  setup: Setup;
  model: string;
}

function toResult(call: HeardCall, outcome: Outcome, { agent, setup, model }: Writing): Members {
  const { text, isError, hasImage } = outcome;
  const { writesStrings } = agent;
  const shows = hasImage && !standsApart(outcome, model);
  const found = toFound(outcome, setup, agent);
  const content = [...found, ...(text.trim() === "" ? [] : [{ type: "text", text }]), ...(shows ? [image] : [])];
  const isString = writesStrings && !shows;
  return {
    type: "tool_result",
    tool_use_id: call.id,
    ...(isString ? { content: text } : content.length > 0 && { content }),
    ...((isError || writesStrings) && { is_error: isError }),
  };
}

/** What a Messages client sends about thinking, as current agents do. */
function toThinking({ effort, maxTokens }: Setup, model: string): Members {
  if (effort === undefined) return {};
  if (effort === "off") return { thinking: { type: "disabled" } };
  // agents that do not know the model ask with a budget
  if (!/claude/.test(model)) return { thinking: { type: "enabled", budget_tokens: Math.min(31_999, maxTokens - 1) } };
  const isAdaptive = /opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-[5-9]/.test(model);
  if (!isAdaptive) return { thinking: { type: "enabled", budget_tokens: Math.min(4_096, maxTokens - 1) } };
  // the level between is of the models that choose their budget alone
  const known = effort === "xhigh" && /-4-6/.test(model) ? "max" : effort;
  return { thinking: { type: "adaptive" }, output_config: { effort: known } };
}

/** The temperature that the agent sends: no agent sends one to models that refuse it. */
function toTemperature(setup: Setup, { temperature = setup.temperature }: MessagesAgent, model: string): Members {
  const thinks = setup.effort !== undefined && setup.effort !== "off";
  const isRefused = /claude-(?:opus-4-[789]|[a-z]+-[5-9])/.test(model);
  return temperature === undefined || thinks || isRefused ? {} : { temperature };
}

function toTools({ tools }: Setup, { toolMembers, defersTools, marks }: MessagesAgent): Members {
  if (tools.length === 0) return {};
  const own = tools.map(({ name, description, schema }, index) => ({
    name,
    description,
    input_schema: schema,
    ...toolMembers,
    ...(defersTools && name.startsWith("mcp__") && { defer_loading: true }),
    ...(marks.tools && index === tools.length - 1 && { cache_control }),
  }));
  // one tool at least must be loaded
  const search = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" };
  return { tools: defersTools && tools.some(({ name }) => name.startsWith("mcp__")) ? [search, ...own] : own };
}

function toSystem({ instructions }: Setup, { writesStrings, marks }: MessagesAgent): Members {
  if (instructions === "") return {};
  if (writesStrings) return { system: instructions };
  return { system: [{ type: "text", text: instructions, ...(marks.system && { cache_control }) }] };
}

/** Messages of which the last ones of the user end in a mark, which moves from turn to turn. */
function withMarks(messages: readonly Members[], count: number): Members[] {
  const places = messages
    .flatMap(({ role }, index) => (role === "user" ? [index] : []))
    .slice(-count || messages.length);
  return messages.map((message, index) => {
    const blocks = objectsOf(message.content);
    const last = blocks.at(-1);
    if (count === 0 || !places.includes(index) || !last) return message;
    return { ...message, content: [...blocks.slice(0, -1), { ...last, cache_control }] };
  });
}

/** Blocks of a stream, put together as Anthropic's SDK does. */
function collect(events: readonly Members[]): Members[] {
  const blocks = new Map<number, Members & { json?: string }>();
  for (const event of events) {
    const index = Number(event.index);
    if (event.type === "content_block_start" && isObject(event.content_block)) {
      blocks.set(index, { ...event.content_block });
    }
    const block = blocks.get(index);
    if (event.type !== "content_block_delta" || !isObject(event.delta) || !block) continue;
    const { type, text, thinking, signature, partial_json: json } = event.delta;
    if (type === "text_delta") block.text = textIn(block.text) + textIn(text);
    if (type === "thinking_delta") block.thinking = textIn(block.thinking) + textIn(thinking);
    if (type === "signature_delta") block.signature = signature;
    if (type === "input_json_delta") block.json = textIn(block.json) + textIn(json);
  }
  return [...blocks.values()].map(({ json = "", ...block }) => {
    if (block.type !== "tool_use" || json === "") return block;
    const input = parseJson(json);
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming: invalid JSON is wrapped
    return { ...block, input: isObject(input) ? input : { INVALID_JSON: json } };
  });
}

function toHeard(blocks: readonly Members[]): Heard {
  const all = (type: string, member: string) =>
    blocks.flatMap((block) => (block.type === type ? [textIn(block[member])] : [])).join("");
  const calls = blocks.flatMap((block): HeardCall[] =>
    block.type === "tool_use"
      ? [{ id: String(block.id), name: String(block.name), arguments: JSON.stringify(block.input) }]
      : [],
  );
  return { text: all("text", "text"), reasoning: all("thinking", "thinking"), calls };
}

const toReminder = (text: string): Members => ({
  type: "text",
  text: `<system-reminder>\n${text}\n</system-reminder>`,
});

const isBlank = ({ type, text }: Members): boolean => type === "text" && textIn(text).trim() === "";

/** A response as it is sent back; nothing where that leaves no block. */
function toSent(blocks: readonly Members[], { sendsBlanks }: MessagesAgent, isCut: boolean): Members[] {
  const whole = sendsBlanks ? [...blocks] : blocks.filter((block) => !isBlank(block));
  if (!isCut) return whole;
  // the user interrupted it
  const isText = whole.every(({ type }) => type === "text");
  return isText ? whole.map((block) => ({ ...block, text: firstHalf(textIn(block.text)) })) : [];
}

/** A response with the beginning that the client wrote. */
function withBeginning(blocks: readonly Members[], begun: string): Members[] {
  const place = blocks.findIndex(({ type }) => type === "text");
  if (begun === "" || place < 0) return [...blocks];
  return blocks.map((block, index) => (index === place ? { ...block, text: begun + textIn(block.text) } : block));
}

/** A client of the Messages API, as Claude Code is one. */
export function createMessagesClient(setup: Setup): Client {
  const agent = pickAgent(agents, setup);
  const messages: Members[] = [];
  let heard: Members[] = [];
  let calls: HeardCall[] = [];
  let begun = "";
  return {
    showsReasoning: true,
    path: () => "/v1/messages",
    headers: { "anthropic-version": "2023-06-01", "anthropic-beta": agent.betas.join(",") },
    ask(step, model) {
      const { outcomes, text, hasImage, instruction, isCut = false } = step;
      const sent = toSent(withBeginning(heard, begun), agent, isCut);
      if (sent.length > 0) messages.push({ role: "assistant", content: sent });
      const writing = { agent, setup, model };
      const results = outcomes.map((outcome, index) => toResult(calls[index] as HeardCall, outcome, writing));
      const shows = hasImage || outcomes.some((one) => standsApart(one, model));
      const said = [...(shows ? [image] : []), ...(text === "" ? [] : [{ type: "text", text }])];
      // agents know which models take instructions in mid conversation
      const takesSystem = /claude-(?:opus-4-[89]|[a-z]+-[5-9])/.test(model);
      const reminder = instruction === "" || takesSystem ? [] : [toReminder(instruction)];
      messages.push({ role: "user", content: [...results, ...said, ...reminder] });
      if (instruction !== "" && takesSystem)
        messages.push({ role: "system", content: [{ type: "text", text: instruction }] });
      begun = prefillOf(step, setup, model);
      const beginning = begun === "" ? [] : [{ role: "assistant", content: begun }];
      const { tool_choice, ...more } = agent.more;
      return {
        model,
        max_tokens: setup.maxTokens,
        ...toSystem(setup, agent),
        ...toTemperature(setup, agent, model),
        ...toTools(setup, agent),
        ...(setup.tools.length > 0 && tool_choice !== undefined && { tool_choice }),
        ...toThinking(setup, model),
        ...more,
        stream: setup.streams,
        messages: [...withMarks(messages, agent.marks.messages), ...beginning],
      };
    },
    async hear(response) {
      heard = setup.streams ? collect(await readStream(response)) : objectsOf((await readWhole(response)).content);
      const whole = toHeard(heard);
      calls = whole.calls;
      return whole;
    },
  };
}
