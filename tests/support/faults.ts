import type { IncomingMessage, ServerResponse } from "node:http";
import { type ReceivedRequest, readMessage, startServer, type Upstream } from "./upstream.ts";

/** One way for an upstream to respond to a chat. */
export interface Fault {
  name: string;
  /** Its status for a non-streaming response, and for a stream. */
  whole: number;
  stream: number;
  /** Its stream starts well and fails after the first event: nothing else is attempted. */
  breaksLater?: boolean;
  /** It never responds, or never finishes: the call needs a timeout. */
  stalls?: boolean;
  /** Response headers that reach the caller. */
  headers?: Readonly<Record<string, string>>;
  /** It is a 429 that asks for a longer wait than there may be. */
  asksTooLong?: boolean;
  serve(response: ServerResponse, streamed: boolean): void;
}

const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
/** First event of a chat stream. */
const firstEvent = event({ id: "x", choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] });
/** What ends a chat stream. */
const lastEvents = `${event({ id: "x", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`;
const message = { role: "assistant", content: "Hi" };
const answer = JSON.stringify({
  id: "x",
  object: "chat.completion",
  model: "upstream-model",
  choices: [{ index: 0, message, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
});
const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };

function refuse(status: number, headers: Readonly<Record<string, string>> = {}): Fault["serve"] {
  return (response) => {
    response.writeHead(status, { ...json, ...headers });
    response.end(
      JSON.stringify({ error: { message: `status ${status}`, type: "upstream_type", code: "upstream_code" } }),
    );
  };
}

/** Starts a response, and then acts once its beginning was sent. */
function begin(response: ServerResponse, streamed: boolean, then: () => void = () => {}): void {
  response.on("error", () => {});
  response.writeHead(200, streamed ? events : json);
  response.write(streamed ? firstEvent : answer.slice(0, 20), () => setTimeout(then, 40));
}

function reset(response: ServerResponse): void {
  response.socket?.destroy();
}

/** A response with another body, non-streaming or streamed. */
function send(whole: string, streamed: string): Fault["serve"] {
  return (response, isStream) => {
    response.writeHead(200, isStream ? events : json);
    response.end(isStream ? streamed : whole);
  };
}

/** A valid response that is not a chat. */
export function answering(body: object): Fault {
  const text = JSON.stringify(body);
  return { name: "200", whole: 200, stream: 200, serve: send(text, text) };
}
/** A valid response. */
export const success: Fault = { name: "200", whole: 200, stream: 200, serve: send(answer, firstEvent + lastEvents) };

function status(code: number, headers?: Readonly<Record<string, string>>): Fault {
  const name = [code, ...Object.entries(headers ?? {}).flat()].join(" ");
  return { name, whole: code, stream: code, serve: refuse(code, headers), ...(headers && { headers }) };
}

const overloaded = JSON.stringify({ error: { message: "busy", type: "overloaded_error" } });
const unnamed = JSON.stringify({ error: { message: "something broke" } });

/** Every response of the matrix but the valid one. */
export const faults: readonly Fault[] = [
  ...[400, 401, 404, 408, 500, 502, 503, 529].map((code) => status(code)),
  status(503, { "retry-after": "9999" }),
  status(429),
  ...[
    { "retry-after-ms": "3" },
    { "x-ms-retry-after-ms": "2" },
    { "retry-after": "0" },
    { "retry-after": "-5" },
    { "retry-after": "soon" },
    { "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" },
    { "retry-after-ms": "1", "retry-after": "9999" },
  ].map((headers) => status(429, headers)),
  ...[
    { "retry-after-ms": "60001" },
    { "x-ms-retry-after-ms": "99999" },
    { "retry-after": "61" },
    { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" },
  ].map((headers) => ({ ...status(429, headers), asksTooLong: true })),
  { name: "reset before headers", whole: 502, stream: 502, serve: reset },
  {
    name: "reset inside the body",
    whole: 502,
    stream: 200,
    breaksLater: true,
    serve: (response, streamed) => begin(response, streamed, () => reset(response)),
  },
  { name: "stall before headers", whole: 408, stream: 408, stalls: true, serve: () => {} },
  {
    name: "stall inside the body",
    whole: 408,
    stream: 200,
    stalls: true,
    breaksLater: true,
    serve: begin,
  },
  {
    name: "stall before the first event",
    whole: 408,
    stream: 408,
    stalls: true,
    serve(response, streamed) {
      response.writeHead(200, streamed ? events : json);
      response.write(streamed ? ": wait\n\n" : " ");
    },
  },
  { name: "no JSON", whole: 502, stream: 502, serve: send("{oops", "data: {oops\n\n") },
  { name: "an empty body", whole: 502, stream: 502, serve: send("", "") },
  { name: "only comments", whole: 502, stream: 502, serve: send("null", ": nothing\n\n") },
  { name: "200 with an overload", whole: 529, stream: 529, serve: send(overloaded, `data: ${overloaded}\n\n`) },
  { name: "200 with an error", whole: 502, stream: 502, serve: send(unnamed, `data: ${unnamed}\n\n`) },
];

/**
 * Deno's `fetch` sends a request once more itself when its connection is reset before the answer (denoland/deno issue 35610):
 * the upstream sees more calls than the gateway makes, and what is lost once is not seen at all.
 */
const isResent = "Deno" in globalThis;

/** Whether an upstream is called as often as the gateway calls it. */
export function isCountable({ name }: Fault): boolean {
  return !(isResent && name === "reset before headers");
}

/** The fault of a name. */
export function faultOf(name: string): Fault {
  const found = [success, ...faults].find((fault) => fault.name === name);
  if (!found) throw new Error(`There is no fault ${name}`);
  return found;
}

/** A request an upstream received, before it is answered. */
export interface UpstreamCall extends ReceivedRequest {
  /** How many it received before. */
  index: number;
  streamed: boolean;
}

/** An upstream that simulates faults. */
export interface FaultyUpstream extends Upstream {
  /** Requests since the last call of `script`. */
  readonly calls: readonly UpstreamCall[];
  /** Sets the responses to calls from now on. */
  script(choose: (call: UpstreamCall) => Fault): void;
}

/** Starts an upstream that responds well until scripted otherwise. */
export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  const calls: UpstreamCall[] = [];
  let choose: (call: UpstreamCall) => Fault = () => success;
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "", headers, rawHeaders } = request;
    const body = await readMessage(request);
    const text = body.toString();
    const streamed = /"stream":\s*true/.test(text);
    const call = { method, path, headers, rawHeaders, body, text, streamed, index: calls.length };
    calls.push(call);
    choose(call).serve(response, streamed);
  };
  const upstream = await startServer((request, response) => {
    // a call whose body ends early was aborted by the caller
    serve(request, response).catch(() => request.socket.destroy());
  });
  return Object.assign(upstream, {
    calls,
    script(next: typeof choose) {
      choose = next;
      calls.length = 0;
    },
  });
}
