import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Provider } from "../../src/providers/core/types.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { openCases, serviceAccount, shapedCases } from "../support/address-cases.ts";
import { createRecordingTransport, type SentRequest } from "../support/address-checks.ts";
import { call, done } from "../support/control.ts";
import { chat, createTestClock, createTestGateway, helloBody, readJson, workspaceKey } from "../support/gateway.ts";
import { sample } from "../support/sample.ts";

const sent: SentRequest[] = [];
const gateway = await createTestGateway({
  transport: createRecordingTransport((request) => sent.push(request)),
  clock: createTestClock(),
});
after(() => gateway.close());

const deployments = [
  { alias: "echo-1", azure_deployment_name: "mini", azure_api_version: "2024-10-21", is_default: true },
];

/** Values settings take: of each setting the first one that is taken. */
const values = [
  "fake-value",
  "true",
  "7",
  "https://acme.example.com",
  "v1",
  "eu-west-1",
  "a.b",
  "GENERIC",
  "DEDICATED",
  "drop",
  "apiKey",
  "entra",
  "workload",
  "assumedRole",
  "basic",
  "OAUTH",
  "messages",
  "/v1/embeddings",
  "/decide",
  "/v1/chat/completions",
  "2025-01-01",
  "chat",
  serviceAccount({ project_id: "acme" }),
  JSON.stringify(deployments),
  "s3://bucket/prefix",
  "arn:aws:iam::123456789012:role/a",
  "20231130",
  "responses",
  "native",
  "conversation",
  "aws:kms",
  "AES256",
  "auto",
  "OpenAI",
];

/** Settings a provider cannot be called without. */
function basicSettings({ slug }: Provider): Readonly<Record<string, string>> {
  return [...shapedCases, ...openCases].find(({ provider }) => provider === slug)?.settings ?? {};
}

function takes(provider: Provider, settings: Readonly<Record<string, string>>): boolean {
  try {
    provider.bind((name) => settings[name] ?? null);
    return true;
  } catch {
    return false;
  }
}

/** What a chat led to: the provider's call (tokens are fetched once), or the refusal. */
async function outcome(headers: Record<string, string | null>): Promise<unknown> {
  sent.length = 0;
  const response = await chat(gateway, helloBody, { authorization: null, "x-gateway-provider": null, ...headers });
  const { error } = await readJson<{ error?: { message: string } }>(response);
  if (sent.length === 0) return error?.message;
  return sent.slice(-1).map(({ url, init }) => ({ url, headers: init.headers, body: String(init.body) }));
}

const host = "https://host.example.com/base";

for (const provider of sample(builtInProviders, 3)) {
  if (provider.settingHeaders.length === 0 || provider.isLocal) continue;
  test(`every setting of ${provider.slug} can stand in a config as in a header`, async () => {
    const basic = basicSettings(provider);
    for (const header of provider.settingHeaders) {
      const value = values.find((one) => takes(provider, { ...basic, [header]: one }));
      assert.ok(value !== undefined, `no value for ${header}`);
      const settings: Record<string, string> = { ...basic, [header]: value };
      const names = Object.keys(settings);
      const inHeaders = Object.fromEntries(names.map((name) => [`x-gateway-${name}`, settings[name] ?? null]));
      const wanted = await outcome({
        ...inHeaders,
        authorization: "Bearer provider-key",
        "x-gateway-provider": provider.slug,
        ...(provider.slug === "triton" && { "x-gateway-custom-host": host }),
      });
      const members = Object.fromEntries(names.map((name) => [name.replaceAll("-", "_"), settings[name]]));
      const config = { provider: provider.slug, api_key: "provider-key", ...members };
      const saved = { name: header, config };
      await done(call(gateway, "POST /configs", { key: workspaceKey, body: saved }));
      assert.deepEqual(await outcome({ "x-gateway-config": JSON.stringify(config) }), wanted, header);
    }
  });
}

const azure = { resource_name: "acme", deployment_id: "mini", api_version: "2024-10-21" };
const address = "https://acme.openai.azure.com/openai/deployments/mini/chat/completions?api-version=2024-10-21";

for (const [name, members] of [
  ["resource_name, deployment_id and api_version", azure],
  [
    "a list of deployments",
    {
      resource_name: "acme",
      deployments: [
        { deployment_id: "big", api_version: "v1", alias: "gpt-4o" },
        { deployment_id: "mini", api_version: "2024-10-21", is_default: true },
      ],
    },
  ],
] as const) {
  test(`azure-openai is called by ${name} of a config`, async () => {
    const config = { provider: "azure-openai", api_key: "provider-key", ...members };
    const calls = await outcome({ "x-gateway-config": JSON.stringify(config) });
    assert.deepEqual(Array.isArray(calls) ? calls.map(({ url }) => url) : calls, [address]);
  });
}

test("a member that is no setting of a provider is refused when the config is saved", async () => {
  const config = { provider: "openai", api_key: "provider-key", azure_colour: "blue" };
  const { status, body } = await call<{ message?: string }>(gateway, "POST /configs", {
    key: workspaceKey,
    body: { name: "colour", config },
  });
  assert.equal(status, 400);
  assert.match(JSON.stringify(body), /azure_colour/);
});
