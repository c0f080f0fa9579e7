import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GatewayError } from "../../src/errors.ts";
import { createAddressGuard } from "../../src/lib/address.ts";
import { createOutbound, OutboundError } from "../../src/lib/outbound.ts";
import { addressOf, sendCall } from "../../src/providers/core/call.ts";
import type { OperationName } from "../../src/providers/core/operations.ts";
import type { AuthTools, BoundProvider, OperationAdapter } from "../../src/providers/core/types.ts";
import { builtInProviders, createProviderRegistry } from "../../src/providers/registry.ts";
import { type AddressCase, openAddresses, openCases, serviceAccount, shapedCases } from "../support/address-cases.ts";
import {
  checkKnownAddress,
  checkNoKeys,
  checkOpenAddress,
  createRecordingTransport,
  requirePlainUrl,
  type SentRequest,
} from "../support/address-checks.ts";
import { createTestClock, createTestGateway, helloBody, requestHeaders, workspaceKey } from "../support/gateway.ts";
import { hostileValues, toHeaderText } from "../support/hostile-values.ts";
import { rounds } from "../support/sample.ts";

const seed = 20_260_115;
const count = rounds(2_000);
const values = hostileValues(count, seed);
const registry = createProviderRegistry();

const requests: Readonly<Record<OperationName, object>> = {
  chat: { messages: [{ role: "user", content: "Hello" }], user: "acme" },
  complete: { prompt: "Hello", user: "acme" },
  embed: { input: "Hello" },
  decide: { state: "Hello", questions: {} },
  moderate: { input: "Hello" },
  ocr: { document: { type: "document_url", document_url: "data:," } },
  rerank: { query: "Hello", documents: ["Hello"] },
  search: { query: "Hello" },
  models: {},
  messages: { messages: [], max_tokens: 1 },
  countTokens: { messages: [] },
  responses: { input: "Hello" },
  countChat: { messages: [] },
  generateContent: { contents: [] },
  countContents: { contents: [] },
  embedContent: { content: { parts: [] } },
  batchEmbedContents: { requests: [] },
  realtime: { query: [] },
  generateImage: { prompt: "Hello" },
  editImage: { prompt: "Hello", image: "i" },
  speak: { input: "Hello", voice: "v" },
  transcribe: { file: "f" },
  translate: { file: "f" },
};

/** Stands for a setting in the address of a provider. */
const marker = "acme-label";

/** Providers without a case: their host is the one they always have, but for labels that settings give it. */
function ownCase(provider: string): AddressCase | undefined {
  const known = registry.get(provider);
  const shaping = known?.settings.filter(({ shapesAddress, choosesPlace }) => shapesAddress || choosesPlace) ?? [];
  const settings = Object.fromEntries(shaping.map(({ header }) => [header, marker]));
  const bound = known && refusable(() => known.bind((name) => settings[name] ?? null));
  const base = bound && refusable(() => bound.baseUrl);
  if (!bound || base === undefined || bound.local) return undefined;
  const { hostname, pathname } = new URL(base);
  const hosts = new RegExp(`^${hostname.replaceAll(".", "\\.").replaceAll(marker, "[a-z0-9-]{1,63}")}$`);
  const prefix = pathname.slice(0, pathname.includes(marker) ? pathname.indexOf(marker) : undefined);
  return { provider, settings, hosts, prefix, credential: "provider-key" };
}

/** The settings a provider is called with. */
const listed = [...shapedCases, ...openCases];
const casesOf = (provider: string): AddressCase[] => {
  const cases = listed.filter((one) => one.provider === provider);
  const own = cases.length > 0 ? undefined : ownCase(provider);
  return own ? [own] : cases;
};

/** Paths of a provider's calls, with the operation if there is one; rejected models have no path. */
function pathsOf(bound: BoundProvider, model: string): string[] {
  const paths: string[] = [];
  for (const name of Object.keys(requests) as OperationName[]) {
    // the request of an operation fits its adapter
    const adapter = bound.operations[name] as OperationAdapter<"chat"> | undefined;
    for (const stream of [false, true]) {
      const path = refusable(() => adapter?.path({ ...requests[name], model, stream, messages: [] }));
      if (path !== undefined) paths.push(path);
    }
  }
  return Object.keys(bound.operations).length === 0 ? ["/endpoints/acme/invocations"] : paths;
}

