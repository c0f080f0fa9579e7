import type { ServerResponse } from "node:http";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "./upstream.ts";

/** One answer of a script: a status and a body. */
export type ScriptedAnswer = readonly [status: number, body: unknown];

/** A provider with OpenAI's files and batches, whose batch a test moves. */
export interface BatchProvider extends RecordingUpstream {
  /** The batch as it is shown; members are changed by tests. */
  readonly batch: Record<string, unknown>;
  /** Contents of files by their ids. */
  readonly contents: Map<string, string>;
  /** Lines that were uploaded, by the id of their file. */
  readonly uploads: Map<string, Record<string, unknown>[]>;
  /** Answers in place of the usual ones, by method and path; each is given once, in order. */
  readonly next: Map<string, ScriptedAnswer[]>;
  /** Called after a request was received, before it is answered. */
  onRequest: (line: string) => unknown;
  /** Method and path of what was received, in order. */
  lines(): string[];
  /** Headers by which calls of a batch reach it. */
  readonly options: Record<string, string>;
}

/** The rows of an uploaded form. */
function readUpload({ text }: ReceivedRequest): Record<string, unknown>[] {
  return text
    .split("\r\n")
    .flatMap((part) => part.split("\n"))
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/** Starts such a provider. */
export async function startBatchProvider(): Promise<BatchProvider> {
  const batch: Record<string, unknown> = { id: "batch_1", object: "batch", status: "validating", created_at: 4e9 };
  const contents = new Map<string, string>();
  const uploads = new Map<string, Record<string, unknown>[]>();
  const next = new Map<string, ScriptedAnswer[]>();
  let isMade = false;
  const usual = (request: ReceivedRequest, line: string): ScriptedAnswer => {
    if (line === "POST /v1/files") {
      const id = `file-${uploads.size + 1}`;
      uploads.set(id, readUpload(request));
      return [200, { id, object: "file", bytes: 1, created_at: 1, filename: "x", purpose: "batch" }];
    }
    if (line === "POST /v1/batches") {
      isMade = true;
      Object.assign(batch, { input_file_id: JSON.parse(request.text).input_file_id });
      return [200, batch];
    }
    if (line.startsWith("GET /v1/batches?")) return [200, { object: "list", data: isMade ? [batch] : [] }];
    if (line === "GET /v1/batches/batch_1") return [200, batch];
    if (line === "POST /v1/batches/batch_1/cancel") {
      batch.status = "cancelling";
      return [200, batch];
    }
    const [, file = ""] = /^GET \/v1\/files\/([^/]+)\/content$/.exec(line) ?? [];
    const content = contents.get(file);
    return content === undefined ? [404, { error: { message: "not here", code: "not_found" } }] : [200, content];
  };
  const answer = async (request: ReceivedRequest, response: ServerResponse) => {
    const line = `${request.method} ${request.path}`;
    await provider.onRequest(line);
    const [status, body] = next.get(line)?.shift() ?? usual(request, line);
    const isText = typeof body === "string";
    response.writeHead(status, { "content-type": isText ? "application/octet-stream" : "application/json" });
    response.end(isText ? body : JSON.stringify(body));
  };
  const upstream = await startRecordingUpstream(answer);
  const provider: BatchProvider = Object.assign(upstream, {
    batch,
    contents,
    uploads,
    next,
    onRequest: () => {},
    lines: () => upstream.requests.map(({ method, path }) => `${method} ${path}`),
    options: {
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
    },
  });
  return provider;
}

/** A line of a provider's output or error file. */
export function answerLine(id: string, status = 200, body: Record<string, unknown> = {}): string {
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
  const whole = status === 200 ? { object: "chat.completion", model: "gpt-4o-mini", usage, ...body } : body;
  const response = { status_code: status, request_id: `req_${id}`, body: whole };
  return `${JSON.stringify({ id: `batch_req_${id}`, custom_id: id, response, error: null })}\n`;
}
