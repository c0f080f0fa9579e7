// bun bench/vector-store.ts [options]: how long a search of a full vector store takes, and the memory that it needs. The
// store is filled through the API, with vectors of a model on loopback.
//   --chunks N    chunks of the store (100000)
//   --searches N  searches one after the other, and then four at a time (20)
// Ends with 1 where a search does not find the chunk that it asks for.

import { createServer, type Server } from "node:http";
import { parseArgs } from "node:util";
import { median, peakRssMegabytes, rssMegabytes } from "./measure.ts";
import { keys, type Running, runMain, startGateway, wait } from "./processes.ts";

/** Numbers of a vector: what the gateway asks models for that can make short ones. */
const dimensions = 256;
/** Characters of a chunk of 100 tokens, with room for the line feeds between two. */
const chunkCharacters = 390;
/** Most chunks of a file: fewer than 16 MiB of text. */
const fileChunks = 25_000;
const strategy = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };

/** The vector of a text: numbers that follow from its characters. */
function vectorOf(text: string): number[] {
  let state = 1;
  for (let index = 0; index < text.length; index++) state = (Math.imul(state, 31) + text.charCodeAt(index)) | 0;
  return Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.round((state / 2 ** 31) * 1e4) / 1e4;
  });
}

/** A model of embeddings on loopback; `made` counts its vectors. */
async function startModel(): Promise<{ url: string; server: Server; made: () => number }> {
  let made = 0;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const { input } = JSON.parse(Buffer.concat(parts).toString());
    const strings: string[] = Array.isArray(input) ? input : [input];
    made += strings.length;
    const data = strings.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }));
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", model: "m", data, usage }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return { url: `http://127.0.0.1:${port}/v1`, server, made: () => made };
}

/** The text of a chunk, which no other has. */
const chunkOf = (index: number): string => `Chunk ${index}: `.padEnd(chunkCharacters, `part ${index} of the store. `);

async function send<Answer>({ port }: Running, path: string, body: object | FormData): Promise<Answer> {
  const isForm = body instanceof FormData;
  const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
    method: "POST",
    headers: { "x-gateway-api-key": keys.workspace, ...(!isForm && { "content-type": "application/json" }) },
    body: isForm ? body : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer as Answer; // of the gateway of this repository
}

/** A store with this many chunks. */
async function fill(gateway: Running, modelUrl: string, chunks: number): Promise<string> {
  await send(gateway, "/integrations", {
    name: "vectors",
    slug: "vectors-i",
    ai_provider_id: "openai",
    key: keys.provider,
    configurations: { custom_host: modelUrl },
    create_default_provider: false,
  });
  await send(gateway, "/providers", { name: "vectors", slug: "vectors", integration_id: "vectors-i" });
  const { id } = await send<{ id: string }>(gateway, "/vector_stores", { embedding_model: "@vectors/m" });
  for (let start = 0; start < chunks; start += fileChunks) {
    const count = Math.min(fileChunks, chunks - start);
    const text = Array.from({ length: count }, (_, index) => chunkOf(start + index)).join("\n\n");
    const form = new FormData();
    form.set("purpose", "assistants");
    form.set("file", new File([text], `part-${start}.txt`));
    const file = await send<{ id: string }>(gateway, "/files", form);
    await send(gateway, `/vector_stores/${id}/files`, { file_id: file.id, chunking_strategy: strategy });
  }
  return id;
}

async function untilFilled({ port }: Running, id: string): Promise<void> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/vector_stores/${id}`, {
      headers: { "x-gateway-api-key": keys.workspace },
    });
    const { file_counts: counts } = (await response.json()) as { file_counts: Record<string, number> }; // as above
    if ((counts.failed ?? 0) > 0) throw new Error("a file failed");
    if (counts.in_progress === 0) return;
    await wait(1_000);
  }
}

/** Milliseconds of a search for a chunk, which must be the first result. */
async function search(gateway: Running, id: string, index: number): Promise<number> {
  const startedAt = performance.now();
  const query = chunkOf(index);
  type Found = { data: { content: { text: string }[] }[] };
  const { data } = await send<Found>(gateway, `/vector_stores/${id}/search`, { query, max_num_results: 20 });
  const tookMs = performance.now() - startedAt;
  if (data[0]?.content[0]?.text.trim() !== query.trim()) throw new Error(`chunk ${index} was not found`);
  return tookMs;
}

const show = (times: readonly number[]): string =>
  `median ${Math.round(median(times))} ms, longest ${Math.round(Math.max(...times))} ms`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { chunks: { type: "string", default: "100000" }, searches: { type: "string", default: "20" } },
  });
  const [chunks, searches] = [Number(values.chunks), Number(values.searches)];
  const model = await startModel();
  const gateway = await startGateway("bun");
  const startedAt = performance.now();
  const id = await fill(gateway, model.url, chunks);
  await untilFilled(gateway, id);
  console.log(`${model.made()} chunks in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  // what filling it left is collected
  await wait(10_000);
  const [before, peakBefore] = [rssMegabytes(gateway.pid), peakRssMegabytes(gateway.pid)];
  const targets = Array.from({ length: searches }, (_, index) => Math.floor((index * chunks) / searches));
  const alone: number[] = [];
  for (const target of targets) alone.push(await search(gateway, id, target));
  console.log(`one search at a time: ${show(alone)}`);
  const together: number[] = [];
  for (let start = 0; start < searches; start += 4) {
    together.push(...(await Promise.all(targets.slice(start, start + 4).map((one) => search(gateway, id, one)))));
  }
  console.log(`four at a time: ${show(together)}`);
  const [after, peak] = [rssMegabytes(gateway.pid), peakRssMegabytes(gateway.pid)].map(Math.round);
  console.log(
    `memory: ${Math.round(before)} MB before, ${after} MB after; peak ${Math.round(peakBefore)} and ${peak} MB`,
  );
  await gateway.stop();
  model.server.close();
}

await runMain(main);
