import { scopesOfKind } from "../../src/auth/scopes.ts";
import { call, done } from "./control.ts";
import {
  createTestClock,
  createTestGateway,
  type TestClock,
  type TestGateway,
  type TestGatewayOptions,
} from "./gateway.ts";

/** Headers of a JSON body. */
export const json = { "content-type": "application/json" };
const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
/** 1,000 input and 500 output tokens of gpt-4o. */
export const dollarsOfCall = 0.0075;

const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage,
};

/** The response to a chat. */
export const answerChat = () => new Response(JSON.stringify(answer), { headers: json });

/** What a test of limits works with. */
export interface LimitParts {
  gateway: TestGateway;
  clock: TestClock;
  /** Requests that reached the upstream. */
  sent: string[];
  workspaceId: string;
}

type Use = (parts: LimitParts) => Promise<void>;

/** Runs a test with a gateway whose upstream answers every chat. */
export async function withGateway(
  use: Use,
  options: TestGatewayOptions & { respond?: (url: string) => Response | undefined } = {},
): Promise<void> {
  const { respond, ...rest } = options;
  const sent: string[] = [];
  const clock = createTestClock();
  const transport = {
    async send(url: string) {
      sent.push(url);
      return respond?.(url) ?? answerChat();
    },
  };
  const gateway = await createTestGateway({ clock, transport, ...rest });
  try {
    const { id: workspaceId } = await done(call<{ id: string }>(gateway, "GET /admin/workspaces/default"));
    await use({ gateway, clock, sent, workspaceId });
  } finally {
    await gateway.close();
  }
}

/** A transport whose call with this number, counted from 1, is answered only on demand. */
export function holdCall(number: number) {
  const { promise: started, resolve: start } = Promise.withResolvers<void>();
  const { promise: answered, resolve: finish } = Promise.withResolvers<Response>();
  let calls = 0;
  const transport = {
    async send() {
      if (++calls !== number) return answerChat();
      start();
      return answered;
    },
  };
  return { transport, started, finish: () => finish(answerChat()) };
}

/** Makes a key of the default workspace with limits. */
export function createKey(
  gateway: Pick<TestGateway, "gateway">,
  limits: object = {},
): Promise<{ id: string; key: string }> {
  const body = { name: "limited", workspace_id: "default", scopes: scopesOfKind("workspace-service"), ...limits };
  return done(call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", { body }));
}

/** As `createKey`; returns the key alone. */
export async function makeKey({ gateway, workspaceId }: LimitParts, limits: object): Promise<string> {
  return (await createKey(gateway, { workspace_id: workspaceId, ...limits })).key;
}

/** What a key has used of its budget, as the API shows it. */
export async function usedBy(gateway: Pick<TestGateway, "gateway">, id: string): Promise<number> {
  const { usage_limits: budget } = await done(
    call<{ usage_limits: { current_usage: number } }>(gateway, `GET /api-keys/${id}`),
  );
  return budget.current_usage;
}

/** The value once it is the wanted one, within 10 s. */
export async function becomes<Value>(read: () => Promise<Value>, isWanted: (value: Value) => boolean): Promise<Value> {
  const until = performance.now() + 10_000;
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (performance.now() > until) throw new Error(`Waited 10 s for another value than ${value}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface ChatOptions {
  path?: string;
  headers?: Record<string, string>;
  body?: object;
}

/** Sends a request, a chat by default, with a key. */
export async function chat({ gateway }: Pick<LimitParts, "gateway">, key: string, options: ChatOptions = {}) {
  const { path = "/v1/chat/completions", headers, body } = options;
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      ...json,
      "x-gateway-api-key": key,
      "x-gateway-provider": "openai",
      authorization: "Bearer sk-obviously-fake",
      ...headers,
    },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hello" }], ...body }),
  });
  const text = await response.text();
  const { error } = JSON.parse(text) as { error?: { code: string; message: string } };
  return { status: response.status, code: error?.code, message: error?.message, headers: response.headers };
}

/** Rate limits of a record: requests per minute. */
export const rpm = (value: number) => ({ rate_limits: [{ type: "requests", unit: "rpm", value }] });

/** Makes a policy of the default workspace. */
export async function makePolicy(
  { gateway, workspaceId }: Pick<LimitParts, "gateway" | "workspaceId">,
  kind: "rate" | "usage",
  members: object,
): Promise<string> {
  const body = { workspace_id: workspaceId, group_by: [{ key: "api_key" }], ...members };
  const { id } = await done(call<{ id: string }>(gateway, `POST /policies/${kind}-limits`, { body }));
  return id;
}
