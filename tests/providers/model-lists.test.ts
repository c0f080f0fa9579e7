import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { openCases, serviceAccount, shapedCases } from "../support/address-cases.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { requiredSettings } from "../support/required-settings.ts";
import { sample } from "../support/sample.ts";

interface SentRequest {
  url: string;
  init: TransportInit;
}

const sent: SentRequest[] = [];
const keysOfAws =
  "<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>example</SecretAccessKey>" +
  "<SessionToken>example</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration>";

/** A network that issues tokens, and rejects all other requests after recording them. */
const transport: Transport = {
  async send(url, init) {
    if (/\/token$/.test(url)) return Response.json({ access_token: "token", expires_in: 3600 });
    if (new URL(url).hostname.startsWith("sts.")) return new Response(keysOfAws);
    sent.push({ url, init });
    return Response.json({ error: { message: "Not here" } }, { status: 404 });
  },
};
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const secret = "secret-model";

/** Spellings of the denied model. */
const spellings = [
  secret,
  "SECRET-MODEL",
  " secret-model ",
  "secret-model\u200b",
  "ｓecret-model",
  "secret%2Dmodel",
  "/secret-model",
  "secret-model/",
  "./secret-model",
  "models/secret-model",
  "models/models/secret-model",
  "google/secret-model",
  "google.secret-model",
  "google/google/secret-model",
  "publishers/google/models/secret-model",
  "models/publishers/google/models/secret-model",
  "projects/p/locations/l/publishers/google/models/secret-model",
  "mistralai.secret-model",
  "mistralai.mistralai.secret-model",
  "cohere.secret-model",
  "us.secret-model",
  "global.secret-model",
  "arn:aws:bedrock:us-east-1::foundation-model/secret-model",
  "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.secret-model",
  "secret-model:latest",
  "library/secret-model",
  "secret-model:free",
  "secret-model:adapter",
  "secret-model@001",
  "~secret-model",
  "accounts/fireworks/models/secret-model",
  "secret-model#accounts/a/deployments/d",
  "@cf/secret-model",
];

/** How providers normalise a name: what is removed here leads to the same model. */
const readings: Readonly<Record<string, RegExp>> = {
  google: /^(?:models\/)+/,
  "vertex-ai": /^(?:.*publishers\/google\/models\/|models\/|google[./])+|@.*$/g,
  "mistral-ai": /^(?:mistralai\.)+/,
  "azure-ai": /^(?:cohere\.)+/,
  bedrock: /^(?:arn:[^/]*\/)?(?:us|eu|global)?\.?/,
  "bedrock-mantle": /^(?:arn:[^/]*\/)?(?:us|eu|global)?\.?/,
  ollama: /^library\/|:latest$/g,
  openrouter: /^~|:.*$/g,
  huggingface: /:.*$/,
  predibase: /:.*$/,
  "fireworks-ai": /^accounts\/fireworks\/models\/|#.*$/g,
};

/** A name as servers may read it. */
function readName(slug: string, name: string): string {
  const reading = readings[slug];
  const plain = decodeURIComponent(name)
    .normalize("NFKC")
    .replace(/[\p{C}\p{Z}]/gu, "")
    .toLowerCase();
  return (reading ? plain.replace(reading, "") : plain).replace(/^(?:\.?\/)+|\/+$/g, "");
}

/** Every string of a call where a model may be named: path segments, query values and body fields. */
function stringsOf({ url, init }: SentRequest): string[] {
  const { pathname, searchParams } = new URL(url);
  const segments = decodeURIComponent(pathname).split("/");
  const found = segments.flatMap((_, start) => {
    const rest = segments.slice(start).join("/");
    return [
      rest,
      rest.replace(/:[A-Za-z]+$/, ""),
      segments[start] ?? "",
      segments[start]?.replace(/:[A-Za-z]+$/, "") ?? "",
    ];
  });
  const texts = [...found, ...searchParams.values()];
  const body = typeof init.body === "string" && init.body.startsWith("{") ? init.body : "{}";
  JSON.parse(body, (_, value: unknown) => {
    if (typeof value === "string") texts.push(value);
    return value;
  });
  return texts;
}

const deployments = [
  { alias: "fast", azure_deployment_name: "mini", azure_api_version: "2024-10-21", azure_model_slug: "gpt-4o-mini" },
  {
    alias: secret,
    azure_deployment_name: "hidden",
    azure_api_version: "2024-10-21",
    is_default: true,
    azure_model_slug: "large",
  },
];

const toMembers = (settings: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name.replaceAll("-", "_"), value]));

/** Settings that suffice for an integration of a provider. */
function configurationsOf(slug: string): Record<string, unknown> {
  if (slug === "azure-openai") {
    return { azure_auth_mode: "default", azure_resource_name: "acme", azure_deployment_config: deployments };
  }
  if (slug === "vertex-ai") {
    return {
      vertex_auth_type: "serviceAccount",
      vertex_region: "us-central1",
      vertex_service_account_json: JSON.parse(serviceAccount({ project_id: "acme" })),
    };
  }
  const found = [...shapedCases, ...openCases].find(({ provider }) => provider === slug);
  const settings = {
    ...(slug === "azure-ai" && { azure_auth_mode: "default" }),
    ...(/^(?:bedrock|sagemaker|claude-platform-aws)/.test(slug) && {
      aws_auth_type: "apiKey",
      aws_region: "us-east-1",
    }),
    ...(found ? toMembers(found.settings) : requiredSettings(slug)),
  };
  return Object.keys(settings).length > 0 ? settings : { custom_host: "https://host.example.com" };
}

