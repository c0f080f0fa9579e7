import { toFinish } from "../../dialects/chat-reader.ts";
import { continued } from "../../lib/continued.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { StreamAssembler } from "../../logs/assemble.ts";
import type { ErrorCode } from "../../schemas/routing-choice.ts";
import type { Inspected } from "./execute.ts";

type Members = Readonly<Record<string, unknown>>;

/** Longest beginning of a stream that is looked at: an answer without anything is short. */
const maxBeginning = 64 * 1024;
/** Longest answer that is parsed to look for nothing in it. */
const maxParsed = 64 * 1024;

/** Members that name a part of an answer; all others hold something that was said. */
const namingMembers: ReadonlySet<string> = new Set(["role", "type", "id", "index", "annotations", "status", "object"]);

/** Whether an answer's part holds anything. Reasoning alone is no answer. */
function isSaid(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isSaid);
  if (!isObject(value)) return value !== null && value !== undefined && value !== "";
  if (value.thought === true) return false;
  const { type } = value;
  if (type === "reasoning" || type === "thinking" || type === "redacted_thinking") return false;
  if (type !== undefined && type !== "message" && type !== "text" && type !== "output_text") return true;
  return Object.entries(value).some(
    ([name, one]) => !namingMembers.has(name) && !name.startsWith("reasoning") && isSaid(one),
  );
}

/** An answer in any dialect: why it ended, undefined while it goes on, and what it says. */
interface ReadAnswer {
  end: string | undefined;
  said: unknown;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

function readChat({ choices }: Members): ReadAnswer | undefined {
  const list = objectsIn(choices);
  const ends = list.map(({ finish_reason: reason }) => textOf(reason));
  const filtered = ends.find((end) => end !== undefined && toFinish(end, false) === "content_filter");
  return { end: filtered ?? ends[0], said: list.map(({ message, text, delta }) => [message, text, delta]) };
}

function readCandidates({ candidates, promptFeedback }: Members): ReadAnswer | undefined {
  const blocked = isObject(promptFeedback) ? textOf(promptFeedback.blockReason) : undefined;
  if (blocked !== undefined) return { end: "prohibited", said: [] };
  const list = objectsIn(candidates);
  const ends = list.map(({ finishReason }) => textOf(finishReason));
  return { end: ends[0], said: list.map(({ content }) => (isObject(content) ? content.parts : [])) };
}

function readResponse({ status, output, incomplete_details: details }: Members): ReadAnswer | undefined {
  if (status !== "completed" && status !== "incomplete") return undefined;
  const reason = isObject(details) ? textOf(details.reason) : undefined;
  return { end: reason ?? String(status), said: output };
}

function readMessage({ content, stop_reason: reason }: Members): ReadAnswer | undefined {
  return { end: textOf(reason), said: content };
}

function readAnswer(answer: Members): ReadAnswer | undefined {
  if (Array.isArray(answer.choices)) return readChat(answer);
  if (Array.isArray(answer.candidates) || isObject(answer.promptFeedback)) return readCandidates(answer);
  if (answer.object === "response") return readResponse(answer);
  return answer.type === "message" ? readMessage(answer) : undefined;
}

/** Calls that a model began and that nobody can make (https://ai.google.dev/api/generate-content#FinishReason). */
const faultyCalls: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
]);

/** What is wrong with an answer that came with a successful status: a filter ended it, or nothing is in it. */
function codeOfAnswer(answer: object): ErrorCode | undefined {
  const read = readAnswer(answer as Members); // any object has members
  if (read?.end === undefined) return undefined;
  if (faultyCalls.has(read.end)) return "invalid_tool";
  if (toFinish(read.end, false) === "content_filter") return "content_filter";
  return isSaid(read.said) ? undefined : "empty";
}

/** The answer in the beginning of a stream, and the reply that begins with it again. */
async function readBeginning(reply: Reply, body: ReadableStream<Uint8Array>): Promise<Inspected<Reply>> {
  const reader = body.getReader();
  const { done, value } = await reader.read();
  const whole = { ...reply, body: continued(done ? [] : [value], reader) };
  if (done || value.length > maxBeginning) return { value: whole, code: undefined };
  const assembler = new StreamAssembler();
  assembler.push(new TextDecoder().decode(value));
  const begun = assembler.result();
  return { value: whole, code: begun && codeOfAnswer(begun) };
}

/**
 * Reads what is wrong with a successful reply. Of a stream only its beginning counts: what was held until it said something.
 */
export async function inspectReply(reply: Reply): Promise<Inspected<Reply>> {
  const { status, body, parsed } = reply;
  if (status < 200 || status > 299) return { value: reply, code: undefined };
  if (body instanceof ReadableStream) return readBeginning(reply, body);
  if (typeof body !== "string" || body.length > maxParsed) return { value: reply, code: undefined };
  const answer: unknown = parsed?.text === body ? parsed.value : parseJson(body);
  return { value: reply, code: isObject(answer) ? codeOfAnswer(answer) : undefined };
}
