import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Portkey } from "portkey-ai";
import { fakeAdminKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const providerKey = "sk-fake-provider-key-for-tests";

let gateway: GatewayProcess;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await startGatewayProcess({ env: { GATEWAY_HEADER_ALIASES: "x-portkey-" } });
  upstream = await startRecordingUpstream((_request, response) => {
    response.setHeader("content-type", "application/json");
    const message = { role: "assistant", content: "Hello from the upstream" };
    response.end(
      JSON.stringify({
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-test",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      }),
    );
  });
});
after(async () => {
  await gateway.stop("SIGKILL");
  await upstream.close();
});

/** The SDK as its users set it up, unchanged. */
function createClient(apiKey: string, options: object = {}): Portkey {
  return new Portkey({ apiKey, baseURL: `${gateway.url}/v1`, ...options });
}

/** A field of a response that the SDK's types lack. */
function member(answer: object, name: string): string {
  const value: unknown = Reflect.get(answer, name);
  assert.equal(typeof value, "string", `${name} of ${JSON.stringify(answer)}`);
  return String(value);
}

/** Values of a member in the rows of a list. */
function listed(answer: { data?: unknown }, name: string): unknown[] {
  assert.ok(Array.isArray(answer.data));
  return answer.data.map((row: object) => Reflect.get(row, name));
}

test("the SDK runs an organisation and then completes a chat with the key it made", async () => {
  const admin = createClient(fakeAdminKey);
  const workspace = await admin.admin.workspaces.create({ name: "Team A", description: "Made by the SDK" });
  const workspaceId = member(workspace, "id");
  assert.ok(listed(await admin.admin.workspaces.list({}), "id").includes(workspaceId));

  const invite = await admin.admin.users.invites.create({
    email: "ada@example.com",
    role: "member",
    workspaces: [{ id: member(workspace, "slug"), role: "manager" }],
    workspace_api_key_details: { scopes: ["completions.write"] },
  });
  assert.match(member(invite, "invite_link"), /^http/);
  assert.deepEqual(listed(await admin.admin.users.invites.list({}), "email"), ["ada@example.com"]);
  assert.ok(listed(await admin.admin.users.list({}), "role").includes("owner"));

  const key = await admin.apiKeys.create({
    type: "workspace",
    "sub-type": "service",
    name: "Chat key",
    workspace_id: workspaceId,
    scopes: ["completions.write", "virtual_keys.create", "virtual_keys.list", "configs.create", "configs.list"],
  });
  const chatKey = member(key, "key");
  const keys = await admin.apiKeys.list({ workspace_id: workspaceId });
  assert.deepEqual(listed(keys, "name"), ["Chat key"]);
  assert.ok(!JSON.stringify(keys).includes(chatKey));

  // The SDK sends members its types do not name.
  const given = {
    name: "Upstream",
    ai_provider_id: "openai",
    key: providerKey,
    workspace_id: workspaceId,
    slug: "upstream",
    configurations: { custom_host: `${upstream.url}/v1` },
    create_default_provider: false,
  };
  const integration = await admin.integrations.create(given);
  assert.equal(member(integration, "slug"), "upstream");
  assert.ok(listed(await admin.integrations.list({}), "slug").includes("upstream"));
  await admin.providers.create({
    name: "Main",
    slug: "main",
    integration_id: "upstream",
    workspace_id: workspaceId,
  });

  const own = createClient(chatKey);
  const config = await own.configs.create({ name: "Simple", config: { provider: "@main" }, workspace_id: workspaceId });
  assert.match(member(config, "slug"), /^pc-/);
  assert.deepEqual(listed(await own.configs.list({}), "name"), ["Simple"]);
  await own.virtualKeys.create({ name: "Second", provider: "openai", key: providerKey });
  assert.deepEqual(new Set(listed(await own.virtualKeys.list({}), "name")), new Set(["Main", "Second"]));

  const chat = createClient(chatKey, { virtualKey: "main" });
  const answer = await chat.chat.completions.create({
    model: "gpt-test",
    messages: [{ role: "user", content: "Hello" }],
  });
  assert.equal(answer.choices?.[0]?.message?.content, "Hello from the upstream");
  const named = await own.chat.completions.create({
    model: "@main/gpt-test",
    messages: [{ role: "user", content: "Hello" }],
  });
  assert.equal(named.choices?.[0]?.message?.content, "Hello from the upstream");
  for (const { headers, body } of upstream.requests) {
    assert.equal(headers.authorization, `Bearer ${providerKey}`);
    assert.equal(JSON.parse(String(body)).model, "gpt-test");
    assert.ok(!Object.keys(headers).some((name) => /^x-(?:portkey|gateway)-/.test(name)));
  }
  assert.equal(upstream.requests.length, 2);
});
