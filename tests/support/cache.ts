import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { call, done } from "./control.ts";
import {
  createTestClock,
  createTestGateway,
  type HeaderChanges,
  requestHeaders,
  type TestClock,
  type TestGateway,
  type TestGatewayOptions,
} from "./gateway.ts";

/** What an upstream of the test received. */
export interface Sent {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Record<string, unknown>;
}

/** A gateway whose upstream numbers its responses. */
export interface CacheStage {
  gateway: TestGateway;
  clock: TestClock;
  sent: Sent[];
}

/** Makes the response to a request; the number says how many came before it. */
export type Respond = (sent: Sent, number: number) => Response | Promise<Response>;

const json = { "content-type": "application/json" };

/** A chat of gpt-4o: 1,000 tokens of input and 500 of output, 0.75 cents. */
export const chatAnswer = (content: string, choice: object = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop", ...choice }],
  usage: { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
});

export const toJsonResponse = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: json });

/** Runs a test with a gateway; each upstream response is another one. */
export async function withCache(
  use: (stage: CacheStage) => Promise<void>,
  { respond, ...options }: TestGatewayOptions & { respond?: Respond } = {},
): Promise<void> {
  const sent: Sent[] = [];
  const clock = createTestClock();
  const transport: Transport = {
    async send(url, { headers, body }) {
      const text = typeof body === "string" ? body : "{}";
      const one = { url, headers, body: JSON.parse(text) };
      const number = sent.push(one);
      return respond ? respond(one, number) : toJsonResponse(chatAnswer(`Answer ${number}`));
    },
  };
  const gateway = await createTestGateway({ clock, transport, ...options });
  try {
    await use({ gateway, clock, sent });
  } finally {
    await gateway.close();
  }
}

/** Headers of a request to OpenAI with the caller's own credential, and a config. */
export const cachedHeaders = (
  config: object | null = { cache: "simple" },
  more: HeaderChanges = {},
): HeaderChanges => ({
  "x-gateway-provider": "openai",
  authorization: "Bearer caller-credential",
  "x-gateway-config": config && JSON.stringify(config),
  ...more,
});

/** A response as tests compare it. */
export interface Came {
  status: number;
  /** Of the header. */
  cache: string | null;
  text: string;
  headers: Headers;
}

/** Sends a request to a route. */
export async function ask(
  { gateway }: Pick<CacheStage, "gateway">,
  path: string,
  body: unknown,
  headers: HeaderChanges = cachedHeaders(),
): Promise<Came> {
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: requestHeaders(headers),
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    cache: response.headers.get("x-gateway-cache-status"),
    text: await response.text(),
    headers: response.headers,
  };
}

export const question = { model: "gpt-4o", messages: [{ role: "user", content: "What is a cache?" }] };

/** Asks a chat. */
export const askChat = (stage: Pick<CacheStage, "gateway">, headers?: HeaderChanges, body: unknown = question) =>
  ask(stage, "/v1/chat/completions", body, headers);

/** What a chat says. */
export const saidIn = ({ text }: Came): unknown => JSON.parse(text).choices?.[0]?.message?.content;

/** A workspace of the organisation, with a key. */
export async function createWorkspace(gateway: TestGateway, name: string): Promise<{ id: string; key: string }> {
  const { id } = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name } }));
  const scopes = scopesOfKind("workspace-service");
  const body = { name, workspace_id: id, scopes };
  const { key } = await done(call<{ key: string }>(gateway, "POST /api-keys/workspace/service", { body }));
  return { id, key };
}
