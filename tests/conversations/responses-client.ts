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

const image: Members = { type: "input_image", image_url: `data:image/png;base64,${pixel}` };

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

/** An item as clients send it back: without the members that only responses have. */
function toInput({ status: _, ...item }: Members): Members {
  return item;
}

/** A client of the Responses API that keeps the conversation itself, as Codex does. */
export function createResponsesClient(setup: Setup): Client {
  const input: Members[] = [];
  let calls: HeardCall[] = [];
  return {
    showsReasoning: true,
    path: () => "/v1/responses",
    headers: {},
    ask({ outcomes, text, hasImage, instruction }, model) {
      for (const [index, { id }] of calls.entries()) {
        const outcome = outcomes[index];
        const output = outcome?.hasImage ? [{ type: "input_text", text: outcome.text }, image] : (outcome?.text ?? "");
        input.push({ type: "function_call_output", call_id: id, output });
      }
      const parts = [...(hasImage ? [image] : []), ...(text === "" ? [] : [{ type: "input_text", text }])];
      if (parts.length > 0) input.push({ type: "message", role: "user", content: parts });
      if (instruction !== "") {
        input.push({ type: "message", role: "developer", content: [{ type: "input_text", text: instruction }] });
      }
      return {
        model,
        store: false,
        include: ["reasoning.encrypted_content"],
        max_output_tokens: setup.maxTokens,
        ...(setup.instructions !== "" && { instructions: setup.instructions }),
        ...(setup.temperature !== undefined && { temperature: setup.temperature }),
        ...(setup.effort !== undefined && {
          reasoning: { effort: setup.effort === "off" ? "none" : setup.effort, summary: "auto" },
        }),
        ...(setup.tools.length > 0 && {
          tools: setup.tools.map(({ name, description, schema }) => ({
            type: "function",
            name,
            description,
            strict: false,
            parameters: schema,
          })),
        }),
        stream: setup.streams,
        input: [...input],
      };
    },
    async hear(response) {
      const items = setup.streams ? collect(await readStream(response)) : objectsOf((await readWhole(response)).output);
      input.push(...items.map(toInput));
      calls = items.flatMap((item): HeardCall[] =>
        item.type === "function_call"
          ? [{ id: String(item.call_id), name: String(item.name), arguments: textIn(item.arguments) }]
          : [],
      );
      const reasoning = textsOf(items, "reasoning", "summary") + textsOf(items, "reasoning", "content");
      return { text: textsOf(items, "message", "content"), reasoning, calls };
    },
  };
}
