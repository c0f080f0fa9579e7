import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound } from "../../src/lib/outbound.ts";
import { type AzureAuthSettings, authorizeAzure } from "../../src/providers/auth/azure.ts";
import { azureOpenai } from "../../src/providers/azure-openai/mod.ts";
import { createTokenCache } from "../../src/providers/core/token-cache.ts";
import type { AuthTools } from "../../src/providers/core/types.ts";
import { fixture, jsonFixture, testConformance } from "../conformance/suite.ts";
import {
  chat,
  createRuntimeTransport,
  createTestClock,
  createTestGateway,
  type HeaderChanges,
  helloBody,
} from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";
import { createWire } from "../support/wire.ts";

const dated = { "azure-resource-name": "res-1", "azure-deployment-id": "dep-1", "azure-api-version": "2024-10-21" };
const request = { model: "gpt-4o", messages: [{ role: "user", content: "When does the harbour open?" }] };
const deployments = JSON.stringify([
  {
    alias: "fast",
    azure_deployment_name: "dep-mini",
    azure_api_version: "2024-10-21",
    azure_model_slug: "gpt-4o-mini",
  },
  {
    alias: "",
    azure_deployment_name: "dep.big",
    azure_api_version: "v1",
    azure_model_slug: "gpt-4o",
    is_default: true,
  },
]);
const query = "?api-version=2024-10-21";

testConformance(azureOpenai, [
  {
    name: "a deployment is named in the path",
    settings: dated,
    request,
    sent: { path: `/deployments/dep-1/chat/completions${query}`, body: request },
    answer: jsonFixture("azure-openai", "chat.json"),
    wanted: jsonFixture("azure-openai", "chat.json"),
  },
  {
    name: "the model's name is for the body",
    settings: { ...dated, "azure-model-name": "gpt-4o-2024" },
    request: { ...request, stream: true, data_sources: [{ type: "x" }] },
    sent: {
      body: {
        ...request,
        model: "gpt-4o-2024",
        data_sources: [{ type: "x" }],
        stream: true,
        stream_options: { include_usage: true },
      },
    },
    answer: jsonFixture("azure-openai", "tool-call.json"),
    wanted: jsonFixture("azure-openai", "tool-call.json"),
  },
  {
    name: "fields of other providers' shapes are dropped",
    settings: dated,
    request: {
      ...request,
      thinking: { type: "enabled" },
      messages: [
        { role: "developer", content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
        { role: "assistant", content: "Six.", content_blocks: [{ type: "thinking", thinking: "x" }] },
      ],
    },
    sent: {
      body: {
        ...request,
        messages: [
          { role: "developer", content: "Be brief." },
          { role: "assistant", content: "Six." },
        ],
      },
    },
    dropped: ["cache_control", "content_blocks", "thinking"],
    answer: {},
    wanted: {},
  },
  {
    name: "v1 takes the deployment as model",
    settings: { ...dated, "azure-api-version": "v1" },
    request,
    sent: { path: "/v1/chat/completions", body: { ...request, model: "dep-1" } },
    answer: {},
    wanted: {},
  },
  {
    name: "v1 without a deployment keeps the model",
    settings: { "azure-resource-name": "res-1", "azure-api-version": "v1" },
    request,
    sent: { path: "/v1/chat/completions", body: request },
    answer: {},
    wanted: {},
  },
  {
    name: "of several deployments the one with the alias serves",
    settings: { "azure-resource-name": "res-1", "azure-deployment-config": deployments },
    request: { ...request, model: "fast" },
    sent: { path: `/deployments/dep-mini/chat/completions${query}`, body: { ...request, model: "gpt-4o-mini" } },
    answer: {},
    wanted: {},
  },
  {
    name: "of several deployments the default serves other models",
    settings: { "azure-resource-name": "res-1", "azure-deployment-config": deployments },
    request,
    sent: { path: "/v1/chat/completions", body: { ...request, model: "dep.big" } },
    answer: {},
    wanted: {},
  },
  {
    name: "embeddings",
    operation: "embed",
    settings: dated,
    request: { model: "text-embedding-3-large", input: "tide", dimensions: 4 },
    sent: {
      path: `/deployments/dep-1/embeddings${query}`,
      body: { model: "text-embedding-3-large", input: "tide", dimensions: 4 },
    },
    answer: jsonFixture("azure-openai", "embeddings.json"),
    wanted: jsonFixture("azure-openai", "embeddings.json"),
  },
  {
    name: "text completions",
    operation: "complete",
    settings: dated,
    request: { model: "m", prompt: "a" },
    sent: { path: `/deployments/dep-1/completions${query}`, body: { model: "m", prompt: "a" } },
    answer: {},
    wanted: {},
  },
]);

for (const [settings, pattern] of [
  [{ "azure-api-version": "2024-10-21" }, /set x-gateway-azure-deployment-id/],
  [{ "azure-deployment-id": "d" }, /set x-gateway-azure-api-version/],
  [{ "azure-deployment-config": "[]" }, /No azure alias passed\/default config found/],
  [{ "azure-deployment-config": deployments.replace("true", "false") }, /No azure alias passed/],
] as const) {
  test(`azure-openai rejects ${JSON.stringify(settings).slice(0, 60)}`, () => {
    const { operations } = azureOpenai.bind((name) => Reflect.get(settings, name) ?? null);
    assert.throws(() => operations.chat?.path(request), pattern);
  });
}

for (const [name, value] of [
  ["azure-resource-name", "evil.example/"],
  ["azure-resource-name", "Upper"],
  ["azure-deployment-id", "../x"],
  ["azure-deployment-id", ".."],
  ["azure-api-version", "v1&x=y"],
  ["azure-deployment-config", "{"],
  ["azure-deployment-config", JSON.stringify([{ azure_deployment_name: "../x", azure_api_version: "v1" }])],
  ["azure-auth-mode", "other"],
  ["azure-entra-tenant-id", "a/b"],
] as const) {
  test(`azure-openai rejects ${name} ${value.slice(0, 30)}`, () => {
    assert.throws(() => azureOpenai.bind((asked) => (asked === name ? value : null)), new RegExp(name));
  });
}

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
const asHeaders = (settings: Readonly<Record<string, string>>): HeaderChanges =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [`x-gateway-${name}`, value]));
const ask = (headers: HeaderChanges, body: object = helloBody) =>
  chat(gateway, body, {
    "x-gateway-provider": "azure-openai",
    authorization: "Bearer azure-key",
    ...asHeaders(dated),
    ...headers,
  });
