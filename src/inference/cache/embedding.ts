import type { SemanticSettings } from "../../cache/semantic-settings.ts";
import { headersOfTrace } from "../../context/own-request.ts";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { toRecord } from "../../control/settings.ts";
import { fromBase64 } from "../../lib/base64.ts";
import { readBytes } from "../../lib/body.ts";
import { isObject, parseJson } from "../../lib/json.ts";

/** What makes embeddings of questions. */
export interface Embedder {
  /** Slug of a stored provider. */
  readonly provider: string;
  readonly model: string;
  /** Numbers of a vector that are asked for; undefined: as many as the model makes. */
  readonly dimensions: number | undefined;
  /** Smallest cosine at which two questions count as one. */
  readonly threshold: number;
}

/** Models that make shorter vectors when asked. */
const reducible =
  /text-embedding-3|gemini-embedding|embed-v4|voyage-(?:3|4|code-3)|jina-embeddings-v[3-9]|titan-embed-text-v2/;
const reducedDimensions = 256;
const defaultModel = "text-embedding-3-small";
const defaultThreshold = 0.95;

const maxAnswerBytes = 1024 * 1024;
const maxDimensions = 16_384;
/** Longest time for an embedding: the request waits for it. */
const timeoutMs = 10_000;

/** Embedders by view, dropped together with the views. */
const ofViews = new WeakMap<WorkspaceView, Embedder | null>();

function toEmbedder({ provider, model = defaultModel, dimensions, threshold }: SemanticSettings): Embedder | null {
  if (provider === undefined) return null;
  return {
    provider: provider.replace(/^@/, ""),
    model,
    dimensions: dimensions ?? usualDimensions(model),
    threshold: threshold ?? defaultThreshold,
  };
}

/** What makes the embeddings of a workspace; null if nothing does. */
export function embedderOf(view: WorkspaceView, ofOperator: SemanticSettings): Embedder | null {
  const known = ofViews.get(view);
  if (known !== undefined) return known;
  // the column only holds what passed its schema; null stands for an absent field
  const own = toRecord(toRecord(view.organisation.settings).semantic_cache);
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== null)) as SemanticSettings;
  const embedder = toEmbedder({ ...ofOperator, ...given });
  ofViews.set(view, embedder);
  return embedder;
}

/** Numbers of a vector that a model is asked for, unless others are set; undefined: as many as it makes. */
export function usualDimensions(model: string): number | undefined {
  return reducible.test(model) ? reducedDimensions : undefined;
}

/** The numbers of an embedding; undefined for anything else. */
export function toFloats(embedding: unknown): Float32Array | undefined {
  if (Array.isArray(embedding)) {
    const isUsable = embedding.length > 0 && embedding.length <= maxDimensions && embedding.every(Number.isFinite);
    return isUsable ? Float32Array.from(embedding) : undefined;
  }
  if (typeof embedding !== "string" || embedding.length > maxDimensions * 6) return undefined;
  try {
    const bytes = fromBase64(embedding);
    return bytes.length > 0 && bytes.length % 4 === 0 ? new Float32Array(bytes.slice().buffer) : undefined;
  } catch {
    return undefined;
  }
}

/** The headers of a request for an embedding: it belongs to the trace and the metadata of the caller's. */
function headersOf({ provider }: Embedder, context: CallerContext): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-gateway-provider": `@${provider}`,
    ...headersOfTrace(context),
    "x-gateway-metadata": JSON.stringify(context.metadata),
    "x-gateway-request-timeout": String(timeoutMs),
  };
}

/**
 * The embedding of a text, asked for as a request of the caller: its limits, its budget and its log apply.
 *
 * @returns The vector, or why it could not be made.
 */
export async function embed(
  text: string,
  embedder: Embedder,
  context: CallerContext,
): Promise<Float32Array | { problem: string }> {
  const { model, dimensions } = embedder;
  const body = JSON.stringify({ model, input: text, ...(dimensions !== undefined && { dimensions }) });
  const request = new Request("http://gateway.internal/v1/embeddings", {
    method: "POST",
    headers: headersOf(embedder, context),
    body,
    signal: context.request.signal,
  });
  try {
    const response = await context.services.handle(request, { actingFor: context.principal, ignoresConfig: true });
    const bounds = { bytes: maxAnswerBytes, totalMs: timeoutMs, silenceMs: timeoutMs };
    const answer = parseJson(new TextDecoder().decode(await readBytes(response, bounds)));
    if (response.status !== 200) return { problem: `the embedding failed with ${response.status}` };
    const [first] = isObject(answer) && Array.isArray(answer.data) ? answer.data : [];
    return toFloats(isObject(first) ? first.embedding : undefined) ?? { problem: "the embedding is not a vector" };
  } catch {
    return { problem: "the embedding could not be read" };
  }
}
