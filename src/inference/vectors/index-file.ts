import type { Principal } from "../../auth/principal.ts";
import type { Services } from "../../context.ts";
import { leaseMs } from "../../control/leased-runner.ts";
import type { BlockSeal } from "../../control/vector-stores/block-seal.ts";
import type { VectorStoreFileRow, VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { ExcessError } from "../../lib/budget.ts";
import { blockChunks, blockTokens } from "./block-size.ts";
import { type Chunk, findChunks, textOf } from "./chunks.ts";
import { type Embedded, embedStrings } from "./embed.ts";
import { createFileBudget, readText, UnreadableFile } from "./read-text.ts";

/** Most chunks of a store. */
const maxChunks = 100_000;
/** Calls for the embeddings of a block. */
const maxCalls = 3;
/** Failures in a row after which a file is given up. */
const maxAttempts = 10;

/** A failure that may be temporary: the file is continued later. */
export class LaterError extends Error {
  override readonly name = "LaterError";
}

/** A file that cannot become part of its store. */
class FailedFile extends Error {
  override readonly name = "FailedFile";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What indexing a file needs. */
interface IndexParts {
  readonly services: Services;
  /** Name of the runner that holds the file. */
  readonly owner: string;
  /** Ends running calls. */
  readonly signal: AbortSignal;
  wait(milliseconds: number): Promise<void>;
}

/** A file, its text and what is stored so far. */
interface Work {
  row: VectorStoreFileRow;
  readonly store: VectorStoreRow;
  readonly seal: BlockSeal;
  readonly principal: Principal;
  readonly text: string;
  readonly chunks: readonly Chunk[];
}

/** Failures that may pass: limits, and providers that are away. */
function isTemporary(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status > 499;
}

/** What a refusal says of the file: a guardrail (446) refuses its content, others the call. */
function failureOf({ status, problem }: { status: number; problem: string }): FailedFile {
  return new FailedFile(status === 446 ? "invalid_file" : "server_error", `Cannot make its vectors: ${problem}`);
}

async function embedBlock(
  contents: readonly string[],
  { store, principal }: Work,
  parts: IndexParts,
): Promise<Embedded> {
  const { services, signal, wait } = parts;
  for (let call = 1; ; call++) {
    const embedded = await embedStrings(contents, store, {
      handle: services.handle,
      principal,
      trace: { "x-gateway-trace-id": store.id },
      signal,
    });
    signal.throwIfAborted();
    if (!("problem" in embedded) || !isTemporary(embedded.status) || call === maxCalls) return embedded;
    await wait(1_000 * 2 ** (call - 1));
  }
}

/** Chunks of the next block: as many as one call takes. */
function nextBlock({ row, chunks }: Work): readonly Chunk[] {
  const most = Math.min(blockChunks, Math.floor(blockTokens / row.chunkTokens) || 1);
  return chunks.slice(row.position, row.position + most);
}

/** Vectors of one length, one after the other. */
function joinVectors(vectors: readonly Float32Array[], length: number): Float32Array<ArrayBuffer> {
  const joined = new Float32Array(vectors.length * length);
  for (const [place, vector] of vectors.entries()) joined.set(vector, place * length);
  return joined;
}

/** Makes the vectors of the next block, and stores them together with the new position. */
async function storeBlock(work: Work, parts: IndexParts): Promise<void> {
  const { row, store, seal, text } = work;
  const block = nextBlock(work);
  const contents = block.map((chunk) => textOf(text, chunk));
  const embedded = await embedBlock(contents, work, parts);
  if ("problem" in embedded) {
    if (isTemporary(embedded.status) && row.attempts + 1 < maxAttempts) throw new LaterError(embedded.problem);
    throw failureOf(embedded);
  }
  const length = embedded.vectors[0]?.length ?? 0;
  const { control, vectorStores, clock } = parts.services;
  const known = await control.stores.vectorStores.find(store, { id: store.id, status: "open" });
  if (known?.length != null && known.length !== length) {
    throw new FailedFile("server_error", "Cannot make its vectors: they differ in length from those of the store");
  }
  const sealed = await seal.seal(
    { fileId: row.id, seq: row.position },
    joinVectors(embedded.vectors, length),
    contents,
  );
  const change = {
    position: row.position + block.length,
    bytes: row.bytes + sealed.vectors.length + sealed.contents.length,
    attempts: 0,
    leaseUntil: clock.now() + leaseMs,
  };
  await vectorStores.store.write([
    vectorStores.store.insertBlock(row, parts.owner, sealed),
    vectorStores.store.setLength(row, length),
    vectorStores.store.step(row, parts.owner, change),
  ]);
  work.row = { ...row, ...change, turn: row.turn + 1 };
}

/** Reads and divides a file; a store that has chunks already has less room. */
async function openWork(row: VectorStoreFileRow, { services }: IndexParts): Promise<Work | undefined> {
  const { control, vectorStores, files, authenticator, clock } = services;
  const { organisationId, workspaceId, storeId } = row;
  const tenant = { organisationId, workspaceId };
  const store = await control.stores.vectorStores.find(tenant, { id: storeId, status: "open" });
  if (!store) return undefined;
  const file = await files.find(tenant, row.id);
  if (!file) throw new FailedFile("invalid_file", "The file was deleted");
  const principal = await authenticator.ofKey(row.apiKeyId);
  if (!principal || principal.workspaceId !== workspaceId) {
    throw new FailedFile("server_error", "The API key that added the file can no longer be used");
  }
  const budget = createFileBudget();
  const text = await readText(file, files.read(file), budget);
  const counts = await vectorStores.store.counts(tenant, { ids: [storeId], now: clock.now() });
  const most = maxChunks - ((counts.get(storeId)?.chunks ?? 0) - row.position);
  const rules = { tokens: row.chunkTokens, overlap: row.chunkOverlap };
  const chunks = await budget.run(findChunks(text, rules, { budget, most: Math.max(0, most) }));
  if (chunks.length === 0) throw new FailedFile("invalid_file", "The file has no text");
  return { row, store, seal: await vectorStores.sealOf(store), principal, text, chunks };
}

/** What a failure makes of a file; undefined for failures of the gateway, after which another runner continues. */
function toFailure(error: unknown): { errorCode: string; errorMessage: string } | undefined {
  if (error instanceof ExcessError) return { errorCode: "invalid_file", errorMessage: error.message };
  if (!(error instanceof FailedFile) && !(error instanceof UnreadableFile)) return undefined;
  return { errorCode: error.code, errorMessage: error.message.slice(0, 1_000) };
}

/** Makes the vectors of a file, from where the last runner ended. Each block is stored by itself. */
export async function indexFile(row: VectorStoreFileRow, parts: IndexParts): Promise<void> {
  const { store } = parts.services.vectorStores;
  let last = row;
  try {
    const work = await openWork(row, parts);
    if (!work) return;
    while (work.row.position < work.chunks.length) {
      parts.signal.throwIfAborted();
      await storeBlock(work, parts);
      last = work.row;
    }
    await store.write([store.step(last, parts.owner, { status: "completed", leaseUntil: 0 })]);
  } catch (error) {
    const failure = toFailure(error);
    if (!failure) throw error;
    await store.write([store.step(last, parts.owner, { ...failure, status: "failed", leaseUntil: 0 })]);
  }
}