/** The result of `work`; undefined for errors of the caller. */
function refusable<Made>(work: () => Made): Made | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof GatewayError && error.status < 500) return undefined;
    throw error;
  }
}

const isOpen = (one: AddressCase) => openCases.includes(one);

function toolsFor(note: (sent: SentRequest) => void): AuthTools {
  const guard = createAddressGuard({ trustedHosts: [] });
  return {
    outbound: createOutbound({ transport: createRecordingTransport(note), guard }),
    clock: createTestClock(),
    tokens: { get: async (_, load) => (await load()).token, refuse: () => false },
    tenant: ["organisation", "workspace"],
    environment: {},
  };
}

/** Checks the requests of a call: those to the service, and those for its tokens. */
function checkSent(sent: SentRequest, one: AddressCase, isNamed: boolean): void {
  checkNoKeys(sent);
  const isToken = /^(?:login|oauth2|www|accounts|sts)\./.test(new URL(sent.url).hostname) || /\/oidc\//.test(sent.url);
  if (isNamed && !isToken) checkOpenAddress(sent);
  else if (!isNamed) checkKnownAddress(sent.url, isToken ? { hosts: one.hosts, prefix: "/" } : one);
}

/** Checked base URLs by provider: most hostile values change none. */
const checked = new Set<string>();

/** Settings that change the URL of token requests. */
const tokenSettings = ["aws-role-arn", "azure-auth-mode", "databricks-client-id", "vertex-service-account-json"];

/** Makes the calls of a provider with settings; checks the URL of each and, once for its tokens, sends it. */
async function callWith(one: AddressCase, settings: Readonly<Record<string, string>>): Promise<number> {
  const { provider, model = "acme-1", credential } = one;
  const bound = refusable(() => registry.get(provider)?.bind((name) => settings[name] ?? null));
  if (!bound) return 0;
  let sent = 0;
  const note = (request: SentRequest) => {
    sent++;
    checkSent(request, one, isOpen(one));
  };
  const paths = refusable(() => pathsOf(bound, model)) ?? [];
  const urls = paths.flatMap((path) => {
    const url = refusable(() => addressOf({ provider: bound, customHost: undefined, path }));
    return url === undefined || URL.parse(url) === null ? [] : [{ path, url }];
  });
  for (const { url } of urls) {
    if (isOpen(one) || checked.has(`${provider} ${url}`)) continue;
    checkKnownAddress(url, one);
    checked.add(`${provider} ${url}`);
  }
  const [first] = urls;
  // other calls only repeat this URL: they request no token
  if (!first || !(isOpen(one) || tokenSettings.some((name) => settings[name] !== undefined))) return urls.length;
  const call = { provider: bound, customHost: undefined, credential, method: "POST", ...first, body: "{}" };
  const signal = new AbortController().signal;
  await sendCall({ ...call, headers: {}, raw: false, signal }, toolsFor(note)).catch((error: unknown) => {
    const isRefused = error instanceof GatewayError ? error.status !== 500 : error instanceof OutboundError;
    const isUnsent = error instanceof TypeError && /url/i.test(error.message);
    if (!isRefused && !isUnsent) throw error;
  });
  return sent;
}

/** Hostile values for JSON headers: in each field that is part of a URL. */
const written: Readonly<Record<string, (value: string, index: number) => string>> = {
  "azure-deployment-config": (value, index) => {
    const members = [value, "chat", "2024-10-21"];
    const [name, version] = index % 2 === 0 ? members : [members[1], members[0]];
    const one = { alias: "acme-1", azure_deployment_name: name, azure_api_version: version, is_default: true };
    return index % 5 === 4 ? value : JSON.stringify([one]);
  },
  "vertex-service-account-json": (value, index) => {
    const member = ["project_id", "token_uri", "client_email", "private_key_id"][index % 5];
    return member === undefined ? value : serviceAccount({ [member]: value });
  },
};

const settingHeaders = new Map<string, AddressCase[]>();
for (const { slug, settingHeaders: names } of builtInProviders) {
  for (const name of names) {
    const cases = casesOf(slug);
    if (cases.length > 0) settingHeaders.set(name, [...(settingHeaders.get(name) ?? []), ...cases]);
  }
}

