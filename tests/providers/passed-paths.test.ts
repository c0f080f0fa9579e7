import assert from "node:assert/strict";
import { after, test } from "node:test";
import { azureOpenai } from "../../src/providers/azure-openai/mod.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, readJson, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { type CallCase, testCalls } from "../support/provider-calls.ts";
import { createWire } from "../support/wire.ts";

/** Cases of one provider: the requested path and the upstream URL. */
const cases = (headers: Record<string, string>, rows: readonly (readonly [path: string, url: string])[]): CallCase[] =>
  rows.map(([path, url]) => ({ name: `is passed ${path}`, headers, path, body: {}, url }));

const azure = "https://res-1.openai.azure.com/openai";
const dated = {
  "x-gateway-azure-resource-name": "res-1",
  "x-gateway-azure-deployment-id": "dep-1",
  "x-gateway-azure-api-version": "2024-10-21",
};
const version = "api-version=2024-10-21";

await testCalls(
  "azure-openai",
  cases(dated, [
    ["/proxy/chat/completions", `${azure}/deployments/dep-1/chat/completions?${version}`],
    ["/proxy/v1/chat/completions", `${azure}/deployments/dep-1/chat/completions?${version}`],
    ["/proxy/audio/speech?a=%20b", `${azure}/deployments/dep-1/audio/speech?a=%20b&${version}`],
    ["/proxy/images/edits?api-version=2025-01-01", `${azure}/deployments/dep-1/images/edits?api-version=2025-01-01`],
    ["/proxy/files?limit=2", `${azure}/files?limit=2&${version}`],
    ["/some/path", `${azure}/some/path?${version}`],
    ["/proxy/responses/resp_1/input_items", `${azure}/responses/resp_1/input_items?${version}`],
    ["/proxy/openai/deployments/dep-2/embeddings", `${azure}/deployments/dep-2/embeddings?${version}`],
    ["/proxy/deployments/dep-2/embeddings?", `${azure}/deployments/dep-2/embeddings?${version}`],
    ["/openai/deployments/dep-2/x?api-version=v9", `${azure}/deployments/dep-2/x?api-version=v9`],
    ["/proxy/openai/v1/responses", `${azure}/v1/responses`],
    ["/proxy/realtime", `${azure}/realtime?deployment=dep-1&${version}`],
    ["/proxy/res-1.openai.azure.com/openai/files", `${azure}/files?${version}`],
    ["/proxy/other-2.openai.azure.com/openai/files", `https://other-2.openai.azure.com/openai/files?${version}`],
    [
      "/proxy/https://gov-1.openai.azure.us/openai/deployments/d/completions?api-version=2",
      "https://gov-1.openai.azure.us/openai/deployments/d/completions?api-version=2",
    ],
    ["/proxy/evil.example/openai/files", `${azure}/evil.example/openai/files?${version}`],
  ]),
);

await testCalls(
  "azure-openai",
  cases({ ...dated, "x-gateway-azure-api-version": "v1" }, [
    ["/proxy/chat/completions", `${azure}/v1/chat/completions`],
    ["/proxy/files?limit=2", `${azure}/v1/files?limit=2`],
    ["/proxy/v1/files", `${azure}/v1/files`],
    ["/proxy/realtime", `${azure}/v1/realtime?deployment=dep-1`],
  ]),
);

await testCalls("azure-openai", [
  {
    name: "keeps a custom host beside the settings",
    headers: { ...dated, "x-gateway-custom-host": "https://r.openai.azure.us/openai" },
    path: "/proxy/files",
    body: {},
    url: `https://r.openai.azure.us/openai/files?${version}`,
  },
  {
    name: "takes one host only",
    headers: { ...dated, "x-gateway-custom-host": "https://r.openai.azure.us/openai" },
    path: "/proxy/other-2.openai.azure.com/openai/files",
    body: {},
    refused: /its host is not the provider's/,
  },
  {
    name: "needs a version",
    headers: { "x-gateway-azure-resource-name": "res-1" },
    path: "/proxy/files",
    body: {},
    refused: /x-gateway-azure-api-version/,
  },
  {
    name: "needs a deployment",
    headers: { "x-gateway-azure-resource-name": "res-1", "x-gateway-azure-api-version": "2024-10-21" },
    path: "/proxy/embeddings",
    body: {},
    refused: /x-gateway-azure-deployment-id/,
  },
  {
    name: "needs a resource",
    headers: { "x-gateway-azure-api-version": "v1" },
    path: "/proxy/files",
    body: {},
    refused: /x-gateway-azure-resource-name/,
  },
]);

