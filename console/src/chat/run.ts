import { get, send } from "@/api/client.ts";
import { readEventData } from "@/lib/event-stream.ts";
import type { JsonObject } from "@/lib/json.ts";
import { type Answer, addTo, emptyAnswer } from "./answer.ts";
import { addResponsesEvent } from "./responses.ts";

/** One request to a model. */
export interface ModelRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

interface RunOptions {
  readonly signal: AbortSignal;
  /** Called at most every 40 ms, less often for long answers, while the answer grows, and once at its end. */
  readonly onAnswer: (answer: Answer) => void;
  /** Whether the session may read the row of the request, which has its cost. */
  readonly readsLog: boolean;
}

const pauseMs = 40;

function begun(response: Response): Answer {
  const header = (name: string) => response.headers.get(`x-gateway-${name}`) ?? "";
  return {
    ...emptyAnswer,
    requestId: header("request-id"),
    provider: header("provider"),
    target: header("last-used-option-index"),
    cache: header("cache-status"),
    objected: response.status === 246,
  };
}

/** An answer whose first piece has arrived says when. */
function timed(before: Answer, next: Answer, startedAt: number): Answer {
  const grew = next.text !== "" || next.reasoning !== "" || next.toolCalls.length > 0 || next.ran.length > 0;
  if (before.firstMs !== undefined || !grew) return next;
  return {
    ...next,
    state: next.state === "waiting" ? "streaming" : next.state,
    firstMs: performance.now() - startedAt,
  };
}

/** How the answers of a path are read. */
const readerOf = (path: string) => (path === "/v1/responses" ? addResponsesEvent : addTo);

interface Reading {
  readonly path: string;
  readonly startedAt: number;
  readonly show: (answer: Answer) => void;
}

async function readAnswer(response: Response, { path, startedAt, show }: Reading): Promise<Answer> {
  const add = readerOf(path);
  let answer = begun(response);
  if (!(response.headers.get("content-type") ?? "").includes("text/event-stream")) {
    return add(answer, await response.json());
  }
  for await (const data of readEventData(response)) {
    if (data === "[DONE]") continue;
    answer = timed(answer, add(answer, JSON.parse(data)), startedAt);
    show(answer);
    if (answer.state === "failed") break;
  }
  return answer;
}

/** Sends a request, and shows its answer while it arrives. Failures are part of the answer. */
export async function runModel({ path, headers, body }: ModelRequest, options: RunOptions): Promise<Answer> {
  const { signal, onAnswer, readsLog } = options;
  const startedAt = performance.now();
  let shownAt = 0;
  let last = emptyAnswer;
  const show = (answer: Answer) => {
    last = answer;
    // a long text takes longer to lay out
    if (performance.now() - shownAt < pauseMs + answer.text.length / 100) return;
    shownAt = performance.now();
    onAnswer(answer);
  };
  onAnswer(emptyAnswer);
  let answer: Answer;
  try {
    const response = await send("POST", path, { headers, body, signal });
    const read = await readAnswer(response, { path, startedAt, show });
    answer = { ...read, state: read.state === "failed" ? "failed" : "done" };
  } catch (error) {
    answer = signal.aborted ? { ...last, state: "stopped" } : { ...last, state: "failed", error };
  }
  answer = { ...answer, totalMs: performance.now() - startedAt };
  onAnswer(answer);
  if (!readsLog || answer.requestId === "") return answer;
  const cost = await readCost(answer.requestId);
  if (cost === undefined) return answer;
  answer = { ...answer, cost };
  onAnswer(answer);
  return answer;
}

const maxReads = 6;

/** The cost of a request in dollars: its log row appears shortly after its end. */
async function readCost(id: string): Promise<number | null | undefined> {
  for (let attempt = 0; attempt < maxReads; attempt++) {
    await new Promise((resolve) => setTimeout(resolve, 350 * (attempt + 1)));
    // a row that is not there yet is a 404, and a row of others is none of this session
    const row = await get("/v1/logs/{id}", { path: { id } }).catch(() => undefined);
    if (row?.object === "log") return typeof row.cost === "number" ? row.cost / 100 : null;
  }
  return undefined;
}