const answerJson = (status: number, name: string) => {
  wire.answer = () => new Response(fixture("azure-openai", name), { status });
};

test("azure-openai is called at its resource with the key in its header", async () => {
  answerJson(200, "chat.json");
  const response = await ask({});
  assert.equal(response.status, 200, await response.text());
  assert.equal(wire.url, `https://res-1.openai.azure.com/openai/deployments/dep-1/chat/completions${query}`);
  assert.equal(wire.init?.headers["api-key"], "azure-key");
  assert.equal(wire.init?.headers.authorization, undefined);
});

test("azure-openai prefers a token over the key", async () => {
  answerJson(200, "chat.json");
  await ask({ "x-gateway-azure-ad-token": "Bearer given-token" });
  assert.equal(wire.init?.headers.authorization, "Bearer given-token");
  assert.equal(wire.init?.headers["api-key"], undefined);
});

test("azure-openai uses a custom host instead of the resource", async () => {
  answerJson(200, "chat.json");
  const settings = {
    "x-gateway-azure-resource-name": null,
    "x-gateway-custom-host": "https://r.openai.azure.us/openai",
  };
  await ask(settings);
  assert.equal(wire.url, `https://r.openai.azure.us/openai/deployments/dep-1/chat/completions${query}`);
  const missing = await ask({ "x-gateway-azure-resource-name": null });
  assert.equal(missing.status, 400);
  assert.match(await missing.text(), /x-gateway-azure-resource-name/);
});

