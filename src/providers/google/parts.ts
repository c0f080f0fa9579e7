import type { Candidate, LogprobsResult, Part, TokenOdds } from "./wire.ts";

/** A call of a function, as it is answered. */
interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string; thought_signature?: string };
}

/** A block of an answer as it came: text, thoughts, media, code. */
interface Block {
  /** Neighbours of one kind belong to one block of a stream. */
  kind: string;
  /** What it adds to a block of a stream. */
  delta: Record<string, unknown>;
}

/** A part's call; its id is made of the answer's where the upstream gives none. */
export function toToolCall(
  { functionCall, thoughtSignature }: Part,
  id: string,
  strict: boolean,
): ToolCall | undefined {
  if (!functionCall) return undefined;
  const made = { name: functionCall.name, arguments: JSON.stringify(functionCall.args ?? {}) };
  const signed = !strict && thoughtSignature ? { thought_signature: thoughtSignature } : {};
  return { id: functionCall.id || id, type: "function", function: { ...made, ...signed } };
}

/** A part that is no call as a block; undefined where it says nothing. */
export function toBlock(part: Part): Block | undefined {
  const { text, thought, thoughtSignature, inlineData, executableCode, codeExecutionResult } = part;
  const signed = thoughtSignature ? { thought_signature: thoughtSignature } : {};
  // sound has a member of its own
  if (part.functionCall || inlineData?.mimeType?.startsWith("audio/")) return undefined;
  if (inlineData) {
    const image = { image_url: { url: toDataUrl(inlineData) }, ...(thought && { thought }), ...signed };
    return { kind: "image_url", delta: image };
  }
  if (executableCode) return { kind: "executable_code", delta: { executable_code: executableCode, ...signed } };
  if (codeExecutionResult) {
    return { kind: "code_execution_result", delta: { code_execution_result: codeExecutionResult, ...signed } };
  }
  if (!text && !thoughtSignature) return undefined;
  const said = text ?? "";
  return thought
    ? { kind: "thinking", delta: { thinking: said, ...signed } }
    : { kind: "text", delta: { text: said, ...signed } };
}

/** Bytes as a data URL. */
function toDataUrl({ mimeType, data }: NonNullable<Part["inlineData"]>): string {
  return `data:${mimeType ?? "application/octet-stream"};base64,${data}`;
}

/** The text of parts, thoughts or what is said; undefined when there is none. */
export function textOf(parts: readonly Part[], { thought }: { thought: boolean }): string | undefined {
  const texts = parts.filter((part) => (part.thought === true) === thought).flatMap(({ text }) => text ?? []);
  return texts.length === 0 ? undefined : texts.join("");
}

/** Pictures of an answer, as data URLs. */
export function imagesOf(parts: readonly Part[]): object[] {
  return parts.flatMap(({ inlineData, thought }) =>
    inlineData && !thought && !inlineData.mimeType?.startsWith("audio/")
      ? [{ type: "image_url", image_url: { url: toDataUrl(inlineData) } }]
      : [],
  );
}

const toOdds = ({ token, logProbability }: TokenOdds) => ({
  token: token ?? "",
  logprob: logProbability ?? 0,
  bytes: null,
});

/** How likely the tokens were (https://ai.google.dev/api/generate-content#LogprobsResult); null when it is not told. */
export function toLogprobs(result: LogprobsResult | null | undefined): object | null {
  if (!result?.chosenCandidates) return null;
  const { topCandidates } = result;
  const content = result.chosenCandidates.map((chosen, index) => ({
    ...toOdds(chosen),
    top_logprobs: (topCandidates?.[index]?.candidates ?? []).map(toOdds),
  }));
  return { content, refusal: null };
}

/** What only these models tell of an answer. */
export function extrasOf(candidate: Candidate): Record<string, unknown> {
  const { safetyRatings, groundingMetadata, citationMetadata, urlContextMetadata } = candidate;
  const extras = { safetyRatings, groundingMetadata, citationMetadata, urlContextMetadata };
  return Object.fromEntries(Object.entries(extras).filter(([, value]) => value !== undefined && value !== null));
}
