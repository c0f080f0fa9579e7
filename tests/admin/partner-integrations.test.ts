import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { chat, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let service: RecordingUpstream;
let reply: unknown;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  service = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(reply));
  });
});
after(async () => {
  await gateway.close();
  await service.close();
});

const secret = "partner-secret-0123456789";
const blocked = { result: { outcome: "blocked" } };

interface Made {
  id: string;
  slug: string;
  provider_slug?: string;
}

/** Creates an integration of a partner whose address is the test's service. */
function integrate(body: object, key?: string): Promise<Made> {
  const configurations = { custom_host: service.url };
  const options = {
    ...(key !== undefined && { key }),
    body: { name: "Partner", key: secret, configurations, ...body },
  };
  return done(call<Made>(gateway, "POST /integrations", options));
}

/** Asks under a guardrail of the config, or under the defaults. */
async function ask(check?: object, key = workspaceKey) {
  const config = check && {
    "x-gateway-config": JSON.stringify({ input_guardrails: [{ ...check, deny: true, on_error: "pass" }] }),
  };
  const response = await chat(
    gateway,
    { model: "echo-1", messages: [{ role: "user", content: "my text" }] },
    { "x-gateway-api-key": key, "x-gateway-provider": "echo", ...config },
  );
  const body = (await response.json()) as {
    hook_results?: { before_request_hooks: { checks: { error: unknown }[] }[] };
  };
  return { status: response.status, error: body.hook_results?.before_request_hooks[0]?.checks[0]?.error, body };
}

const scan = (more: object = {}) => ({ "f5-guardrails.scan": { projectId: "p-1", ...more } });

test("a check uses the credentials of a named integration, and of the only one without a name", async () => {
  const { slug, provider_slug } = await integrate({ ai_provider_id: "f5-guardrails" }, workspaceKey);
  assert.equal(provider_slug, undefined, "a partner has no models to call");
  reply = blocked;
  for (const more of [{ integration: slug }, {}]) {
    const { status, body } = await ask(scan(more));
    assert.equal(status, 446, JSON.stringify(body));
    assert.equal(service.requests.at(-1)?.headers.authorization, `Bearer ${secret}`);
    assert.ok(!JSON.stringify(body).includes(secret));
  }
  const shown = await done(call(gateway, `GET /integrations/${slug}`, { key: workspaceKey }));
  assert.ok(!JSON.stringify(shown).includes(secret));
  assert.equal(
    await refusal(call(gateway, "POST /providers", { key: workspaceKey, body: { name: "P", integration_id: slug } })),
    "400 AB01",
  );
  await integrate({ ai_provider_id: "f5-guardrails" }, workspaceKey);
  const unclear = await ask(scan());
  assert.match(JSON.stringify(unclear.error), /name an integration/);
});

test("a check does not use integrations of other partners, workspaces and organisations", async () => {
  const foreign = await integrate({ ai_provider_id: "f5-guardrails", slug: "foreign" }, other.workspaceKey);
  const pillar = await integrate({ ai_provider_id: "pillar" }, workspaceKey);
  const model = await done(
    call<Made>(gateway, "POST /integrations", {
      key: workspaceKey,
      body: { name: "M", ai_provider_id: "openai", key: "sk-test-model-key-000" },
    }),
  );
  const sent = service.requests.length;
  for (const integration of [foreign.slug, foreign.id, pillar.slug, model.slug, "unknown"]) {
    const { error } = await ask(scan({ integration }));
    assert.match(JSON.stringify(error), /has no active integration/, integration);
  }
  assert.equal(service.requests.length, sent);
});