for (const [name, cases] of settingHeaders) {
  test(`x-gateway-${name} leads to no other host or path (${count} values of seed ${seed})`, async () => {
    const plain = await Promise.all(cases.map((one) => callWith(one, one.settings)));
    assert.ok(
      plain.every((made) => made > 0),
      `every way to call ${cases.map(({ provider }) => provider)} works`,
    );
    let index = 0;
    for (const value of values) {
      const one = cases[index % cases.length];
      const text = written[name]?.(value, index) ?? value;
      index++;
      // a deployment id takes precedence over a list of deployments
      const { [name === "azure-deployment-config" ? "azure-deployment-id" : name]: _, ...settings } =
        one?.settings ?? {};
      if (one) await callWith(one, { ...settings, [name]: text });
    }
    assert.ok(index >= count);
  });
}

/** Model endings that change how a path begins. */
const modelForms = ["", "models/", "tunedModels/", "publishers/anthropic/models/", "meta.", "endpoints.", "anthropic."];

test(`a model leads to no other host or path at any provider (${count} values of seed ${seed})`, () => {
  const models = [...values, "\ud800", "a/\udfff", "..", "."];
  for (const { slug, isLocal } of builtInProviders) {
    if (isLocal) continue;
    const cases = casesOf(slug);
    const bases = cases.length > 0 ? cases : [{ provider: slug, settings: {}, hosts: /^acme\.example$/, prefix: "/" }];
    for (const one of bases) {
      const bound = registry.get(slug)?.bind((name) => one.settings[name] ?? null);
      assert.ok(bound);
      const customHost = cases.length > 0 ? undefined : "https://acme.example";
      const known = new Map<string, string>();
      for (const [index, value] of models.entries()) {
        const model = index % 2 === 0 ? value : `${modelForms[index % modelForms.length]}${value}`;
        for (const path of pathsOf(bound, model)) {
          if (known.has(path)) continue;
          const url = addressOf({ provider: bound, customHost, path });
          known.set(path, url);
          if (isOpen(one) || customHost) requirePlainUrl(url);
          else checkKnownAddress(url, one);
        }
      }
    }
  }
});

for (const [provider, model] of [
  ...[".", "..", "", "\ud800"].map((text) => ["bedrock", text] as const),
  ...["google", "vertex-ai", "workers-ai", "predibase"].map((slug) => [slug, "a\udfff"] as const),
] as const) {
  test(`${provider} rejects the model ${JSON.stringify(model)}, which cannot be part of a path`, () => {
    const settings = casesOf(provider).at(-1)?.settings;
    const bound = registry.get(provider)?.bind((name) => settings?.[name] ?? null);
    const ask = () => bound?.operations.chat?.path({ model, messages: [], user: "acme" });
    assert.throws(ask, /^InvalidRequestError: Invalid model: it cannot be part of a URL path/);
  });
}

/** Requests of the gateway under test, and the case they belong to. */
let expected: AddressCase | undefined;
let isNamed = false;
const failures: string[] = [];
const gateway = await createTestGateway({
  trustedHosts: [],
  transport: createRecordingTransport((sent) => {
    try {
      assert.ok(expected, `nothing may be sent, and ${sent.url} was`);
      checkSent(sent, expected, isNamed);
    } catch (error) {
      failures.push(String(error));
    }
  }),
});
after(() => gateway.close());

/** Calls the gateway; a failed check of a request fails the test. */
async function ask(headers: Readonly<Record<string, string>>, model = "acme-1", path = "/chat/completions") {
  const body = JSON.stringify({ model, ...requests.chat });
  const own = Object.entries(headers).map(([name, value]) => [name, toHeaderText(value)] as const);
  const init = { method: "POST", headers: requestHeaders(Object.fromEntries(own)), body };
  const response = await gateway.fetch(`/v1${path}`, init);
  const text = await response.text();
  const { status } = response;
  const isExpected = (status >= 200 && status < 300) || (status >= 400 && status < 500) || status === 502;
  assert.ok(isExpected, `${status} to ${JSON.stringify(headers).slice(0, 500)} and ${model}: ${text}`);
  assert.deepEqual(failures.splice(0), [], JSON.stringify({ headers, model }).slice(0, 500));
}

const prefixed = (settings: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [`x-gateway-${name}`, value]));

