import type { CallerContext } from "../../context.ts";
import { isJsonType } from "../../endpoint/body.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import { type ExactValue, parseExact } from "../../lib/exact-numbers.ts";
import { isObject, stringOf } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";

/** A response as guardrails read it. */
interface ReadAnswer extends Pick<ExactValue, "write"> {
  readonly text: string;
  readonly value: Body;
  /** Why guardrails cannot change it; absent where they can. */
  readonly fixedBecause?: string;
  /** The text of the response with the guardrail results, where its format has room for them. */
  withResults(text: string, results: string): string;
}

const decoder = new TextDecoder();

/** The text of a JSON object with the guardrail results, as JSON, appended; its own fields stay as they were written. */
function withResults(text: string, results: string): string {
  const end = text.lastIndexOf("}");
  const isEmpty = text.slice(0, end).trimEnd().endsWith("{");
  return `${text.slice(0, end)}${isEmpty ? "" : ","}"hook_results":${results}}`;
}

/** Request types whose responses may be plain text. */
const plainTypes: ReadonlySet<RequestType> = new Set(["createTranscription", "createTranslation"]);
/** A line of SubRip or WebVTT subtitles that says when the next lines are shown. */
const timing = /^\s*(?:\d+:)?\d+:\d\d[.,]\d{3}\s+-->/;

/** What subtitles say, without their times; undefined for other text. */
function readSubtitles(text: string): string | undefined {
  const lines = text.split(/\r\n|\n|\r/);
  if (!lines.some((line) => timing.test(line))) return undefined;
  return lines.filter((line) => line.trim() !== "" && !timing.test(line) && !/^\s*\d+\s*$/.test(line)).join(" ");
}

/** A transcript in plain text, or in subtitles. */
function readPlain(text: string): ReadAnswer {
  const said = readSubtitles(text);
  const shared = {
    text,
    write: (body: unknown) => stringOf(Object(body).text) ?? "",
    withResults: (one: string) => one,
  };
  if (said === undefined) return { ...shared, value: { text } };
  return { ...shared, value: { text, segments: [{ text: said }] }, fixedBecause: "Cannot change subtitles" };
}

/** A response as guardrails read it; undefined for one without text. */
export function readAnswer(
  { headers, body, parsed }: Reply,
  { requestType, context: { numbers } }: { requestType: RequestType; context: CallerContext },
): ReadAnswer | undefined {
  if (parsed && parsed.text === body && isObject(parsed.value)) {
    return { text: parsed.text, value: parsed.value, write: JSON.stringify, withResults };
  }
  if (body === null || body instanceof ReadableStream) return undefined;
  const isJson = isJsonType(headers["content-type"] ?? "");
  if (!isJson && !plainTypes.has(requestType)) return undefined;
  const text = typeof body === "string" ? body : decoder.decode(body);
  try {
    const { value, write } = parseExact(text, numbers);
    if (isJson && isObject(value)) return { text, value, write, withResults };
  } catch {
    // it is plain text
  }
  return plainTypes.has(requestType) ? readPlain(text) : undefined;
}
