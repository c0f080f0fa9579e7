import type { ConnectionInfo } from "../../context.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { readChunks } from "../../lib/body.ts";
import { type ExactValue, parseExactBytes } from "../../lib/exact-numbers.ts";
import { findJsonExcess, isObject, stringOf } from "../../lib/json.ts";
import { type Line, readLines } from "../../lib/lines.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import type { InlineRules } from "../../providers/core/records.ts";
import { costOfBatchLine } from "../call/cost.ts";
import { errorOf, type LineResult, lineId, maxAnswerBytes, noTokens, tokensOf, toSkippedResult } from "./call-line.ts";
import { isBlank } from "./lines.ts";
import { commit, type OpenBatch, type StepParts, storeResults } from "./progress.ts";
import type { ProviderBatch } from "./provider-batch.ts";
import { askForRecord, askProvider, ProviderFailure, toSegment } from "./provider-request.ts";

/** Lines stored in one transaction, and their bytes. */
const storedLines = 1_000;
const storedBytes = 4 * 1024 * 1024;

function readRow({
  bytes,
  isTooLong,
}: Line): (Pick<ExactValue, "write"> & { row: Record<string, unknown> }) | undefined {
  try {
    if (isTooLong || findJsonExcess(bytes) !== undefined) return undefined;
    const { value, write } = parseExactBytes(bytes);
    return isObject(value) ? { row: value, write } : undefined;
  } catch {
    return undefined;
  }
}

/** The response in a result line; undefined where the request has none. */
function answerOf({ response }: Record<string, unknown>) {
  if (!isObject(response) || typeof response.status_code !== "number") return undefined;
  const { status_code, request_id: id, body = null } = response;
  return { status_code, request_id: typeof id === "string" ? id : "", body };
}

/** What the cost of a batch's lines is computed from. */
interface LinePrices {
  provider: string;
  /** The requested model. */
  model: string | null;
  prices: PriceList | undefined;
}

/** Nano-dollars of a response at the batch price; null where it is not known. */
function costOf(body: unknown, target: LinePrices): number | null {
  if (!isObject(body)) return null;
  const answeredModel = stringOf(body.model) ?? null;
  return costOfBatchLine(body, { ...target, answeredModel }) ?? null;
}

/** What one step of reading results needs. */
interface CollectParts extends StepParts {
  /** Converts a result line of the provider to OpenAI's shape; absent: it has that shape already. */
  toLine?: InlineRules["toLine"] | undefined;
}

/** The line in OpenAI's shape; undefined where it cannot be parsed. */
function toOpenAIForm(row: Record<string, unknown>, toLine: CollectParts["toLine"], model: string) {
  if (!toLine) return row;
  try {
    const line = toLine(row, model);
    return isObject(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

/** A result line of the provider as a line of our output files. */
function toResult(line: Line, batchId: string, { toLine, ...prices }: LinePrices & Pick<CollectParts, "toLine">) {
  const found = readRow(line);
  const row = found && toOpenAIForm(found.row, toLine, prices.model ?? "");
  if (!found || !row || typeof row.custom_id !== "string") {
    return toSkippedResult(batchId, "", {
      code: "unreadable_row",
      message: "The provider's result line cannot be parsed",
    });
  }
  const answer = answerOf(row);
  const status = answer?.status_code ?? 0;
  const isFailure = isObject(row.error) || status < 200 || status > 299;
  const error = isFailure ? errorOf(isObject(row.error) ? row : answer?.body, status) : null;
  const id = typeof row.id === "string" && row.id !== "" ? row.id : lineId(batchId);
  return {
    text: found.write({ id, custom_id: row.custom_id, response: answer ?? null, error }),
    isFailure,
    tokens: answer ? tokensOf(answer.body) : noTokens,
    cost: isFailure ? null : costOf(answer?.body, prices),
  };
}

/** Where the results are: the output file first, then the error file. Undefined: there are no results. */
function pathOf(row: GatewayBatchRow, batch: ProviderBatch): string | undefined {
  const { output_file_id: output, error_file_id: errors } = batch;
  if (row.collected === 1) return errors ? `/v1/files/${toSegment(errors)}/content` : undefined;
  const hasOutput = output || (row.providerStatus === "completed" && !errors);
  return hasOutput ? `/v1/batches/${toSegment(row.providerBatchId ?? "")}/output` : undefined;
}

/** Missing results: where a batch ended early, or each of its lines failed, there may be none. */
const missing: ReadonlySet<number> = new Set([404, 409]);

async function open(row: GatewayBatchRow, path: string, parts: StepParts): Promise<Response | undefined> {
  try {
    return await askProvider(row, { what: "read the results", path }, parts);
  } catch (error) {
    if (!(error instanceof ProviderFailure) || !missing.has(error.status ?? 0)) throw error;
    if (error.status === 404 && row.providerStatus === "completed") throw error;
    return undefined;
  }
}

/** Chunks of the results; a download that breaks off is retried. */
async function* readAnswer(response: Response): AsyncGenerator<Uint8Array, void> {
  try {
    yield* readChunks(response);
  } catch {
    throw new ProviderFailure("answers_broke_off", "The results broke off while they were read", { isPassing: true });
  }
}

/** Reads the results, from where the previous process stopped. */
async function storeAnswers(
  held: OpenBatch,
  { response, prices }: { response: Response; prices: LinePrices },
  parts: CollectParts,
): Promise<void> {
  const { id, total, position: done } = held.row;
  let results: LineResult[] = [];
  let bytes = 0;
  let position = 0;
  let rows = 0;
  const store = async () => {
    if (results.length === 0) return;
    const change = await storeResults(held.row, { results, position }, parts);
    held.row = { ...held.row, ...change, turn: held.row.turn + 1 };
    results = [];
    bytes = 0;
  };
  for await (const line of readLines(readAnswer(response), { maxBytes: maxAnswerBytes })) {
    position++;
    if (isBlank(line)) continue;
    // a batch has at most one result per request: whatever a host sends beyond that is not stored
    if (++rows > total) break;
    if (position <= done) continue;
    results.push(toResult(line, id, { ...prices, toLine: parts.toLine }));
    bytes += line.bytes.length;
    if (results.length >= storedLines || bytes >= storedBytes) await store();
  }
  await store();
}

/** Prices of the integration behind a batch: the destination of a request for its state has them. */
async function findPrices(row: GatewayBatchRow, parts: StepParts): Promise<LinePrices> {
  const { provider, model, providerBatchId } = row;
  let prices: PriceList | null = null;
  const path = `/v1/batches/${toSegment(providerBatchId ?? "")}`;
  const onSettled: ConnectionInfo["onSettled"] = (settled) => {
    prices = settled.prices;
  };
  await askForRecord(row, { what: "read the state of the batch", path, onSettled }, parts);
  return { provider: provider ?? "", model, prices: prices ?? undefined };
}

/** Reads one of the provider's two result files into those of the gateway. */
export async function collectAnswers(held: OpenBatch, batch: ProviderBatch, parts: CollectParts): Promise<void> {
  const path = pathOf(held.row, batch);
  if (path !== undefined) {
    const prices = await findPrices(held.row, parts);
    const response = await open(held.row, path, parts);
    if (response) await storeAnswers(held, { response, prices }, parts);
  }
  await commit(held.row, { collected: held.row.collected + 1, position: 0 }, parts);
}