function headersOf({ provider, settings, credential }: AddressCase, more: Readonly<Record<string, string>> = {}) {
  return {
    "x-gateway-provider": provider,
    ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
    ...prefixed({ ...settings, ...more }),
  };
}

test(`requests with hostile settings get a response and reach no other host (samples of seed ${seed})`, async () => {
  let turn = 0;
  for (const [name, cases] of settingHeaders) {
    for (let sample = 0; sample < 25; sample++) {
      const one = cases[sample % cases.length];
      if (!one) continue;
      [expected, isNamed] = [one, isOpen(one)];
      turn += 7;
      const value = values[turn % count] ?? "";
      const path = one.provider === "sagemaker" ? "/endpoints/acme/invocations" : "/chat/completions";
      await ask(headersOf(one, { [name]: written[name]?.(value, sample) ?? value }), "acme-1", path);
    }
  }
});

test(`requests with hostile models get a response and reach no other host (samples of seed ${seed})`, async () => {
  for (const { slug, isLocal } of builtInProviders) {
    for (const one of isLocal ? [] : casesOf(slug)) {
      [expected, isNamed] = [one, isOpen(one)];
      const path = registry.get(slug)?.operationNames.includes("chat") ? "/chat/completions" : "/embeddings";
      for (let sample = 0; sample < 8; sample++) {
        await ask(headersOf(one), values[(sample * 271 + slug.length * 37) % count], path);
      }
      for (const model of ["..", ".", "\ud800", "../../x"]) await ask(headersOf(one), model, path);
    }
  }
});

for (const name of ["provider", "virtual-key"]) {
  test(`x-gateway-${name} never becomes part of a called URL (${count} values of seed ${seed})`, async () => {
    [expected, isNamed] = [undefined, false];
    const plain = { authorization: "Bearer provider-key", "x-gateway-provider": "openai" };
    for (const [index, value] of values.entries()) {
      const text = index % 3 === 0 ? `@${value}` : value;
      await ask({ ...plain, [`x-gateway-${name}`]: text || "@" });
    }
  });
}

for (const name of ["custom-host", "oauth"]) {
  test(`x-gateway-${name} leads to public hosts only (${count} values of seed ${seed})`, async () => {
    assert.ok(openAddresses[name]);
    [expected, isNamed] = [{ provider: "openai", settings: {}, hosts: /^/, prefix: "/" }, true];
    for (const value of values) {
      const client = { token_url: value, client_id: "app", client_secret: "example" };
      const text = name === "oauth" ? JSON.stringify(client) : value;
      // requests to the provider also have a host the caller named
      const host: Record<string, string> = name === "oauth" ? { "x-gateway-custom-host": "https://acme.example" } : {};
      await ask({ "x-gateway-provider": "openai", ...host, [`x-gateway-${name}`]: text });
    }
  });
}

test("settings that contain a whole URL are exactly those that may lead to any public host", () => {
  const influenced = builtInProviders.flatMap(({ slug, bind }) => {
    const settings = casesOf(slug)[0]?.settings;
    return bind((name) => settings?.[name] ?? null).isBaseInfluenced ? [slug] : [];
  });
  assert.deepEqual(new Set(influenced), new Set(openCases.map(({ provider }) => provider)));
  for (const name of settingHeaders.keys()) {
    assert.equal(Object.hasOwn(openAddresses, name), /-url$/.test(name), `${name} is stated, with the reason`);
  }
});

test("settings that contain the caller's gateway key are rejected, in a header and in a config", async () => {
  const call = async (headers: Readonly<Record<string, string>>) => {
    expected = undefined;
    const init = { method: "POST", headers: requestHeaders(headers), body: JSON.stringify(helloBody) };
    const response = await gateway.fetch("/v1/chat/completions", init);
    await response.text();
    assert.deepEqual([response.status, failures.splice(0)], [400, []], JSON.stringify(headers));
  };
  for (const [name, cases] of settingHeaders) {
    for (const one of cases) await call(headersOf(one, { [name]: workspaceKey }));
  }
  await call({ "x-gateway-provider": "openai", "x-gateway-custom-host": `https://acme.example/${workspaceKey}` });
  for (const member of ["openai_organization", "api_key"]) {
    await call({ "x-gateway-config": JSON.stringify({ provider: "openai", [member]: workspaceKey }) });
  }
});
