import { isObject, parseJson } from "../../src/lib/json.ts";
import {
  type Client,
  firstHalf,
  type HeardCall,
  type Members,
  objectsOf,
  pickAgent,
  pixel,
  prefillOf,
  readStream,
  readWhole,
  type Setup,
  type Step,
  textIn,
} from "./client.ts";

/** How an agent writes chat completions (sources: the packages of that name, as released in November 2026). */
interface ChatAgent {
  name: string;
  /** Reasoning is sent back in the members it came in, in `reasoning_content` alone, or not at all. */
  reasoning: "same" | "content" | "none";
  /** Role of instructions in mid conversation. */
  instructionRole: "system" | "developer";
  /** Instructions at the beginning are two messages, as of agents that add the project's rules. */
  splitsInstructions: boolean;
  /** Content of messages that have calls alone: null, absent, or a string. */
  bare: string | null | undefined;
  /** Content of the user and of the agent is a list of parts even where it is one text. */
  writesParts: boolean;
  /** Arguments are parsed and written again, as Python does. */
  rewritesArguments: boolean;
  /** Name of the field for the most tokens; undefined: not sent. */
  tokens?: "max_tokens" | "max_completion_tokens";
  /** A temperature that is always sent. */
  temperature?: number;
  /** Offers no tools and writes much text. */
  isTextOnly: boolean;
  asksForUsage: boolean;
  /** Fields of each request; those that concern tools only with tools. */
  more: Members;
}

const common: Omit<ChatAgent, "name"> = {
  reasoning: "none",
  instructionRole: "system",
  splitsInstructions: false,
  bare: null,
  writesParts: false,
  rewritesArguments: false,
  tokens: "max_tokens",
  isTextOnly: false,
  asksForUsage: true,
  more: {},
};

const agents: readonly ChatAgent[] = [
  { ...common, name: "openai SDK", reasoning: "same", instructionRole: "developer", tokens: "max_completion_tokens" },
  // @ai-sdk/openai-compatible, convertToOpenAICompatibleChatMessages
  { ...common, name: "opencode", reasoning: "content", splitsInstructions: true, more: { tool_choice: "auto" } },
  { ...common, name: "aider", isTextOnly: true, temperature: 0, asksForUsage: false },
  { ...common, name: "cline", bare: undefined, writesParts: true, temperature: 0, more: { tool_choice: "auto" } },
  {
    ...common,
    name: "roo",
    reasoning: "content",
    bare: "",
    writesParts: true,
    temperature: 0,
    more: { tool_choice: "auto", parallel_tool_calls: true },
  },
  // core/llm/openaiTypeConverters.ts: some hosts refuse empty content
  { ...common, name: "continue", splitsInstructions: true, bare: " ", more: { parallel_tool_calls: false } },
  { ...common, name: "cursor", reasoning: "same", writesParts: true, temperature: 0, more: { user: "user-0000" } },
  { ...common, name: "LangChain", bare: "", rewritesArguments: true, asksForUsage: false, more: { n: 1 } },
  { ...common, name: "pydantic-ai", reasoning: "content", bare: undefined, tokens: "max_completion_tokens" },
  {
    ...common,
    name: "OpenAI Agents SDK",
    reasoning: "same",
    instructionRole: "developer",
    more: { tool_choice: "auto", metadata: { workflow: "test" } },
  },
];

const image: Members = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
const ofTools: readonly string[] = ["tool_choice", "parallel_tool_calls"];

/** Adds a delta to a message as OpenAI's SDKs do: strings grow, calls by their index, other members are set. */
function addDelta(message: Members, delta: Members): void {
  for (const [name, value] of Object.entries(delta)) {
    if (name === "role" || value === null || value === undefined) continue;
    if (name === "tool_calls") for (const call of objectsOf(value)) addCall(message, call);
    else if (typeof value === "string") message[name] = textIn(message[name]) + value;
    else if (Array.isArray(value)) message[name] = [...objectsOf(message[name]), ...value];
    else message[name] = value;
  }
}

function addCall(message: Members, { index, function: made, ...rest }: Members): void {
  const calls = objectsOf(message.tool_calls);
  message.tool_calls = calls;
  const place = Number(index);
  const known = calls[place];
  const added = isObject(made) ? made : {};
  if (!known) {
    calls[place] = { ...rest, function: { ...added, arguments: textIn(added.arguments) } };
    return;
  }
  const held = known.function as Members;
  held.arguments = textIn(held.arguments) + textIn(added.arguments);
}

function collect(events: readonly Members[]): Members {
  const message: Members = { role: "assistant", content: null };
  for (const event of events) {
    const [choice] = objectsOf(event.choices);
    if (isObject(choice?.delta)) addDelta(message, choice.delta);
  }
  if (message.content === "" && Array.isArray(message.tool_calls)) message.content = null;
  return message;
}

