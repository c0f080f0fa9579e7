import * as v from "valibot";
import { firstPlainIssue } from "../../lib/issues.ts";
import { findJsonExcess } from "../../lib/json.ts";
import type { Line } from "../../lib/lines.ts";
import { type BatchError, BatchLine } from "../../schemas/batches.ts";

/** Routes a batch may call. */
export const batchEndpoints: readonly string[] = [
  ...["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"],
  ...["/v1/moderations", "/v1/rerank", "/v1/ocr", "/v1/decisions", "/v1/images/generations"],
];

/** Longest line of an input. */
export const maxLineBytes = 8 * 1024 * 1024;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A request of a batch, or what is wrong with its line. */
export type ParsedLine = { request: BatchLine; url: string } | { problem: BatchError };

function problem(code: string, message: string, param: string | null = null): ParsedLine {
  return { problem: { code, message, param } };
}

/** Whether a line holds nothing: such lines are skipped. */
export function isBlank({ bytes, isTooLong }: Line): boolean {
  return !isTooLong && bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function readJson(bytes: Uint8Array): unknown {
  return findJsonExcess(bytes) === undefined ? JSON.parse(decoder.decode(bytes)) : undefined;
}

/** Reads one line. @param endpoint Route of lines that name none. */
export function parseLine({ bytes, isTooLong }: Line, endpoint: string): ParsedLine {
  if (isTooLong) return problem("line_too_long", `The line is longer than ${maxLineBytes / 2 ** 20} MiB`);
  let value: unknown;
  try {
    value = readJson(bytes);
  } catch {
    return problem("invalid_json_line", "The line is not valid JSON");
  }
  const checked = v.safeParse(BatchLine, value, firstPlainIssue);
  if (!checked.success) {
    const [issue] = checked.issues;
    const path = v.getDotPath(issue);
    return problem("invalid_request_line", path === null ? issue.message : `${path}: ${issue.message}`, path);
  }
  const request = checked.output;
  const url = request.url ?? endpoint;
  if (batchEndpoints.includes(url)) return { request, url };
  return problem("invalid_url", `The url is not one batches can call: use ${batchEndpoints.join(", ")}`, "url");
}
