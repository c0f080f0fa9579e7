import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { GatewayError } from "../../errors.ts";
import { readLines } from "../../lib/lines.ts";
import type { InlineRules } from "../../providers/core/records.ts";
import type { BatchLine } from "../../schemas/batches.ts";
import { refuseServerTool } from "../call/refused-tools.ts";
import { isBlank, maxLineBytes, parseLine } from "./lines.ts";
import { type StepParts, tenantOf } from "./progress.ts";
import { ProviderFailure } from "./provider-request.ts";

/** Requests of the input, each with method, route and model. */
async function* readRequests(
  content: AsyncIterable<Uint8Array>,
  { endpoint, model }: GatewayBatchRow,
): AsyncGenerator<BatchLine, void> {
  for await (const line of readLines(content, { maxBytes: maxLineBytes })) {
    if (isBlank(line)) continue;
    const parsed = parseLine(line, endpoint);
    // the file was validated before
    if ("problem" in parsed) throw new ProviderFailure("invalid_request_line", "A line of the input cannot be parsed");
    const { request, url } = parsed;
    const body = model === null ? request.body : { model, ...request.body };
    yield { custom_id: request.custom_id, method: "POST", url, body };
  }
}

async function openRequests(row: GatewayBatchRow, { services: { files } }: StepParts) {
  const input = await files.find(tenantOf(row), row.inputFileId);
  if (!input) throw new ProviderFailure("input_file_gone", "The input file was deleted");
  return readRequests(files.read(input), row);
}

async function* toBytes(requests: AsyncIterable<BatchLine>): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const request of requests) yield encoder.encode(`${JSON.stringify(request)}\n`);
}

/**
 * The input in the provider's shape, line by line.
 *
 * @throws {ProviderFailure} If the file was deleted.
 */
export async function readProviderLines(
  row: GatewayBatchRow,
  parts: StepParts,
): Promise<AsyncGenerator<Uint8Array, void>> {
  return toBytes(await openRequests(row, parts));
}

/**
 * The call that creates a batch of these requests, its headers the union of what they need; undefined where one of them
 * cannot be converted: called one by one, only that one fails.
 *
 * @throws {ProviderFailure} If the input file was deleted.
 */
export async function toInlineCreation(row: GatewayBatchRow, { toEntry }: InlineRules, parts: StepParts) {
  const requests: object[] = [];
  const lists = new Map<string, Set<string>>();
  try {
    for await (const line of await openRequests(row, parts)) {
      const { entry, headers = {} } = toEntry(line, { drop: (member) => refuseServerTool(member, "chat", {}) });
      requests.push(entry);
      for (const [name, members] of Object.entries(headers)) {
        lists.set(name, new Set([...(lists.get(name) ?? []), ...members]));
      }
    }
  } catch (error) {
    if (error instanceof GatewayError && error.status < 500) return undefined;
    throw error;
  }
  const headers = Object.fromEntries([...lists].map(([name, members]) => [name, [...members].join(",")]));
  return { body: { requests }, headers };
}
