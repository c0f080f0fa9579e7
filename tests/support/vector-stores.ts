import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { call, done } from "./control.ts";
import { type TestGateway, workspaceKey } from "./gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "./upstream.ts";

/** Words that vectors count, one number for each. */
const words = ["harbour", "ferry", "tax", "invoice", "cat", "dog", "bread"];

/** The vector of a text: how often each word is in it. The last number is the same for all, so that none is zero. */
export function vectorOf(text: string): number[] {
  return [...words.map((word) => text.toLowerCase().split(word).length - 1), 0.1];
}

/** What replaces an answer; undefined: nothing does. */
type Answer = { status: number; body: object } | undefined;

/** A model of embeddings on loopback; `answer` replaces its answers and may be undefined. */
export interface VectorUpstream extends RecordingUpstream {
  /** Inputs of each call. */
  readonly inputs: string[][];
  answer: ((request: ReceivedRequest, call: number) => Answer | Promise<Answer>) | undefined;
}

/** Starts a model of embeddings. Other paths are answered by `others`. */
export async function startVectorUpstream(
  others: (body: Record<string, unknown>) => string | Promise<string> = () => "{}",
): Promise<VectorUpstream> {
  const inputs: string[][] = [];
  const upstream = await startRecordingUpstream(async (request, response) => {
    const body = JSON.parse(request.text);
    if (!request.path.endsWith("/embeddings")) {
      const stream = body.stream === true ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": stream }).end(await others(body));
      return;
    }
    inputs.push(body.input);
    const given = await started.answer?.(request, inputs.length);
    const data = body.input.map((text: string, index: number) => ({
      object: "embedding",
      index,
      embedding: vectorOf(text),
    }));
    const usual = { object: "list", model: "m", data, usage: { prompt_tokens: 7, total_tokens: 7 } };
    response.writeHead(given?.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(given?.body ?? usual));
  });
  const started: VectorUpstream = Object.assign(upstream, { inputs, answer: undefined });
  return started;
}

/** Stores the provider `@vectors` of the upstream in the workspace of the key, or in another. */
export async function storeVectorProvider(
  gateway: TestGateway,
  upstream: { url: string },
  { key = workspaceKey, ...place }: { key?: string; workspace_id?: string } = {},
): Promise<void> {
  const as = { key };
  const integration = {
    name: "vectors-i",
    slug: "vectors-i",
    ai_provider_id: "openai",
    key: "vectors-key",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: false,
    ...place,
  };
  await done(call(gateway, "POST /integrations", { ...as, body: integration }));
  const provider = { name: "vectors", slug: "vectors", integration_id: "vectors-i", ...place };
  await done(call(gateway, "POST /providers", { ...as, body: provider }));
}

/** OpenAI's client, whose requests go to the gateway. */
export function createClient(gateway: TestGateway, headers: Record<string, string> = {}): OpenAI {
  return new OpenAI({
    apiKey: "not-a-key-of-anything",
    baseURL: "http://gateway.test/v1",
    maxRetries: 0,
    defaultHeaders: { "x-gateway-api-key": workspaceKey, ...headers },
    fetch: (url, init) => gateway.gateway.fetch(new Request(String(url), init)),
  });
}

/** Uploads a text as a file that stores take. */
export async function uploadText(client: OpenAI, text: string, name = "notes.md"): Promise<string> {
  const file = await toFile(new TextEncoder().encode(text), name);
  return (await client.files.create({ file, purpose: "assistants" })).id;
}

/** Adds a text to a store, and waits until it has vectors. */
export async function addText(
  client: OpenAI,
  storeId: string,
  { text, name, attributes }: { text: string; name?: string; attributes?: Record<string, string | number | boolean> },
): Promise<string> {
  const file_id = await uploadText(client, text, name);
  const options = { pollIntervalMs: 5 };
  const added = await client.vectorStores.files.createAndPoll(
    storeId,
    { file_id, ...(attributes && { attributes }) },
    options,
  );
  assert.equal(added.status, "completed", JSON.stringify(added.last_error));
  return file_id;
}

/** Makes a store whose vectors `@vectors/m` makes. */
export async function createStore(client: OpenAI, body: object = {}): Promise<string> {
  return (await client.vectorStores.create({ embedding_model: "@vectors/m", ...body } as object)).id;
}