test("azure-openai streams with filter frames are forwarded to their end", async () => {
  const text = fixture("azure-openai", "stream-async-filter.sse");
  wire.answer = () => new Response(text, { headers: { "content-type": "text/event-stream" } });
  const response = await ask({}, { ...helloBody, stream: true });
  const got = await response.text();
  assert.match(got, /content_filter_offsets/);
  assert.match(got, /data: \[DONE\]\n\n$/);
});

test("azure-openai failures keep status, code and message", async () => {
  answerJson(400, "error-content-filter.json");
  const blocked = await ask({});
  assert.equal(blocked.status, 400);
  assert.match(await blocked.text(), /"code":"content_filter"/);
  answerJson(401, "error-401.json");
  const refused = await ask({});
  assert.equal(refused.status, 401);
  assert.match(await refused.text(), /azure-openai error: fixture: token missing or invalid/);
});

const asked: { url: string; headers: Record<string, string | string[] | undefined>; body: string }[] = [];
let tokenAnswer = fixture("azure-openai", "entra-token.json");
const service = await startServer((incoming, response) => {
  let body = "";
  incoming.on("data", (piece) => {
    body += piece;
  });
  incoming.on("end", () => {
    asked.push({ url: incoming.url ?? "", headers: incoming.headers, body });
    response.writeHead(200, { "content-type": "application/json" }).end(tokenAnswer);
  });
});
after(async () => {
  await gateway.close();
  await service.close();
});
beforeEach(() => {
  asked.length = 0;
  tokenAnswer = fixture("azure-openai", "entra-token.json");
});

function createTools(environment: Record<string, string> = {}): AuthTools {
  const clock = createTestClock();
  const guard = createAddressGuard({ trustedHosts: [] });
  const outbound = createOutbound({ transport: createRuntimeTransport(), guard });
  const readFile = async (path: string) => `token of ${path}\n`;
  const all = { AZURE_AUTHORITY_HOST: service.url, ...environment };
  return {
    outbound,
    clock,
    tokens: createTokenCache(clock),
    tenant: ["o", "w"],
    environment: all,
    readFile,
    identityOrganisations: new Set(["o"]),
  };
}

function authorize(
  settings: AzureAuthSettings,
  tools: AuthTools,
  url = "https://r.openai.azure.com/openai/v1/chat/completions",
) {
  const signable = { method: "POST", url, headers: {}, body: "{}", credential: "key" };
  return authorizeAzure(signable, settings, { tools, toKeyHeaders: (key) => ({ "api-key": key }) });
}
const token = { authorization: "Bearer eyJ0eXAi.fx.example" };
const entra = {
  auth_mode: "entra",
  entra_tenant_id: "t-1",
  entra_client_id: "c-1",
  entra_client_secret: "s&1",
} as const;

test("entra mode requests a token from the tenant once for parallel calls", async () => {
  const tools = createTools();
  const all = await Promise.all(Array.from({ length: 5 }, () => authorize(entra, tools)));
  assert.deepEqual(all, Array(5).fill(token));
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.url, "/t-1/oauth2/v2.0/token");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(asked[0]?.body)), {
    grant_type: "client_credentials",
    client_id: "c-1",
    client_secret: "s&1",
    scope: "https://cognitiveservices.azure.com/.default",
  });
});

test("entra mode accepts another scope, and names missing settings", async () => {
  await authorize({ ...entra, entra_scope: "api://x/.default" }, createTools());
  assert.equal(new URLSearchParams(asked[0]?.body).get("scope"), "api://x/.default");
  await assert.rejects(
    authorize({ ...entra, entra_client_secret: undefined }, createTools()),
    /azure_entra_client_secret/,
  );
});