test("azure-openai finds the deployment of the model in a body", () => {
  const deployments = JSON.stringify([
    { alias: "fast", azure_deployment_name: "dep-mini", azure_api_version: "2024-10-21", azure_auth_mode: "default" },
    { alias: "", azure_deployment_name: "dep-big", azure_api_version: "v1", is_default: true },
  ]);
  const bound = azureOpenai.bind((name) => (name === "azure-deployment-config" ? deployments : null));
  const pass = (path: string, model?: string) => bound.passPath({ path, query: "", isProxied: true, model }).path;
  assert.equal(pass("/embeddings", "fast"), `/deployments/dep-mini/embeddings?${version}`);
  assert.equal(pass("/embeddings"), "/v1/embeddings");
  assert.equal(pass("/files", "fast"), `/files?${version}`);
});

const foundry = "https://res.services.ai.azure.com";
const foundryCases = (url: string, rows: readonly (readonly [string, string])[]) =>
  cases({ "x-gateway-azure-foundry-url": url, "x-gateway-azure-api-version": "2024-05-01-preview" }, rows);
const preview = "api-version=2024-05-01-preview";

await testCalls("azure-ai", [
  ...foundryCases(`${foundry}/models`, [
    ["/proxy/chat/completions", `${foundry}/models/chat/completions?${preview}`],
    ["/images/embeddings?a=1", `${foundry}/models/images/embeddings?a=1&${preview}`],
    ["/info?api-version=2", `${foundry}/models/info?api-version=2`],
    ["/proxy/models/info", `${foundry}/models/info?${preview}`],
    ["/proxy/files", `${foundry}/openai/files?${preview}`],
    ["/proxy/openai/deployments/d/embeddings", `${foundry}/openai/deployments/d/embeddings?${preview}`],
    ["/proxy/openai/v1/responses", `${foundry}/openai/v1/responses`],
    ["/proxy/anthropic/v1/messages", `${foundry}/anthropic/v1/messages`],
  ]),
  ...foundryCases(`${foundry}/api/projects/p/openai/v1`, [
    ["/proxy/files", `${foundry}/api/projects/p/openai/v1/files?${preview}`],
    ["/proxy/v1/batches", `${foundry}/api/projects/p/openai/v1/batches?${preview}`],
  ]),
  ...foundryCases(`${foundry}/anthropic`, [
    ["/messages/count", `${foundry}/anthropic/v1/messages/count`],
    ["/v1/messages/batches", `${foundry}/anthropic/v1/messages/batches`],
    ["/anthropic/v1/messages/batches", `${foundry}/anthropic/v1/messages/batches`],
  ]),
  {
    name: "sends managed compute its deployment on passthrough paths",
    headers: {
      "x-gateway-azure-foundry-url": "https://n.eastus.inference.ml.azure.com/score",
      "x-gateway-azure-deployment-name": "blue",
    },
    path: "/x",
    body: {},
    url: "https://n.eastus.inference.ml.azure.com/score/x",
    sent: { "azureml-model-deployment": "blue" },
  },
]);

await testCalls(
  "anthropic",
  cases({}, [
    ["/messages/batches", "https://api.anthropic.com/v1/messages/batches"],
    ["/v1/messages/batches?limit=1", "https://api.anthropic.com/v1/messages/batches?limit=1"],
    ["/proxy/v1/files", "https://api.anthropic.com/v1/files"],
  ]),
);

await testCalls(
  "google",
  cases({}, [
    [
      "/proxy/v1beta/models/gemini-pro:countTokens",
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-pro:countTokens",
    ],
    ["/v1/models/gemini-pro:x", "https://generativelanguage.googleapis.com/v1/models/gemini-pro:x"],
    ["/cachedContents", "https://generativelanguage.googleapis.com/v1beta/cachedContents"],
    ["/upload/v1beta/files?a=1", "https://generativelanguage.googleapis.com/upload/v1beta/files?a=1"],
  ]),
);

