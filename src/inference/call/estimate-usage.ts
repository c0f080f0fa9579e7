import type { UncountedCall, WrittenAnswer } from "../../context/call-record.ts";
import { isObject } from "../../lib/json.ts";
import { bytesOfToken, estimateTokens, type TokenCounter } from "../../lib/token-count.ts";
import { StreamAssembler } from "../../logs/assemble.ts";
import { textOfBody } from "../../logs/body.ts";

/** Members whose text a model reads or writes. Addresses and data of media are not among them. */
const textMembers: ReadonlySet<string> = new Set([
  "arguments",
  "content",
  "description",
  "input",
  "instructions",
  "message",
  "name",
  "prompt",
  "reasoning",
  "reasoning_content",
  "refusal",
  "system",
  "text",
  "thinking",
  "transcript",
]);
/** Members that models read or write as JSON. */
const jsonMembers: ReadonlySet<string> = new Set(["args", "input", "input_schema", "parameters", "response"]);

/** Members that only identify what they stand in. */
const skippedMembers: ReadonlySet<string> = new Set([
  "data",
  "metadata",
  "source",
  "image_url",
  "inline_data",
  "inlineData",
]);

/** Deepest member that is looked into. */
const maxDepth = 12;

/** Tokens around a message and around a prompt (https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken). */
const tokensOfMessage = 4;
const tokensOfPrompt = 3;

/** What a model reads or writes of a body. */
interface Said {
  strings: string[];
  messages: number;
}

function collect(value: unknown, said: Said, depth = 0): Said {
  if (depth > maxDepth) return said;
  if (Array.isArray(value)) {
    for (const item of value) collect(item, said, depth + 1);
  } else if (isObject(value)) {
    if (typeof value.role === "string") said.messages++;
    for (const [name, member] of Object.entries(value)) addMember(name, member, said, depth);
  }
  return said;
}

function addMember(name: string, member: unknown, said: Said, depth: number): void {
  if (textMembers.has(name)) {
    const strings = (Array.isArray(member) ? member : [member]).filter((one) => typeof one === "string");
    said.strings.push(...strings);
  }
  if (jsonMembers.has(name) && isObject(member)) said.strings.push(JSON.stringify(member));
  else if (!skippedMembers.has(name)) collect(member, said, depth + 1);
}

/** The text that a model reads of a request. */
export function stringsOf(request: object): readonly string[] {
  return collect(request, { strings: [], messages: 0 }).strings;
}

/** Tokens of a request, by its text. */
export function estimateInput(request: object, count: TokenCounter): Promise<number> {
  const { strings, messages } = collect(request, { strings: [], messages: 0 });
  const around = messages === 0 ? 0 : messages * tokensOfMessage + tokensOfPrompt;
  return estimateTokens(strings, count).then((tokens) => tokens + around);
}

/** Most bytes of a stream that are read for its tokens; what follows them counts in proportion. */
const maxRead = 256 * 1024;

/** Tokens of what a model wrote in a response. */
function estimateAnswer(answer: object, count: TokenCounter): Promise<number> {
  const { choices, content, output, candidates } = answer as Readonly<Record<string, unknown>>; // any object has members
  const written = { choices, content, output, parts: candidates };
  return estimateTokens(collect(written, { strings: [], messages: 0 }).strings, count);
}

/** Tokens of the text in a stream, as far as it was sent. */
async function estimateEvents({ sent, sentBytes }: SentEvents, count: TokenCounter): Promise<number> {
  const text = textOfBody(sent).slice(0, maxRead);
  const assembler = new StreamAssembler();
  // an event that was cut is left out
  assembler.push(text.slice(0, text.lastIndexOf("\n") + 1));
  const answer = assembler.result();
  const tokens = answer ? await estimateAnswer(answer, count) : 0;
  return text.length < maxRead ? tokens : Math.round(tokens * Math.max(1, sentBytes / text.length));
}

type SentEvents = Extract<WrittenAnswer, { form: "events" }>;

/** Tokens of what a model wrote. */
async function estimateOutput(written: WrittenAnswer, count: TokenCounter): Promise<number> {
  if (written.form === "none") return 0;
  if (written.form === "bytes") return Math.ceil(written.sentBytes / bytesOfToken);
  return written.form === "events" ? estimateEvents(written, count) : estimateAnswer(written.answer, count);
}

/** Reported counts that are less than this part of the estimate are those of the beginning. */
const leastPart = 0.5;

/** Tokens that a call used beside those that its provider reported. */
export interface MissingTokens {
  readonly input: number;
  readonly output: number;
}

/**
 * Estimates what the provider of a call did not report. What it reported counts before an estimate; its count of the output
 * can be that of an early event: then the estimate counts. Where it reported that nothing was used and nothing was written,
 * nothing is missing.
 */
export async function estimateMissing(call: UncountedCall, count: TokenCounter): Promise<MissingTokens> {
  const { request, reported, written } = call;
  const knownOutput = reported?.output_tokens ?? 0;
  const estimated = await estimateOutput(written, count);
  const output = knownOutput > 0 && knownOutput >= estimated * leastPart ? 0 : estimated - knownOutput;
  const knownInput = reported?.input_tokens ?? 0;
  const isNothing = reported !== null && knownOutput + estimated === 0 && !call.isCut;
  const input = knownInput > 0 || isNothing ? 0 : await estimateInput(request, count);
  return { input, output: Math.max(0, output) };
}
