import assert from "node:assert/strict";
import * as v from "valibot";
import type { Endpoint } from "../../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../../src/inference/routes/endpoints.ts";
import { call, done } from "./control.ts";
import { type HeaderChanges, requestHeaders, type TestGateway, workspaceKey } from "./gateway.ts";

/** Saves a prompt for the endpoints that run one; returns its slug. */
export async function createPrompt(gateway: TestGateway): Promise<string> {
  const as = { key: workspaceKey };
  const { data } = await done(call<{ data: { id: string }[] }>(gateway, "GET /collections", as));
  const body = {
    name: "p",
    collection_id: data[0]?.id ?? "",
    string: '[{"role":"user","content":"Hello"}]',
    parameters: {},
    virtual_key: "",
    model: "m",
  };
  return (await done(call<{ slug: string }>(gateway, "POST /prompts", { ...as, body }))).slug;
}

/** Method and path of an endpoint. */
export const nameOf = ({ method, path }: Pick<Endpoint, "method" | "path">): string => `${method} ${path}`;

/** Endpoints whose requests are logged: all that call a provider, and those of `ownRows`. */
export const providerRows: readonly Endpoint[] = [...inferenceEndpoints, ...passthroughEndpoints].filter(
  (row) => "operation" in row && row.operation !== undefined,
);

/** The request for an endpoint. */
interface Sample {
  provider?: string;
  body?: object | FormData;
  headers?: HeaderChanges;
}

function form(file: string): FormData {
  const data = new FormData();
  data.set(file, new Blob(["bytes"]), "file.bin");
  for (const [name, value] of Object.entries({ model: "m", prompt: "a", purpose: "batch" })) data.set(name, value);
  return data;
}

export const messages = [{ role: "user", content: "Hello" }];
const contents = [{ parts: [{ text: "Hello" }] }];
const question = { open: { type: "noul", instructions: "Is it open?" } };
const pdf = { type: "document_url", document_url: "https://files.example/a.pdf" };
/** By path or operation; for others, a body that names a model. */
const samples: Readonly<Record<string, Sample>> = {
  chat: { body: { model: "m", messages } },
  complete: { body: { model: "m", prompt: "a" } },
  embed: { body: { model: "m", input: "a" } },
  rerank: { provider: "cohere", body: { model: "m", query: "q", documents: ["a"] } },
  moderate: { body: { input: "a" } },
  ocr: { provider: "mistral-ai", body: { model: "m", document: pdf } },
  search: { provider: "exa", body: { model: "auto", query: "Hello" } },
  decide: { provider: "typesafe", body: { model: "m", state: "s", questions: question } },
  generateImage: { body: { model: "m", prompt: "a" } },
  editImage: { body: form("image") },
  speak: { body: { model: "m", input: "a", voice: "v" } },
  transcribe: { body: form("file") },
  translate: { body: form("file") },
  messages: { provider: "anthropic", body: { model: "m", messages, max_tokens: 5 } },
  countTokens: { provider: "anthropic", body: { model: "m", messages } },
  responses: { body: { model: "m", input: "Hello" } },
  generateContent: { provider: "google", body: { contents } },
  countContents: { provider: "google", body: { contents } },
  embedContent: { provider: "google", body: { content: contents[0] } },
  batchEmbedContents: { provider: "google", body: { requests: [{ content: contents[0] }] } },
  completePrompt: { body: { variables: {} } },
  uploadFile: { body: form("file") },
  createFinetune: { body: { model: "m", training_file: "file-1" } },
  createBatch: { body: { input_file_id: "file-1", endpoint: "/v1/chat/completions", completion_window: "24h" } },
  "/v1/complete": { provider: "anthropic", body: { model: "m", prompt: "a", max_tokens_to_sample: 5 } },
  "/v1/images/variations": { body: form("image") },
};

/** Endpoints that respond without a provider. */
export const ownRows: ReadonlySet<string> = new Set(["POST /v1/prompts/:id/render", "GET /model/info"]);

function sampleOf(row: Endpoint): Sample {
  const sample = samples[row.path] ?? (("operation" in row && row.operation && samples[row.operation]) || {});
  if (row.path.startsWith("/v1/v2/videos")) return { ...sample, provider: "together-ai" };
  if (row.path.startsWith("/v1beta/models") && row.method === "GET") return { ...sample, provider: "google" };
  return sample;
}

/**
 * A path of an endpoint, with a value for each parameter.
 *
 * @param promptSlug A saved prompt.
 */
export function pathOf({ path }: Pick<Endpoint, "path">, promptSlug = "m-1"): string {
  if (path === "/v1/*") return "/v1/anything/else";
  return path.replace("/prompts/:id", `/prompts/${promptSlug}`).replace(/\/(@?):(\w+)\+?/g, "/$1m-1");
}

/** A request whose form is sent as bytes: Node fails when a stream made of a form is not read to its end. */
export async function withFormBytes({ body, headers, ...init }: RequestInit): Promise<RequestInit> {
  if (!(body instanceof FormData)) return { ...init, headers: headers ?? {}, ...(body !== undefined && { body }) };
  const encoded = new Response(body);
  const sent = new Headers(headers);
  sent.set("content-type", encoded.headers.get("content-type") ?? "");
  return { ...init, headers: sent, body: await encoded.arrayBuffer() };
}

function requireValid(row: Endpoint, body: object): void {
  if (row.kind !== "json" || !providerRows.includes(row) || ownRows.has(nameOf(row))) return;
  const { issues } = v.safeParse(row.body, body);
  const list = "samples in tests/support/endpoint-requests.ts";
  assert.equal(issues, undefined, `${list} have no valid body for ${nameOf(row)}: ${issues && v.summarize(issues)}`);
}

/** A minimal valid request for an endpoint, by the workspace key to a provider that has it. */
export function toRequest(row: Endpoint, changes: HeaderChanges = {}): RequestInit {
  const { provider = "openai", body, headers } = sampleOf(row);
  const isForm = body instanceof FormData;
  if (!isForm) requireValid(row, body ?? { model: "m" });
  const sent = requestHeaders({
    "x-gateway-provider": provider,
    authorization: "Bearer provider-key",
    ...headers,
    ...(isForm && { "content-type": null }),
    ...changes,
  });
  const init: RequestInit = { method: row.method, headers: sent };
  if (row.method === "POST" || row.method === "PUT") init.body = isForm ? body : JSON.stringify(body ?? { model: "m" });
  return init;
}