test("workload and entraFederated modes exchange the platform's token", async () => {
  const environment = { AZURE_FEDERATED_TOKEN_FILE: "/tokens/a", AZURE_CLIENT_ID: "c-2", AZURE_TENANT_ID: "t-2" };
  assert.deepEqual(await authorize({ auth_mode: "workload" }, createTools(environment)), token);
  assert.equal(asked[0]?.url, "/t-2/oauth2/v2.0/token");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(asked[0]?.body)), {
    grant_type: "client_credentials",
    client_id: "c-2",
    scope: "https://cognitiveservices.azure.com/.default",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: "token of /tokens/a",
  });
  const federated = { auth_mode: "entraFederated", entra_tenant_id: "t-3", entra_client_id: "c-3" } as const;
  await authorize(federated, createTools(environment));
  assert.equal(asked[1]?.url, "/t-3/oauth2/v2.0/token");
  assert.equal(new URLSearchParams(asked[1]?.body).get("client_id"), "c-3");
  await assert.rejects(authorize({ auth_mode: "workload" }, createTools()), /AZURE_FEDERATED_TOKEN_FILE is not set/);
});

test("managed mode asks the platform's endpoint, and the metadata service only when enabled", async () => {
  tokenAnswer = fixture("azure-openai", "managed-identity-token.json");
  const tools = createTools({ IDENTITY_ENDPOINT: `${service.url}/msi/token`, IDENTITY_HEADER: "header-1" });
  assert.deepEqual(await authorize({ auth_mode: "managed", managed_client_id: "c-4" }, tools), token);
  const [first] = asked;
  assert.equal(first?.headers["x-identity-header"], "header-1");
  assert.deepEqual(Object.fromEntries(new URL(first?.url ?? "", service.url).searchParams), {
    "api-version": "2019-08-01",
    resource: "https://cognitiveservices.azure.com/",
    client_id: "c-4",
  });
  await assert.rejects(
    authorize({ auth_mode: "managed" }, createTools()),
    /neither IDENTITY_ENDPOINT nor AZURE_INSTANCE_METADATA/,
  );
});

for (const url of [
  "https://evil.example/openai",
  "https://r.openai.azure.com.evil.example/x",
  "https://e.eastus.inference.ml.azure.com/score/chat/completions",
  "http://r.openai.azure.com/openai",
]) {
  test(`azure-openai does not send the gateway's own identity to ${url}`, async () => {
    const environment = { AZURE_FEDERATED_TOKEN_FILE: "/a", AZURE_CLIENT_ID: "c", AZURE_TENANT_ID: "t" };
    for (const auth_mode of ["managed", "workload", "entraFederated"] as const) {
      await assert.rejects(authorize({ auth_mode }, createTools(environment), url), /not an Azure host/);
    }
    assert.equal(asked.length, 0);
  });
}

test("default mode uses the key, and rejects requests without a key", async () => {
  assert.deepEqual(await authorize({ auth_mode: "default" }, createTools()), { "api-key": "key" });
});

for (const [settings, model, path] of [
  [dated, "gpt-realtime", "/realtime?api-version=2024-10-21&deployment=dep-1&intent=a+b"],
  [{ ...dated, "azure-api-version": "v1" }, "x", "/v1/realtime?model=dep-1&deployment=dep-1&intent=a+b"],
  [{ "azure-resource-name": "res-1", "azure-api-version": "v1" }, "m", "/v1/realtime?model=m&deployment=m&intent=a+b"],
  [
    { "azure-resource-name": "res-1", "azure-deployment-config": deployments },
    "fast",
    "/realtime?api-version=2024-10-21&deployment=dep-mini&intent=a+b",
  ],
] as const) {
  test(`azure-openai opens a realtime session with ${JSON.stringify(settings)} at ${path}`, () => {
    const values: Readonly<Record<string, string>> = settings;
    const bound = azureOpenai.bind((name) => values[name] ?? null);
    const query = [
      ["intent", "a b"],
      ["deployment", "another"],
    ] as const;
    assert.equal(bound.operations.realtime?.path({ model, query }), path);
    assert.equal(bound.baseUrl, "https://res-1.openai.azure.com/openai");
  });
}
