import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./processes.ts";

/** An agent, and how the gateway answers it. */
export interface AgentForm {
  /** What `--only` selects it by. */
  name: string;
  title: string;
  /** Path of the API that the agent uses. */
  path: "/messages" | "/responses";
  /** Provider that the gateway sends to. */
  provider: "anthropic" | "openai";
  model: string;
  /** Text that every complete answer of the gateway holds. */
  end: string;
}

const claudeModel = "claude-sonnet-4-5-20250929";
const openaiModel = "gpt-4o-mini";

/** Claude Code and Codex, answered by the API they speak and by another one. */
export const agentForms: readonly AgentForm[] = [
  {
    name: "claude-code-native",
    title: "Claude Code, Messages",
    path: "/messages",
    provider: "anthropic",
    model: claudeModel,
    end: "message_stop",
  },
  {
    name: "codex-native",
    title: "Codex, Responses",
    path: "/responses",
    provider: "openai",
    model: openaiModel,
    end: "response.completed",
  },
  {
    name: "claude-code-converted",
    title: "Claude Code, Messages to OpenAI",
    path: "/messages",
    provider: "openai",
    model: openaiModel,
    end: "message_stop",
  },
  {
    name: "codex-converted",
    title: "Codex, Responses to Anthropic",
    path: "/responses",
    provider: "anthropic",
    model: claudeModel,
    end: "response.completed",
  },
];

/** Bytes of the first request of a session, and of its last. */
export const sessionBytes = { first: 20_000, last: 600_000 };
/** Every so many turns, a result has an image. */
const imageEvery = 10;
const imageBytes = 12_000;

/** Sources of the gateway, as an agent that works on it reads them. */
function readSources(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return (
    files
      .sort()
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\n")
      // a guardrail would deny forms of passwords and keys
      .replaceAll(/(:\/\/[^\s:@/]*):/g, "$1;")
      .replaceAll("-----BEGIN ", "----- ")
  );
}

let sources = "";

/** A part of the sources; other clients read other parts. */
function readPart(client: number, from: number, length: number): string {
  if (sources === "") sources = readSources(join(projectRoot, "src"));
  const start = (client * 611_953 + from) % (sources.length - length);
  return sources.slice(start, start + length);
}

/** Data of an image: bytes that do not compress, the same in every run. */
function drawImage(seed: number): string {
  let state = seed + 1;
  const bytes = Uint8Array.from({ length: imageBytes }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 24;
  });
  return Buffer.from(bytes).toString("base64");
}

const toolNames = ["Read", "Edit", "Write", "Bash", "Grep", "Glob", "TodoWrite", "WebFetch", "Task", "NotebookEdit"];
const schema = {
  type: "object",
  properties: {
    path: { type: "string", description: "A path below the working folder" },
    limit: { type: "number", description: "Most lines" },
    command: { type: "string", description: "What is run" },
  },
  required: ["path"],
};

/** What one turn adds to a session: a call of a tool and its result. */
interface Addition {
  number: number;
  text: string;
  result: string;
  image: string | undefined;
}

/** The session of one client, of which each turn has the whole conversation so far. */
export class AgentSession {
  readonly #form: AgentForm;
  readonly #client: number;
  readonly #turnBytes: number;
  readonly #instructions: string;
  readonly #additions: Addition[] = [];

  constructor(form: AgentForm, client: number, turns: number) {
    this.#form = form;
    this.#client = client;
    this.#turnBytes = (sessionBytes.last - sessionBytes.first) / Math.max(1, turns - 1);
    this.#instructions = readPart(client, 0, sessionBytes.first * 0.55);
  }

