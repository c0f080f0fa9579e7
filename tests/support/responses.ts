import type { ServerResponse } from "node:http";
import { type HeaderChanges, requestHeaders, type TestGateway } from "./gateway.ts";
import type { Scenario } from "./native-upstreams.ts";
import type { Members } from "./response-events.ts";

/** A shape of upstreams that do not have the Responses API. */
export interface Shape {
  provider: string;
  /** Folder of its recorded answers, and first segment of its paths. */
  slug: string;
  model: string;
  headers?: HeaderChanges;
}

/** Four APIs that chats use. */
export const shapes: readonly Shape[] = [
  { provider: "deepinfra", slug: "openai", model: "gpt-5.1" },
  { provider: "anthropic", slug: "anthropic", model: "claude-sonnet-4-6" },
  { provider: "google", slug: "google", model: "gemini-3-flash" },
  {
    provider: "bedrock",
    slug: "bedrock",
    model: "anthropic.claude-sonnet-4-6-v1:0",
    headers: {
      "x-gateway-aws-access-key-id": "AKIAFAKEFAKEFAKE0000",
      "x-gateway-aws-region": "us-east-1",
      "x-gateway-aws-secret-access-key": "fake-secret-access-key-for-tests",
    },
  },
];

/** Headers that lead to an upstream of a shape. */
export function shapeHeaders({ provider, slug, headers }: Shape, url: string, scenario: Scenario): HeaderChanges {
  const custom = { "x-gateway-provider": provider, "x-gateway-custom-host": `${url}/${slug}/${scenario}` };
  return { ...custom, authorization: "Bearer fake-provider-key", ...headers };
}

/** A call of the Responses API: its status, text and body. */
export interface ResponsesAnswer {
  status: number;
  headers: Headers;
  text: string;
  body: Members;
}

/** Calls a route such as `POST /responses`. */
export async function callResponses(
  { gateway }: Pick<TestGateway, "gateway">,
  route: string,
  { body, headers = {}, key }: { body?: object; headers?: HeaderChanges; key?: string } = {},
): Promise<ResponsesAnswer> {
  const [method = "GET", path = "/"] = route.split(" ");
  const response = await gateway.fetch(
    new Request(`http://gateway.test/v1${path}`, {
      method,
      headers: requestHeaders({ ...headers, ...(key !== undefined && { "x-gateway-api-key": key }) }),
      ...(body && { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** A response as OpenAI gives it. */
export const nativeResponse = {
  id: "resp_native1",
  object: "response",
  created_at: 1,
  model: "gpt-5.1",
  status: "completed",
  error: null,
  incomplete_details: null,
  output: [
    { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "opaque" },
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "The harbour opens at six.", annotations: [], logprobs: [] }],
    },
    {
      id: "fc_1",
      type: "function_call",
      call_id: "call_1",
      name: "tide_table",
      arguments: '{"port":"Brest"}',
      status: "completed",
    },
  ],
  usage: {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 5 },
    output_tokens: 9,
    total_tokens: 29,
    output_tokens_details: { reasoning_tokens: 3 },
  },
};

const begun = { ...nativeResponse, status: "in_progress", output: [], usage: null };

/** Events of OpenAI for that response. */
export const nativeEvents: readonly Members[] = [
  { type: "response.created", response: begun },
  { type: "response.in_progress", response: begun },
  { type: "response.output_item.added", output_index: 0, item: { id: "rs_1", type: "reasoning", summary: [] } },
  { type: "response.reasoning_summary_part.added", item_id: "rs_1", output_index: 0, summary_index: 0, part: {} },
  { type: "response.reasoning_summary_text.delta", item_id: "rs_1", output_index: 0, summary_index: 0, delta: "Hm." },
  { type: "response.output_item.done", output_index: 0, item: nativeResponse.output[0] },
  { type: "response.output_item.added", output_index: 1, item: { id: "msg_1", type: "message", content: [] } },
  { type: "response.output_text.delta", item_id: "msg_1", output_index: 1, content_index: 0, delta: "The harbour " },
  { type: "response.output_text.delta", item_id: "msg_1", output_index: 1, content_index: 0, delta: "opens at six." },
  { type: "response.output_item.done", output_index: 1, item: nativeResponse.output[1] },
  { type: "response.output_item.added", output_index: 2, item: { ...nativeResponse.output[2], arguments: "" } },
  { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 2, delta: '{"port":"Brest"}' },
  { type: "response.output_item.done", output_index: 2, item: nativeResponse.output[2] },
  { type: "response.completed", response: nativeResponse },
].map((event, index) => ({ ...event, sequence_number: index }));

/** Events as OpenAI writes them. */
export function toSse(events: readonly Members[]): string {
  return events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** Answers with events. */
export function sendEvents(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(text);
}
