import * as v from "valibot";
import { type ExactValue, holdsInfinite, parseExactBytes } from "../../lib/exact-numbers.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { findJsonExcess } from "../../lib/json.ts";
import type { Line } from "../../lib/lines.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { type BatchError, BatchLine } from "../../schemas/batches.ts";

/** Operations of the routes a batch may call. */
export const batchOperations: Readonly<Record<string, OperationName>> = {
  "/v1/chat/completions": "chat",
  "/v1/completions": "complete",
  "/v1/embeddings": "embed",
  "/v1/responses": "responses",
  "/v1/messages": "messages",
  "/v1/moderations": "moderate",
  "/v1/rerank": "rerank",
  "/v1/ocr": "ocr",
  "/v1/decisions": "decide",
  "/v1/images/generations": "generateImage",
};

/** Routes a batch may call. */
export const batchEndpoints: readonly string[] = Object.keys(batchOperations);

/** Longest line of an input. */
export const maxLineBytes = 8 * 1024 * 1024;

/** A request of a batch, or what is wrong with its line. */
export type ParsedLine = BatchRequest | { problem: BatchError };

/** A request of a batch. */
export interface BatchRequest extends Pick<ExactValue, "write"> {
  request: BatchLine;
  url: string;
}

function problem(code: string, message: string, param: string | null = null): ParsedLine {
  return { problem: { code, message, param } };
}

/** Whether a line is blank: such lines are skipped. */
export function isBlank({ bytes, isTooLong }: Line): boolean {
  return !isTooLong && bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

function readJson(bytes: Uint8Array): ExactValue | undefined {
  return findJsonExcess(bytes) === undefined ? parseExactBytes(bytes) : undefined;
}

/**
 * Parses one line.
 *
 * @param endpoint Route of lines that name none.
 */
export function parseLine({ bytes, isTooLong }: Line, endpoint: string): ParsedLine {
  if (isTooLong) return problem("line_too_long", `The line is longer than ${maxLineBytes / 2 ** 20} MiB`);
  let read: ExactValue | undefined;
  try {
    read = readJson(bytes);
  } catch {
    return problem("invalid_json_line", "The line is not valid JSON");
  }
  const checked = v.safeParse(BatchLine, read?.value, firstPlainIssue);
  if (!checked.success) {
    const [issue] = checked.issues;
    const path = v.getDotPath(issue);
    return problem("invalid_request_line", path === null ? issue.message : `${path}: ${issue.message}`, path);
  }
  if (read?.numbers?.infinite !== undefined || holdsInfinite(read?.value)) {
    return problem("invalid_request_line", "The line holds a number that is not finite");
  }
  const request = checked.output;
  const url = request.url ?? endpoint;
  if (batchEndpoints.includes(url)) return { request, url, write: read?.write ?? JSON.stringify };
  return problem("invalid_url", `The url must be a route batches can call: ${batchEndpoints.join(", ")}`, "url");
}
