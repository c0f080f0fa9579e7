import { toExtraContent } from "../shared/extra-content.ts";
import type { Candidate, LogprobsResult, Part, TokenOdds } from "./wire.ts";

/** A function call in the gateway's shape. */
interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string; thought_signature?: string };
  /** Where clients of Google's OpenAI-compatible endpoint expect the signature. */
  extra_content?: ReturnType<typeof toExtraContent>;
}

/** A content block of a response: text, reasoning, media or code. */
interface Block {
  /** Kind; consecutive blocks of one kind form one block of a stream. */
  kind: string;
  /** What it adds to a block of a stream. */
  delta: Record<string, unknown>;
}

/**
 * A part's function call; without an upstream id its id is derived from the response's. The signature is part of strict
 * responses too, because the model demands it back
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai).
 */
export function toToolCall(
  { functionCall, thoughtSignature }: Part,
  id: string,
  strict: boolean,
): ToolCall | undefined {
  if (!functionCall) return undefined;
  const made = { name: functionCall.name, arguments: JSON.stringify(functionCall.args ?? {}) };
  const signed = !strict && thoughtSignature ? { thought_signature: thoughtSignature } : {};
  return {
    id: functionCall.id || id,
    type: "function",
    function: { ...made, ...signed },
    ...(thoughtSignature && { extra_content: toExtraContent(thoughtSignature) }),
  };
}

/** A part that is not a function call as a block; undefined for empty parts. */
export function toBlock(part: Part): Block | undefined {
  const { text, thought, thoughtSignature, inlineData, executableCode, codeExecutionResult } = part;
  const signed = thoughtSignature ? { thought_signature: thoughtSignature } : {};
  // audio has a separate field
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

/** The joined text of the parts, either reasoning or output; undefined without such parts. */
export function textOf(parts: readonly Part[], { thought }: { thought: boolean }): string | undefined {
  const strings = parts.filter((part) => (part.thought === true) === thought).flatMap(({ text }) => text ?? []);
  return strings.length === 0 ? undefined : strings.join("");
}

/** Images of a response, as data URLs. */
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

/** Log probabilities of the tokens (https://ai.google.dev/api/generate-content#LogprobsResult); null when missing. */
export function toLogprobs(result: LogprobsResult | null | undefined): object | null {
  if (!result?.chosenCandidates) return null;
  const { topCandidates } = result;
  const content = result.chosenCandidates.map((chosen, index) => ({
    ...toOdds(chosen),
    top_logprobs: (topCandidates?.[index]?.candidates ?? []).map(toOdds),
  }));
  return { content, refusal: null };
}

/** Response fields only these models have. */
export function extrasOf(candidate: Candidate): Record<string, unknown> {
  const { safetyRatings, groundingMetadata, citationMetadata, urlContextMetadata } = candidate;
  const extras = { safetyRatings, groundingMetadata, citationMetadata, urlContextMetadata };
  return Object.fromEntries(Object.entries(extras).filter(([, value]) => value !== undefined && value !== null));
}