const toCalls = (message: Members): HeardCall[] =>
  objectsOf(message.tool_calls).map(({ id, function: made }) => {
    const { name, arguments: given } = isObject(made) ? made : {};
    return { id: String(id), name: String(name), arguments: textIn(given) };
  });

/** JSON as Python writes it; what is not JSON stays. */
function rewrite(text: string): string {
  const value = parseJson(text);
  return isObject(value) ? JSON.stringify(value, undefined, 1).replace(/\n */g, " ") : text;
}

/** A response as the agent sends it back; undefined where nothing is left of it. */
function toSent(message: Members, agent: ChatAgent, isCut: boolean): Members | undefined {
  const { content, tool_calls, reasoning_content, reasoning_details, role, ...others } = message;
  const text = textIn(content);
  const calls = objectsOf(tool_calls);
  if (isCut) {
    if (calls.length > 0 || text === "") return undefined;
    return { role: "assistant", content: firstHalf(text) };
  }
  const hasReasoning = typeof reasoning_content === "string" && agent.reasoning !== "none";
  const written = agent.writesParts && text !== "" ? [{ type: "text", text }] : text;
  return {
    role: "assistant",
    ...(agent.reasoning === "same" && others),
    content: text === "" && calls.length > 0 ? agent.bare : written,
    ...(hasReasoning && { reasoning_content }),
    // most SDKs drop members that OpenAI's responses do not have
    ...(reasoning_details !== undefined && agent.reasoning === "same" && { reasoning_details }),
    ...(calls.length > 0 && {
      tool_calls: agent.rewritesArguments
        ? calls.map((call) => {
            const { arguments: given, ...made } = call.function as Members;
            return { ...call, function: { ...made, arguments: rewrite(textIn(given)) } };
          })
        : calls,
    }),
  };
}

function toFields(setup: Setup, agent: ChatAgent): Members {
  const tools = agent.isTextOnly ? [] : setup.tools;
  const more = Object.entries(agent.more).filter(([name]) => tools.length > 0 || !ofTools.includes(name));
  const temperature = agent.temperature ?? setup.temperature;
  return {
    ...(agent.tokens !== undefined && { [agent.tokens]: setup.maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(setup.effort !== undefined && { reasoning_effort: setup.effort === "off" ? "none" : setup.effort }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: "function",
        function: { name, description, parameters: schema },
      })),
    }),
    ...Object.fromEntries(more),
    ...(setup.streams && { stream: true, ...(agent.asksForUsage && { stream_options: { include_usage: true } }) }),
  };
}

/** What the user's side adds. */
function toUser({ outcomes, text, hasImage }: Step, { writesParts, isTextOnly }: ChatAgent): Members[] {
  const showsImage = hasImage || outcomes.some((outcome) => outcome.hasImage);
  const long = isTextOnly ? `${text}\n${"A line of a file that is part of the conversation.\n".repeat(40)}` : text;
  const parts = [...(showsImage ? [image] : []), ...(text === "" ? [] : [{ type: "text", text: long }])];
  if (parts.length === 0) return [];
  return [{ role: "user", content: showsImage || writesParts ? parts : long }];
}

/** Messages before the conversation. */
function begin({ instructions }: Setup, { splitsInstructions, instructionRole }: ChatAgent): Members[] {
  if (instructions === "") return [];
  const rules: Members = { role: instructionRole, content: "Rules of the project: none." };
  return [{ role: "system", content: instructions }, ...(splitsInstructions ? [rules] : [])];
}

/** A client of chat completions that holds the conversation itself, as most agents do. */
export function createChatClient(setup: Setup): Client {
  const agent = pickAgent(agents, setup);
  const fields = toFields(setup, agent);
  const messages = begin(setup, agent);
  let heard: Members | undefined;
  let calls: HeardCall[] = [];
  let begun = "";
  return {
    offersTools: !agent.isTextOnly,
    showsReasoning: false,
    path: () => "/v1/chat/completions",
    headers: {},
    ask(step, model) {
      const { outcomes, instruction, isCut = false } = step;
      const whole = heard && begun !== "" ? { ...heard, content: begun + textIn(heard.content) } : heard;
      const sent = whole && toSent(whole, agent, isCut);
      if (sent) messages.push(sent);
      for (const [index, { text }] of outcomes.entries()) {
        messages.push({ role: "tool", tool_call_id: calls[index]?.id, content: text });
      }
      messages.push(...toUser(step, agent));
      if (instruction !== "") messages.push({ role: agent.instructionRole, content: instruction });
      begun = prefillOf(step, setup, model);
      const beginning = begun === "" ? [] : [{ role: "assistant", content: begun }];
      return { model, ...fields, messages: [...messages, ...beginning] };
    },
    async hear(response) {
      const whole = setup.streams ? undefined : objectsOf((await readWhole(response)).choices)[0]?.message;
      const message = setup.streams ? collect(await readStream(response)) : isObject(whole) ? whole : {};
      heard = message;
      calls = toCalls(message);
      return { text: textIn(message.content), reasoning: textIn(message.reasoning_content), calls };
    },
  };
}
