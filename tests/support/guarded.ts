import { parseJson } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";
import type { HookResults } from "../../src/schemas/hooks.ts";
import { type HeaderChanges, requestHeaders, type TestGateway } from "./gateway.ts";
import { configHeader } from "./routed.ts";

type Members = Record<string, unknown>;

/** How a guarded request was answered. */
export interface GuardedAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The JSON body; of a stream it is empty. */
  body: Members & { hook_results?: HookResults; error?: Members };
  /** What the events of a stream hold, `[DONE]` as a text. */
  events: { event: string | undefined; data: unknown }[];
  trace: string;
}

/** What is asked on a route. */
export interface GuardedRequest {
  path?: string;
  body?: object;
  headers?: HeaderChanges;
}

/** Asks the echo provider, or what the config names, along a config with guardrails. */
export async function askGuarded(
  { gateway }: Pick<TestGateway, "gateway">,
  config: object,
  { path = "/v1/chat/completions", body = {}, headers = {} }: GuardedRequest = {},
): Promise<GuardedAnswer> {
  const trace = crypto.randomUUID();
  const hasOwnProvider = "provider" in config || "targets" in config;
  const sent = requestHeaders({
    ...(hasOwnProvider && { "x-gateway-provider": null }),
    "x-gateway-trace-id": trace,
    ...configHeader(config),
    ...headers,
  });
  const asked = { model: "echo-1", messages: [{ role: "user", content: "Hello there" }], ...body };
  const request = new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers: sent,
    body: JSON.stringify(asked),
  });
  const response = await gateway.fetch(request);
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const events = isStream ? [...readEvents(text)] : [];
  return {
    status: response.status,
    headers: response.headers,
    text,
    trace,
    body: isStream ? {} : JSON.parse(text),
    events: events.map(({ event, data }) => ({ event, data: parseJson(data) ?? data })),
  };
}

/** A check of words in its short form. */
export function words(operator: "any" | "all" | "none", list: readonly string[], more: object = {}): object {
  return { "default.contains": { words: list, operator, ...more } };
}
