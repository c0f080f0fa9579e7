import { toUnit } from "../../cache/vectors.ts";
import { createOwnRequest } from "../../context/own-request.ts";
import type { ConnectionInfo, HandleRequest } from "../../context.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { readBytes } from "../../lib/body.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import { finiteNumber, isObject, objectsIn, parseJson, stringOf } from "../../lib/json.ts";
import { toFloats } from "../cache/embedding.ts";

/** Longest time for a call. */
const timeoutMs = 60_000;
/** Largest answer: 16 vectors of 16,384 numbers. */
const maxAnswerBytes = 8 * 2 ** 20;

/** In whose name embeddings are asked for. */
interface EmbeddingCaller {
  readonly handle: HandleRequest;
  readonly principal: NonNullable<ConnectionInfo["actingFor"]>;
  /** Headers that name its trace. */
  readonly trace: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Metadata of the request, on which policies may depend. Absent: there is no request. */
  readonly metadata?: string | null;
}

/** Vectors of length 1, in the order of the strings; or why the call failed. */
export type Embedded =
  | { readonly vectors: readonly Float32Array[] }
  | { readonly status: number; readonly problem: string };

function readVectors(answer: unknown, count: number): Embedded {
  const items = objectsIn(isObject(answer) ? answer.data : undefined);
  const vectors: Float32Array[] = [];
  for (const [place, item] of items.entries()) {
    const floats = toFloats(item.embedding);
    // a vector without a direction is near to nothing
    if (floats) vectors[finiteNumber(item.index) ?? place] = toUnit(floats) ?? floats.fill(0);
  }
  const length = vectors[0]?.length ?? 0;
  const isWhole = vectors.length === count && length > 0 && Array.from(vectors).every((one) => one?.length === length);
  return isWhole ? { vectors } : { status: 502, problem: "the answer does not have a vector for each text" };
}

/** Asks for the vectors of strings, as a request of the caller: its limits, its budget, guardrails and its log apply. */
export async function embedStrings(
  strings: readonly string[],
  { embeddings, dimensions }: Pick<VectorStoreRow, "embeddings" | "dimensions">,
  { handle, principal, trace, signal, metadata }: EmbeddingCaller,
): Promise<Embedded> {
  const headers = {
    "content-type": "application/json",
    ...trace,
    "x-gateway-request-timeout": String(timeoutMs),
    ...(metadata != null && isHeaderValue(metadata) && { "x-gateway-metadata": metadata }),
  };
  const body = JSON.stringify({ model: embeddings, input: strings, ...(dimensions !== null && { dimensions }) });
  try {
    const init = { method: "POST", headers, body, signal };
    const response = await handle(createOwnRequest("/v1/embeddings", init), {
      actingFor: principal,
      ignoresConfig: true,
    });
    const bounds = { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs };
    const answer = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
    if (response.status === 200) return readVectors(answer, strings.length);
    const error = isObject(answer) && isObject(answer.error) ? answer.error : {};
    return { status: response.status, problem: stringOf(error.message) ?? `it failed with ${response.status}` };
  } catch {
    return { status: 502, problem: "its answer cannot be read" };
  }
}