const vertex = "https://us-central1-aiplatform.googleapis.com";
await testCalls(
  "vertex-ai",
  cases({ "x-gateway-vertex-project-id": "p" }, [
    ["/projects/p/locations/l/x", `${vertex}/v1/projects/p/locations/l/x`],
    ["/v1/projects/p/locations/l/x", `${vertex}/v1/projects/p/locations/l/x`],
    ["/v1beta1/projects/p/locations/l/x", `${vertex}/v1beta1/projects/p/locations/l/x`],
  ]),
);

await testCalls(
  "cohere",
  cases({}, [
    ["/tokenize", "https://api.cohere.ai/v1/tokenize"],
    ["/v1/datasets", "https://api.cohere.ai/v1/datasets"],
    ["/v2/some", "https://api.cohere.ai/v2/some"],
  ]),
);

const aws = { "x-gateway-aws-region": "eu-west-1" };
await testCalls(
  "bedrock",
  cases(aws, [
    ["/model/m%3A0/invoke", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m%3A0/invoke"],
    ["/guardrail/g/version/1/apply", "https://bedrock-runtime.eu-west-1.amazonaws.com/guardrail/g/version/1/apply"],
    ["/knowledgebases/k/retrieve", "https://bedrock-agent-runtime.eu-west-1.amazonaws.com/knowledgebases/k/retrieve"],
    ["/model-invocation-job", "https://bedrock.eu-west-1.amazonaws.com/model-invocation-job"],
  ]),
);

await testCalls(
  "together-ai",
  cases({}, [
    ["/some", "https://api.together.xyz/v1/some"],
    ["/v2/things", "https://api.together.xyz/v2/things"],
    ["/v1/some", "https://api.together.xyz/v1/some"],
  ]),
);

await testCalls(
  "openai",
  cases({ "x-gateway-custom-host": "https://h.example.com/v1beta" }, [
    ["/v2/things", "https://h.example.com/v2/things"],
    ["/some", "https://h.example.com/v1beta/some"],
  ]),
);

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

/** A stored provider that allows one model. */
async function store(slug: string, ai_provider_id: string, configurations: object): Promise<void> {
  const as = { key: workspaceKey };
  const body = { name: slug, slug, ai_provider_id, key: "stored-key", configurations, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...as, body }));
  await done(
    call(gateway, "POST /providers", { ...as, body: { name: slug, slug: `${slug}-p`, integration_id: slug } }),
  );
  const models = { models: [{ slug: "allowed", enabled: true }], allow_all_models: false };
  await done(call(gateway, `PUT /integrations/${slug}/models`, { ...as, body: models }));
}
const deployment = { azure_api_version: "2024-10-21", azure_model_slug: "allowed" };
await store("az", "azure-openai", {
  azure_resource_name: "res-1",
  azure_auth_mode: "default",
  azure_deployment_config: [
    { ...deployment, azure_deployment_name: "dep-1", is_default: true },
    { ...deployment, azure_deployment_name: "dep-2", azure_model_slug: "hidden" },
  ],
});
await store("gemini", "google", {});

for (const [provider, path, status, code] of [
  ["az", "/openai/deployments/dep-1/some", 200, null],
  ["az", "/openai/deployments/dep-2/some", 412, "model_not_allowed_error"],
  ["az", "/openai/deployments/other/some", 412, "model_not_allowed_error"],
  ["az", "/proxy/other-2.openai.azure.com/openai/files", 400, "invalid_custom_host"],
  ["az", "/proxy/res-1.openai.azure.com/openai/files", 412, "model_not_allowed_error"],
  ["gemini", "/proxy/v1beta/models/allowed:countTokens", 200, null],
  ["gemini", "/proxy/v1beta/models/other:countTokens", 412, "model_not_allowed_error"],
  ["gemini", "/proxy/v1beta/models/oth%65r:countTokens", 412, "model_not_allowed_error"],
] as const) {
  test(`a stored ${provider} returns ${status} for ${path}`, async () => {
    wire.url = "";
    const headers = requestHeaders({ "x-gateway-provider": `@${provider}-p`, "content-length": "2" });
    const response = await gateway.fetch(`/v1${path}`, { method: "POST", headers, body: "{}" });
    const body = await readJson<{ error?: { code: string } }>(response);
    assert.deepEqual([response.status, body.error?.code ?? null], [status, code]);
    assert.equal(wire.url === "", status !== 200);
  });
}
