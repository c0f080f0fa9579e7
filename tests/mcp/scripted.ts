import { createTestClock, type TestClock, type TestGateway, type TestGatewayOptions } from "../support/gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { createMcpGateway, mcpServer, serversOf } from "./support.ts";

/** A JSON-RPC message that an upstream received. */
export interface Message {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

/** What an upstream answers. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The connection stays open after the body. */
  open?: boolean;
}

/** Decides on the answer to a message. */
export type Script = (message: Message, request: ReceivedRequest) => Answer;

/** The body of an answer of the gateway. */
export interface RpcAnswer {
  jsonrpc: string;
  id: unknown;
  result: Record<string, unknown>;
  error: { code: number; message: string; data?: Record<string, unknown> };
}

/** A JSON answer. */
export const json = (value: unknown, headers: Record<string, string> = {}): Answer => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(value),
});

/** An event stream. */
export const events = (...messages: unknown[]): Answer => ({
  headers: { "content-type": "text/event-stream" },
  body: messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join(""),
});

/** Answers a tool call with its arguments as text. */
export const echoArguments: Script = ({ id, params = {} }) =>
  json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: JSON.stringify(params.arguments ?? {}) }] } });

/** A gateway in front of a server whose answers a test scripts. */
export interface Scripted {
  gateway: TestGateway;
  upstream: RecordingUpstream;
  clock: TestClock;
  servers: ReturnType<typeof serversOf>;
  script: Script;
  close(): Promise<void>;
}

/** Starts a gateway in front of a scripted server. */
export async function startScripted(options: TestGatewayOptions = {}): Promise<Scripted> {
  const clock = createTestClock();
  const upstream = await startRecordingUpstream((request, response) => {
    const { status = 200, headers = {}, body = "", open } = parts.script(JSON.parse(request.text || "{}"), request);
    response.writeHead(status, headers);
    if (open) response.write(body);
    else response.end(body);
  });
  const servers = serversOf(mcpServer(`${upstream.url}/mcp`));
  const gateway = await createMcpGateway(servers, { clock, inFile: true, ...options });
  const parts: Scripted = {
    gateway,
    upstream,
    clock,
    servers,
    script: echoArguments,
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
  return parts;
}

/** The messages of an event stream. */
export function messagesOf(text: string): Message[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}