const walked = builtInProviders.filter(({ isLocal }) => !isLocal);

/** A stored provider that denies one model. */
async function store(slug: string): Promise<void> {
  const integration = {
    name: slug,
    slug: `${slug}-i`,
    ai_provider_id: slug,
    key: "provider-key",
    create_default_provider: false,
    configurations: configurationsOf(slug),
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const provider = { name: slug, slug: `${slug}-p`, integration_id: `${slug}-i` };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  const models = { models: [{ slug: secret, enabled: false }], allow_all_models: true };
  await done(call(gateway, `PUT /integrations/${slug}-i/models`, { key: workspaceKey, body: models }));
}

const messages = [{ role: "user", content: "Hello" }];

/** Calls that name a model in their body. */
const unified: readonly (readonly [path: string, body: object])[] = [
  ["/chat/completions", { messages, user: "acme" }],
  ["/completions", { prompt: "Hello" }],
  ["/embeddings", { input: "Hello" }],
  ["/responses", { input: "Hello" }],
  ["/messages", { messages, max_tokens: 5 }],
  ["/messages/count_tokens", { messages }],
  ["/rerank", { query: "q", documents: ["d"] }],
  ["/moderations", { input: "Hello" }],
  ["/images/generations", { prompt: "A boat" }],
  ["/audio/speech", { input: "Hello", voice: "alloy" }],
  ["/ocr", { document: { type: "document_url", document_url: "data:application/pdf;base64,AA==" } }],
];

/** Paths that name a model themselves. */
const inPaths = (model: string): string[] => {
  const plain = encodeURIComponent(model);
  const paths = [
    `/models/${model}:generateContent`,
    `/models/${plain}:generateContent`,
    `/v1beta/models/${plain}:countTokens`,
    `/%6Dodels/${plain}:generateContent`,
    `/models%2F${plain}:generateContent`,
    `/models/${plain}%3AgenerateContent`,
    `/v1beta//models//${plain}:generateContent`,
    `/model/${plain}/converse`,
    `/m%6Fdel/${plain}/converse`,
    `/openai/deployments/${plain}/chat/completions`,
    `/openai//deployments/${plain}/chat/completions`,
    `/openai/deployments/hidden/embeddings`,
    `/openai/Deploy%6Dents/HIDDEN/embeddings`,
    `/engines/${plain}/completions`,
    `/inference/${plain}`,
    `/${plain}`,
    `/image_generation/${plain}`,
    `/endpoints/${plain}/invocations`,
    `/acme/deployments/v2/llms/${plain}/v1/chat/completions`,
    `/projects/p/locations/l/publishers/google/models/${plain}:generateContent`,
    `/chat/completions?model=${plain}`,
    `/listen?Model=${plain}`,
  ];
  // a path that URL parsing changes is another path
  return paths.filter((path) => !/(?:^|\/)(?:\.|%2e)+(?:\/|$)/i.test(path));
};

async function send(slug: string, path: string, body: string): Promise<number> {
  const headers = requestHeaders({
    "x-gateway-provider": `@${slug}-p`,
    "content-length": `${new TextEncoder().encode(body).length}`,
  });
  const response = await gateway.fetch(`/v1${path}`, { method: "POST", headers, body });
  await response.text();
  return response.status;
}

/** Fails when the provider could read a call as one to the denied model. */
function checkCalls(slug: string, what: string): void {
  for (const request of sent) {
    const named = stringsOf(request).filter((text) =>
      (slug === "azure-openai" ? [secret, "hidden"] : [secret]).includes(readName(slug, text)),
    );
    assert.deepEqual(named, [], `${what} led to ${request.url}`);
  }
  sent.length = 0;
}

for (const { slug } of sample(walked, 8)) {
  test(`${slug} cannot reach a denied model by any spelling`, async () => {
    await store(slug);
    await send(slug, "/proxy/some/path", '{"model":"some/path"}');
    assert.equal(sent.length, 1, "other models can be called");
    // spellings of one family of providers are other models elsewhere
    const own = Object.hasOwn(readings, slug) || slug === "azure-openai" ? spellings : spellings.slice(0, 5);
    for (const model of own) {
      for (const [path, body] of unified) {
        await send(slug, path, JSON.stringify({ ...body, model }));
        checkCalls(slug, `${model} at ${path}`);
      }
      for (const path of own === spellings || model === secret ? inPaths(model) : []) {
        await send(slug, `/proxy${path}`, "{}");
        checkCalls(slug, path);
      }
      await send(slug, "/proxy/some/path", JSON.stringify({ model }));
      checkCalls(slug, `${model} in a body that is passed on`);
    }
  });
}