test("an integration of the organisation serves its own guardrails everywhere, others only where it is shared", async () => {
  const { slug } = await integrate({ ai_provider_id: "akto" });
  const check = { "akto.scan": { integration: slug } };
  reply = { Allowed: false };
  assert.match(JSON.stringify((await ask(check)).error), /has no active integration/);
  const guardrail = await done(
    call<Made>(gateway, "POST /admin/v2/guardrails", {
      body: { name: "G", checks: [{ id: "akto.scan", parameters: { integration: slug } }], actions: { deny: true } },
    }),
  );
  assert.equal((await ask({ id: guardrail.slug })).status, 446);
  const workspaces = await done(call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces"));
  const shared = { workspaces: workspaces.data.map(({ id }) => ({ id, enabled: true })) };
  await done(call(gateway, `PUT /integrations/${slug}/workspaces`, { body: shared }));
  assert.equal((await ask(check)).status, 446);
});

test("the address of an integration is its own: parameters of a check cannot move its credentials", async () => {
  const { slug } = await integrate(
    { ai_provider_id: "pangea", configurations: { domain: "pangea.example", custom_host: service.url } },
    workspaceKey,
  );
  const moved = await refusal(
    call(gateway, `PUT /integrations/${slug}`, {
      key: workspaceKey,
      body: { configurations: { domain: "evil.example" } },
    }),
  );
  assert.equal(moved, "400 AB01");
  const sent = service.requests.length;
  reply = { status: "Success", result: { detectors: {} } };
  const { status } = await ask({
    "pangea.textGuard": {
      integration: slug,
      customHost: "http://127.0.0.1:1",
      credentials: { domain: "evil.example" },
    },
  });
  // inline credentials take the place of the integration's as a whole: they are incomplete
  assert.deepEqual([status, service.requests.length], [200, sent]);
});

test("integrations of partners need what the partner needs", async () => {
  for (const body of [
    { name: "P", ai_provider_id: "javelin", key: secret },
    { name: "P", ai_provider_id: "javelin", configurations: { domain: "a.example", application: "a" } },
    { name: "P", ai_provider_id: "javelin", key: secret, configurations: { domain: "a.example/x", application: "a" } },
    { name: "P", ai_provider_id: "lakera", key: secret },
    { name: "P", ai_provider_id: "akto", key: secret, configurations: { base_url: "http://169.254.169.254" } },
  ]) {
    assert.equal(
      await refusal(call(gateway, "POST /integrations", { key: workspaceKey, body })),
      "400 AB01",
      JSON.stringify(body),
    );
  }
});

test("Bedrock's guardrails are called with a signature of AWS, with the keys of the provider's integration", async () => {
  const { slug } = await integrate(
    {
      ai_provider_id: "bedrock",
      key: undefined,
      create_default_provider: false,
      configurations: {
        aws_auth_type: "accessKey",
        aws_access_key_id: "AKIDEXAMPLE",
        aws_secret_access_key: "aws-secret-of-a-test",
        aws_region: "eu-west-1",
        custom_host: service.url,
      },
    },
    workspaceKey,
  );
  reply = {
    action: "GUARDRAIL_INTERVENED",
    assessments: [{ wordPolicy: { customWords: [{ match: "x", action: "BLOCKED" }] } }],
  };
  const { status } = await ask({ "bedrock.guard": { guardrailId: "gr", guardrailVersion: "1", integration: slug } });
  assert.equal(status, 446);
  const { headers } = service.requests.at(-1) ?? assert.fail();
  assert.match(
    String(headers.authorization),
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=[\w;-]+, Signature=[0-9a-f]{64}$/,
  );
});

test("Azure's checks take a key of the integration, and managed identities only for Azure's own hosts", async () => {
  const { slug } = await integrate(
    { ai_provider_id: "azure", configurations: { resource_name: "res", custom_host: service.url } },
    workspaceKey,
  );
  reply = { protectedMaterialAnalysis: { detected: false }, userPromptAnalysis: { attackDetected: true } };
  assert.equal((await ask({ "azure.shieldPrompt": { integration: slug } })).status, 446);
  assert.equal(service.requests.at(-1)?.headers["ocp-apim-subscription-key"], secret);
  const managed = { resourceName: "res", azureAuthMode: "managed", customHost: service.url };
  const { error } = await ask({ "azure.shieldPrompt": { credentials: { contentSafety: managed } } });
  assert.match(JSON.stringify(error), /is not an Azure host/);
});
