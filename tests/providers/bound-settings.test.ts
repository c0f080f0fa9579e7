import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInProviders } from "../../src/providers/registry.ts";

const bind = (slug: string, settings: Readonly<Record<string, string>>) => {
  const provider = builtInProviders.find((one) => one.slug === slug);
  assert.ok(provider);
  return provider.bind((name) => settings[name] ?? null);
};

test("bind() caches a provider for equal settings, and creates another for other settings", () => {
  const one = bind("workers-ai", { "workers-ai-account-id": "a" });
  assert.equal(bind("workers-ai", { "workers-ai-account-id": "a" }), one);
  const other = bind("workers-ai", { "workers-ai-account-id": "b" });
  assert.notEqual(other, one);
  assert.match(other.baseUrl, /accounts\/b\//);
  assert.match(one.baseUrl, /accounts\/a\//);
});

test("bind() does not confuse settings whose joined values are equal", () => {
  const azure = (resource: string, deployment: string) =>
    bind("azure-openai", {
      "azure-resource-name": resource,
      "azure-deployment-id": deployment,
      "azure-api-version": "v1",
    });
  assert.match(azure("a", "bc").baseUrl, /\/a\.openai/);
  assert.match(azure("ab", "c").baseUrl, /\/ab\.openai/);
});

for (const { slug, settingHeaders } of builtInProviders) {
  const secrets = settingHeaders.filter((name) => /secret|token|private|passphrase|service-account|-key$/.test(name));
  for (const name of secrets) {
    test(`bind() does not cache ${slug} with ${name}`, () => {
      const settings = { [name]: name.includes("token-type") ? "OAUTH" : "fake" };
      assert.notEqual(tryBind(slug, settings), tryBind(slug, settings));
    });
  }
}

/** The provider, or a unique value when its settings are rejected. */
function tryBind(slug: string, settings: Readonly<Record<string, string>>): object {
  try {
    return bind(slug, settings);
  } catch {
    return {};
  }
}

test("bind() with a token client does not change the cached provider", () => {
  const settings = { "azure-resource-name": "r" };
  const plain = bind("azure-openai", settings);
  const oauth = JSON.stringify({ token_url: "https://id.example.com/token", client_id: "c", client_secret: "s" });
  assert.notEqual(bind("azure-openai", { ...settings, oauth }), plain);
  assert.equal(bind("azure-openai", settings), plain);
});
