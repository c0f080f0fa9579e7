import { isObject } from "../../src/lib/json.ts";
import {
  type Client,
  type HeardCall,
  type Members,
  objectsOf,
  pixel,
  readStream,
  readWhole,
  type Setup,
  textIn,
} from "./client.ts";

const image: Members = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };

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

/** A client of chat completions that sends messages back as they came. */
export function createChatClient(setup: Setup): Client {
  const messages: Members[] = setup.instructions === "" ? [] : [{ role: "system", content: setup.instructions }];
  let calls: HeardCall[] = [];
  return {
    showsReasoning: false,
    path: () => "/v1/chat/completions",
    headers: {},
    ask({ outcomes, text, hasImage, instruction }, model) {
      for (const [index, { id }] of calls.entries()) {
        messages.push({ role: "tool", tool_call_id: id, content: outcomes[index]?.text ?? "" });
      }
      const showsResult = outcomes.some((outcome) => outcome.hasImage);
      const parts = [...(hasImage || showsResult ? [image] : []), ...(text === "" ? [] : [{ type: "text", text }])];
      if (parts.length > 0) messages.push({ role: "user", content: hasImage || showsResult ? parts : text });
      if (instruction !== "") messages.push({ role: "developer", content: instruction });
      return {
        model,
        max_completion_tokens: setup.maxTokens,
        ...(setup.temperature !== undefined && { temperature: setup.temperature }),
        ...(setup.effort !== undefined && { reasoning_effort: setup.effort === "off" ? "none" : setup.effort }),
        ...(setup.tools.length > 0 && {
          tools: setup.tools.map(({ name, description, schema }) => ({
            type: "function",
            function: { name, description, parameters: schema },
          })),
        }),
        ...(setup.streams && { stream: true, stream_options: { include_usage: true } }),
        messages: [...messages],
      };
    },
    async hear(response) {
      const whole = setup.streams ? undefined : objectsOf((await readWhole(response)).choices)[0]?.message;
      const message = setup.streams ? collect(await readStream(response)) : isObject(whole) ? whole : {};
      messages.push(message);
      calls = toCalls(message);
      return { text: textIn(message.content), reasoning: textIn(message.reasoning_content), calls };
    },
  };
}
