import type { RunningStream, Services } from "../../context.ts";
import { isObject } from "../../lib/json.ts";
import { estimateTokens, type TokenCounter } from "../../lib/token-count.ts";
import { StreamAssembler } from "../../logs/assemble.ts";
import { type BodyPieces, textOfBody } from "../../logs/body.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";

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

/** Tokens of a request, by its text. */
function estimateInput(request: object, count: TokenCounter): Promise<number> {
  const { strings, messages } = collect(request, { strings: [], messages: 0 });
  const around = messages === 0 ? 0 : messages * tokensOfMessage + tokensOfPrompt;
  return estimateTokens(strings, count).then((tokens) => tokens + around);
}

/** Most bytes of a stream that are read for its tokens; what follows them counts in proportion. */
const maxRead = 256 * 1024;

/** Tokens of the text in a stream that was sent in part. */
async function estimateOutput({ sent, sentBytes, count }: CutStream): Promise<number> {
  const text = textOfBody(sent).slice(0, maxRead);
  const assembler = new StreamAssembler();
  // an event that was cut is left out
  assembler.push(text.slice(0, text.lastIndexOf("\n") + 1));
  const answer = assembler.result();
  const written = answer && {
    choices: answer.choices,
    content: answer.content,
    output: answer.output,
    parts: answer.candidates,
  };
  const tokens = await estimateTokens(collect(written, { strings: [], messages: 0 }).strings, count);
  return text.length < maxRead ? tokens : Math.round(tokens * Math.max(1, sentBytes / text.length));
}

/** What is known of a stream that broke off. */
interface CutStream {
  /** What was asked for. */
  request: object;
  /** Counts the provider reported before the end. */
  reported: LoggedUsage | null;
  /** The first bytes that were sent, and how many there were. */
  sent: BodyPieces;
  sentBytes: number;
  count: TokenCounter;
}

/** As `estimateUsage`. The gateway's drain waits for it as for a stream. */
export async function estimateCut(
  stream: Omit<CutStream, "count">,
  { streams, countTokens: count }: Pick<Services, "streams" | "countTokens">,
): Promise<{ usage: LoggedUsage; isEstimated: boolean }> {
  const running: RunningStream = { tick() {}, end() {} };
  streams.add(running);
  try {
    return await estimateUsage({ ...stream, count });
  } finally {
    streams.delete(running);
  }
}

/** Reported counts that are less than this part of the estimate are those of the beginning. */
const leastPart = 0.5;

/**
 * Counts of a stream that broke off. What the provider reported counts before an estimate. Its count of the output can be
 * that of an early event: then the estimate counts.
 */
async function estimateUsage(stream: CutStream): Promise<{ usage: LoggedUsage; isEstimated: boolean }> {
  const { request, reported, count } = stream;
  const known = reported ?? undefined;
  const knownInput = known?.input_tokens ?? 0;
  const input_tokens = knownInput > 0 ? knownInput : await estimateInput(request, count);
  const estimated = await estimateOutput(stream);
  const knownOutput = known?.output_tokens ?? 0;
  const output_tokens = knownOutput > 0 && knownOutput >= estimated * leastPart ? knownOutput : estimated;
  if (known && input_tokens === knownInput && output_tokens === knownOutput)
    return { usage: known, isEstimated: false };
  const usage: LoggedUsage = {
    cached_tokens: 0,
    reasoning_tokens: 0,
    cache_write_tokens: 0,
    audio_input_tokens: 0,
    audio_output_tokens: 0,
    ...known,
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  };
  return { usage, isEstimated: true };
}
