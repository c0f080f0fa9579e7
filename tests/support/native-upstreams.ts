import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { repository } from "./source-files.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "./upstream.ts";

/** An upstream's response: text, two tool calls, an object as text, or reasoning followed by text. */
export type Scenario = "text" | "tools" | "object" | "reasoning";

/** The object of that scenario. */
export const answeredObject = { opens: "06:00", berths: 12 };

/** Text of the recorded non-streaming responses; the object replaces it. */
export const recordedText = "The harbour opens at six.";

/** A provider's API: how it is called, and its responses. */
interface Protocol {
  /** Path of non-streaming calls below the base address. */
  whole: string;
  /** The same for streams; without it the body requests a stream. */
  streamed?: string;
  /** Recorded streams of `tests/fixtures/<slug>/`. */
  streams: Readonly<Record<Exclude<Scenario, "object">, string>>;
}

const sseStreams = { text: "stream.sse", tools: "stream-tools.sse", reasoning: "stream-thinking.sse" };
/** Its models report the amount of reasoning, not its text. */
const silentStreams = { ...sseStreams, reasoning: "stream-reasoning.sse" };

const vertexModel = "/v1/projects/fake-project/locations/us-central1/publishers/google/models/gemini-2.5-flash";
const bedrockModel = "/model/anthropic.claude-sonnet-4-6-v1%3A0";

const protocols: Readonly<Record<string, Protocol>> = {
  openai: { whole: "/chat/completions", streams: silentStreams },
  anthropic: { whole: "/messages", streams: sseStreams },
  google: {
    whole: "/v1beta/models/gemini-3-flash:generateContent",
    streamed: "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
    streams: sseStreams,
  },
  "vertex-ai": {
    whole: `${vertexModel}:generateContent`,
    streamed: `${vertexModel}:streamGenerateContent?alt=sse`,
    streams: sseStreams,
  },
  bedrock: {
    whole: `${bedrockModel}/converse`,
    streamed: `${bedrockModel}/converse-stream`,
    streams: { text: "stream.json", tools: "stream-tools.json", reasoning: "stream-thinking.json" },
  },
  "azure-openai": {
    whole: "/deployments/fake-deployment/chat/completions?api-version=2024-10-21",
    streams: silentStreams,
  },
  /** Claude's native API on Bedrock: its recorded responses in frames. */
  "bedrock/invoke": {
    whole: `${bedrockModel}/invoke`,
    streamed: `${bedrockModel}/invoke-with-response-stream`,
    streams: sseStreams,
  },
  cohere: { whole: "/v2/chat", streams: sseStreams },
  "mistral-ai": { whole: "/chat/completions", streams: sseStreams },
};

function readFixture(slug: string, name: string): string {
  return readFileSync(join(repository, "tests/fixtures", slug, name), "utf8");
}

/** One message of an AWS event stream (https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html). */
function encodeFrame({ headers, payload }: { headers: Record<string, string>; payload: unknown }): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const sizes = Buffer.from([7, 0, value.length]);
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), sizes, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const frame = Buffer.concat([prelude, head, body]);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(frame));
  return Buffer.concat([frame, end]);
}

/** Events of a recorded stream as InvokeModelWithResponseStream frames them: JSON in base64. */
function encodeChunks(recorded: string): Buffer {
  const headers = { ":message-type": "event", ":event-type": "chunk", ":content-type": "application/json" };
  const events = [...recorded.matchAll(/^data: ?(.*)$/gm)].map(([, data = ""]) => data);
  return Buffer.concat(
    events.map((data) => encodeFrame({ headers, payload: { bytes: Buffer.from(data).toString("base64"), p: "abc" } })),
  );
}

/** Bytes of a recorded stream as its provider sends them. */
function streamBytes(recorded: string, framing: "sse" | "recorded" | "chunks"): Buffer {
  if (framing === "chunks") return encodeChunks(recorded);
  return framing === "sse" ? Buffer.from(recorded) : Buffer.concat(JSON.parse(recorded).frames.map(encodeFrame));
}

/** A recorded stream in two pieces, cut within an event. */
async function sendStream(response: ServerResponse, slug: string, name: string): Promise<void> {
  const isChunked = slug === "bedrock/invoke";
  const recorded = readFixture(isChunked ? "anthropic" : slug, name);
  const isFramed = isChunked || name.endsWith(".json");
  const bytes = streamBytes(recorded, isChunked ? "chunks" : isFramed ? "recorded" : "sse");
  response.writeHead(200, {
    "content-type": isFramed ? "application/vnd.amazon.eventstream" : "text/event-stream",
  });
  const middle = Math.floor(bytes.length / 2) + 7;
  response.write(bytes.subarray(0, middle));
  await new Promise((resolve) => setTimeout(resolve, 5));
  response.end(bytes.subarray(middle));
}

/** A non-streaming response: the recorded text, calls, or an object in place of the text; reasoning is only streamed. */
function wholeAnswer(slug: string, scenario: Scenario): string | undefined {
  const folder = slug === "bedrock/invoke" ? "anthropic" : slug;
  if (scenario === "tools") return readFixture(folder, "tool-call.json");
  const recorded = readFixture(folder, "chat.json");
  if (scenario === "text") return recorded;
  if (scenario !== "object") return undefined;
  const quoted = JSON.stringify(JSON.stringify(answeredObject)).slice(1, -1);
  return recorded.replace(recordedText, () => quoted);
}

function isScenario(name: string): name is Scenario {
  return ["text", "tools", "object", "reasoning"].includes(name);
}

function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(text);
}

async function answer({ path, text }: ReceivedRequest, response: ServerResponse): Promise<void> {
  const [, provider = "", scenario = "", rest = ""] = /^\/([^/]+)\/([^/]+)(\/.*)$/.exec(path) ?? [];
  const slug = provider === "bedrock" && rest.includes("/invoke") ? "bedrock/invoke" : provider;
  const protocol = Object.hasOwn(protocols, slug) ? protocols[slug] : undefined;
  if (protocol && isScenario(scenario)) {
    const { whole, streamed = whole, streams } = protocol;
    const asksStream = streamed !== whole || JSON.parse(text).stream === true;
    if (rest === streamed && asksStream && scenario !== "object") return sendStream(response, slug, streams[scenario]);
    const found = rest === whole ? wholeAnswer(slug, scenario) : undefined;
    if (found !== undefined) return sendJson(response, 200, found);
  }
  sendJson(response, 404, JSON.stringify({ error: { message: `Nothing is served at ${path}`, type: "not_found" } }));
}

/**
 * One upstream that speaks the native protocols of several providers: at `/<slug>/<scenario>` begins what is the address of
 * a provider's API elsewhere. It keeps what it is sent and judges nothing; other paths are not found.
 */
export function startNativeUpstream(): Promise<RecordingUpstream> {
  return startRecordingUpstream(answer);
}
