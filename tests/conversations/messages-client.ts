import { isObject } from "../../src/lib/json.ts";
import {
  type Client,
  type Heard,
  type HeardCall,
  type Members,
  objectsOf,
  pixel,
  readStream,
  readWhole,
  type Setup,
  type Step,
  textIn,
} from "./client.ts";

const image: Members = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };

function toResult(call: HeardCall, { text, isError, hasImage }: Step["outcomes"][number]): Members {
  const content = [...(text === "" ? [] : [{ type: "text", text }]), ...(hasImage ? [image] : [])];
  return {
    type: "tool_result",
    tool_use_id: call.id,
    ...(content.length > 0 && { content }),
    ...(isError && { is_error: true }),
  };
}

/** What a Messages client sends about thinking, as current agents do. */
function toThinking({ effort, maxTokens }: Setup, model: string): Members {
  if (effort === undefined) return {};
  if (effort === "off") return { thinking: { type: "disabled" } };
  // agents that do not know the model ask with a budget
  if (!/claude/.test(model)) return { thinking: { type: "enabled", budget_tokens: Math.min(31_999, maxTokens - 1) } };
  const isAdaptive = /opus-4-[6-9]|sonnet-4-[6-9]|[a-z]+-[5-9]/.test(model);
  return isAdaptive
    ? { thinking: { type: "adaptive" }, output_config: { effort } }
    : { thinking: { type: "enabled", budget_tokens: Math.min(4_096, maxTokens - 1) } };
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
  return [...blocks.values()].map(({ json, ...block }) => {
    if (block.type !== "tool_use") return block;
    return { ...block, input: json === undefined || json === "" ? block.input : JSON.parse(json) };
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

/** A client of the Messages API, as Claude Code is one. */
export function createMessagesClient(setup: Setup): Client {
  const messages: Members[] = [];
  let calls: HeardCall[] = [];
  return {
    showsReasoning: true,
    path: () => "/v1/messages",
    headers: { "anthropic-version": "2023-06-01", "anthropic-beta": "mid-conversation-system-2026-04-07" },
    ask({ outcomes, text, hasImage, instruction }, model) {
      const results = calls.map((call, index) => toResult(call, outcomes[index] as Step["outcomes"][number]));
      const said = [...(hasImage ? [image] : []), ...(text === "" ? [] : [{ type: "text", text }])];
      messages.push({ role: "user", content: [...results, ...said] });
      if (instruction !== "") messages.push({ role: "system", content: [{ type: "text", text: instruction }] });
      return {
        model,
        max_tokens: setup.maxTokens,
        ...(setup.instructions !== "" && { system: [{ type: "text", text: setup.instructions }] }),
        ...(setup.temperature !== undefined && { temperature: setup.temperature }),
        ...(setup.tools.length > 0 && {
          tools: setup.tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
        }),
        ...toThinking(setup, model),
        stream: setup.streams,
        messages: [...messages],
      };
    },
    async hear(response) {
      const blocks = setup.streams
        ? collect(await readStream(response))
        : objectsOf((await readWhole(response)).content);
      messages.push({ role: "assistant", content: blocks });
      const heard = toHeard(blocks);
      calls = heard.calls;
      return heard;
    },
  };
}