  /** The body of the next turn. */
  next(): string {
    const number = this.#additions.length;
    const image = number > 0 && number % imageEvery === 0 ? drawImage(this.#client * 1_000 + number) : undefined;
    // line feeds and quotes take two bytes in JSON
    const length = Math.max(500, Math.round((this.#turnBytes - (image?.length ?? 0)) * 0.93) - 500);
    const result = readPart(this.#client, sessionBytes.first + number * length, length);
    this.#additions.push({ number, text: `I look at part ${number} first.`, result, image });
    return JSON.stringify(this.#form.path === "/messages" ? this.#messagesBody() : this.#responsesBody());
  }

  #messagesBody(): object {
    const mark = { cache_control: { type: "ephemeral" } };
    const last = this.#additions.length - 1;
    const messages = this.#additions.flatMap(({ number, text, result, image }, index) => {
      const id = `toolu_${this.#client}_${number}`;
      const source = { type: "base64", media_type: "image/png", data: image };
      const content = [{ type: "text", text: result }, ...(image === undefined ? [] : [{ type: "image", source }])];
      const answer = { type: "tool_result", tool_use_id: id, content, ...(index === last && mark) };
      return [
        {
          role: "assistant",
          content: [
            { type: "text", text },
            { type: "tool_use", id, name: "Read", input: { path: `src/part-${number}.ts`, limit: 400 } },
          ],
        },
        { role: "user", content: [answer] },
      ];
    });
    return {
      model: this.#form.model,
      messages: [{ role: "user", content: [{ type: "text", text: "Mend the failing test." }] }, ...messages],
      system: [{ type: "text", text: this.#instructions, ...mark }],
      tools: toolNames.map((name) => ({ name, description: `${name}: works on files.`, input_schema: schema })),
      metadata: { user_id: `user_0000_account__session_${this.#client}` },
      max_tokens: 32_000,
      stream: true,
    };
  }

  #responsesBody(): object {
    const items = this.#additions.flatMap(({ number, text, result, image }) => {
      const call_id = `call_${this.#client}_${number}`;
      const call = { name: "Read", arguments: JSON.stringify({ path: `src/part-${number}.ts`, limit: 400 }), call_id };
      const url = `data:image/png;base64,${image}`;
      const picture = { type: "message", role: "user", content: [{ type: "input_image", image_url: url }] };
      return [
        { type: "message", role: "assistant", content: [{ type: "output_text", text }] },
        { type: "function_call", ...call },
        { type: "function_call_output", call_id, output: result },
        ...(image === undefined ? [] : [picture]),
      ];
    });
    const question = {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "Mend the failing test." }],
    };
    const tools = toolNames.map((name) => {
      return { type: "function", name, description: `${name}: works on files.`, strict: false, parameters: schema };
    });
    return {
      model: this.#form.model,
      instructions: this.#instructions,
      input: [question, ...items],
      tools,
      tool_choice: "auto",
      parallel_tool_calls: false,
      store: false,
      stream: true,
      prompt_cache_key: `session-${this.#client}`,
    };
  }
}

const usage = { input_tokens: 42_000, output_tokens: 100 };

function claudeEvents(words: readonly string[]): object[] {
  const message = { id: "msg_01", type: "message", role: "assistant", model: claudeModel, content: [] };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 100 } },
    { type: "message_stop" },
  ];
}

function responseEvents(words: readonly string[]): object[] {
  const response = { id: "resp_01", object: "response", created_at: 1_760_000_000, model: openaiModel };
  const part = { type: "output_text", text: "", annotations: [] };
  const item = { id: "msg_01", type: "message", role: "assistant" };
  const place = { item_id: "msg_01", output_index: 0, content_index: 0 };
  const text = words.join("");
  const done = { ...item, status: "completed", content: [{ ...part, text }] };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...place, part },
    ...words.map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
    { type: "response.output_text.done", ...place, text },
    { type: "response.content_part.done", ...place, part: { ...part, text } },
    { type: "response.output_item.done", output_index: 0, item: done },
    {
      type: "response.completed",
      response: { ...response, status: "completed", output: [done], usage: { ...usage, total_tokens: 42_100 } },
    },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

function chatEvents(words: readonly string[]): object[] {
  const head = { id: "chatcmpl-01", object: "chat.completion.chunk", created: 1_760_000_000, model: openaiModel };
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    chunk({ role: "assistant", content: "" }, null),
    ...words.map((content) => chunk({ content }, null)),
    chunk({}, "stop"),
    { ...head, choices: [], usage: { prompt_tokens: 42_000, completion_tokens: 100, total_tokens: 42_100 } },
  ];
}

/** Events of a streamed answer with so many pieces of text of 20 to 60 bytes, by the path of the upstream. */
export function answerEvents(pieces: number): ReadonlyMap<string, readonly string[]> {
  const words = Array.from({ length: pieces }, (_, index) => readPart(0, index * 64, 20 + ((index * 7) % 41)));
  const named = (event: object) => `event: ${"type" in event ? event.type : ""}\ndata: ${JSON.stringify(event)}\n\n`;
  const plain = [...chatEvents(words).map((event) => JSON.stringify(event)), "[DONE]"];
  return new Map([
    ["/v1/messages", claudeEvents(words).map(named)],
    ["/v1/responses", responseEvents(words).map(named)],
    ["/v1/chat/completions", plain.map((text) => `data: ${text}\n\n`)],
  ]);
}
