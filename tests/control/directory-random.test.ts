import assert from "node:assert/strict";
import { test } from "node:test";
import { createDirectory } from "../../src/control/directory.ts";
import { createControlStores } from "../../src/db/stores/control.ts";
import { call } from "../support/control.ts";
import { openNode, plainOpener, showView } from "../support/directory.ts";
import { createRandom, createTestGateway } from "../support/gateway.ts";
import { isWhole, sampleSeed } from "../support/sample.ts";

/** Writes and readings. */
const steps = isWhole ? 1_500 : 150;

/** What random writes are made with. */
interface World {
  random: () => number;
  send(route: string, body?: object): Promise<Record<string, unknown>>;
  organisationId: string;
  workspaces: string[];
  people: string[];
  collections: Map<string, string>;
  /** Slugs or ids of what was made, by kind. */
  made: Map<string, { name: string; workspaceId: string | undefined }[]>;
}

const pick = <Item>({ random }: World, items: readonly Item[]): Item | undefined =>
  items[Math.floor(random() * items.length)];
const madeOf = (world: World, kind: string) => pick(world, world.made.get(kind) ?? []);
const flip = ({ random }: World) => random() < 0.5;

/** Makes a record and remembers it where that went well. */
async function make(world: World, kind: string, route: string, body: object, workspaceId?: string) {
  const at = workspaceId === undefined ? {} : { workspace_id: workspaceId };
  const answer = await world.send(route, { ...body, ...at });
  const { data } = answer;
  const receipt = typeof data === "object" && data !== null ? { ...answer, ...data } : answer;
  const name = Reflect.get(receipt, "slug") ?? Reflect.get(receipt, "id");
  if (typeof name === "string") world.made.set(kind, [...(world.made.get(kind) ?? []), { name, workspaceId }]);
}

/** Changes a record there is, or deletes it. */
async function alter(world: World, kind: string, path: string, body: () => object) {
  const one = madeOf(world, kind);
  if (!one) return;
  const at = one.workspaceId === undefined ? {} : { workspace_id: one.workspaceId };
  const query = one.workspaceId === undefined ? "" : `?workspace_id=${one.workspaceId}`;
  if (world.random() < 0.25) await world.send(`DELETE ${path}/${one.name}${query}`);
  else await world.send(`PUT ${path}/${one.name}${query}`, { ...body(), ...at });
}

const text = ({ random }: World) => `n${Math.floor(random() * 1e9)}`;
const words = (world: World) => [
  { id: "default.contains", parameters: { operator: "any", words: [text(world)] } },
  { id: "default.webhook", parameters: { webhookURL: "https://hooks.example.com/x?key=fake-secret-0000" } },
];
const echo = { provider: "echo", ai_provider_id: "echo", key: "fake-echo-key-000000" };
const tools = { url: "https://tools.example.com/mcp", auth_type: "headers", transport: "http" };
const reference = {
  manager_type: "hashicorp_vault",
  secret_path: "secret/data/x",
  auth_config: { vault_addr: "https://vault.example.com", vault_auth_type: "token", vault_token: "fake-token-000000" },
};
const promptOf = (world: World) => ({ string: text(world), parameters: {}, virtual_key: "", model: "m" });

type Write = (world: World, workspace: string) => Promise<unknown>;

const writes: readonly Write[] = [
  (world, at) => make(world, "config", "POST /configs", { name: text(world), config: { provider: "echo" } }, at),
  (world) => alter(world, "config", "/configs", () => ({ config: { provider: "echo", api_key: text(world) } })),
  (world, at) => make(world, "key", "POST /virtual-keys", { name: text(world), provider: "echo", key: echo.key }, at),
  (world) => alter(world, "key", "/virtual-keys", () => ({ name: text(world), key: `fake-${text(world)}-0000` })),
  (world, at) => {
    const { provider: _, ...integration } = echo;
    return make(
      world,
      "integration",
      "POST /integrations",
      { name: text(world), ...integration },
      flip(world) ? at : undefined,
    );
  },
  (world) =>
    alter(world, "integration", "/integrations", () => ({ name: text(world), key: `fake-${text(world)}-0000` })),
  (world) => {
    const one = madeOf(world, "integration");
    const model = { slug: pick(world, ["a", "b"]), enabled: flip(world), is_custom: true };
    return world.send(`PUT /integrations/${one?.name}/models`, { models: [model], workspace_id: one?.workspaceId });
  },
  (world) => {
    const one = madeOf(world, "integration");
    const query = one?.workspaceId === undefined ? "" : `&workspace_id=${one.workspaceId}`;
    return world.send(`DELETE /integrations/${one?.name}/models?slugs=a${query}`);
  },
  (world, at) => {
    const workspaces = [{ id: at, enabled: flip(world) }];
    return world.send(`PUT /integrations/${madeOf(world, "integration")?.name}/workspaces`, { workspaces });
  },
  (world, at) => {
    const body = { name: text(world), integration_id: madeOf(world, "integration")?.name };
    return make(world, "provider", "POST /providers", body, at);
  },
  (world) => alter(world, "provider", "/providers", () => ({ note: text(world) })),
  (world, at) =>
    make(world, "tools", "POST /mcp-integrations", { name: text(world), ...tools }, flip(world) ? at : undefined),
  (world) =>
    alter(world, "tools", "/mcp-integrations", () => ({
      name: text(world),
      configurations: { custom_headers: { authorization: `Bearer fake-${text(world)}-0000` } },
    })),
  (world, at) => {
    const body = { name: text(world), mcp_integration_id: madeOf(world, "tools")?.name };
    return make(world, "server", "POST /mcp-servers", body, at);
  },
  (world) => alter(world, "server", "/mcp-servers", () => ({ settings: { soft_429: flip(world) } })),
  (world, at) => {
    const capabilities = [{ type: "tool", name: pick(world, ["a", "b"]), enabled: flip(world) }];
    const [kind, path] = flip(world) ? ["tools", "/mcp-integrations"] : ["server", "/mcp-servers"];
    const one = madeOf(world, kind ?? "");
    const workspace_id = one?.workspaceId ?? (kind === "server" ? at : undefined);
    return world.send(`PUT ${path}/${one?.name}/capabilities`, { capabilities, workspace_id });
  },
  (world, at) => {
    const workspaces = [{ id: at, enabled: flip(world) }];
    return world.send(`PUT /mcp-integrations/${madeOf(world, "tools")?.name}/workspaces`, { workspaces });
  },
  (world) => {
    const one = madeOf(world, "server");
    const user_access = [{ user_id: pick(world, world.people), enabled: flip(world) }];
    return world.send(`PUT /mcp-servers/${one?.name}/user-access`, { user_access, workspace_id: one?.workspaceId });
  },
  (world, at) =>
    make(
      world,
      "guardrail",
      "POST /guardrails",
      { name: text(world), checks: words(world), actions: {} },
      flip(world) ? at : undefined,
    ),
  (world, at) => {
    const target = { config: madeOf(world, "config")?.name };
    return make(world, "alias", "POST /model-aliases", { name: text(world), target }, flip(world) ? at : undefined);
  },
  (world) => alter(world, "alias", "/model-aliases", () => ({ enabled: flip(world), tags: [text(world)] })),
  (world) => alter(world, "guardrail", "/guardrails", () => ({ name: text(world), checks: words(world) })),
  (world) => {
    const named = (world.made.get("guardrail") ?? []).filter(({ workspaceId }) => workspaceId === undefined);
    return world.send("PUT /admin/organisation/defaults", {
      input_guardrails: named.slice(-2).map(({ name }) => name),
    });
  },
  (world, at) => {
    const workspaces = [{ workspace_id: at, excluded: flip(world) }];
    const body = { workspaces, override_existing: world.random() < 0.2 };
    return world.send(`PUT /workspace-exclusions/${flip(world) ? "input" : "output"}-guardrails`, body);
  },
  (world, at) => {
    const place = { name: text(world), collection_id: world.collections.get(at) };
    return make(world, "prompt", "POST /prompts", { ...place, ...promptOf(world) }, at);
  },
  (world) => alter(world, "prompt", "/prompts", () => promptOf(world)),
  (world) => world.send(`PUT /prompts/${madeOf(world, "prompt")?.name}/makeDefault`, { version: 1 }),
  async (world) => {
    const path = `/prompts/${madeOf(world, "prompt")?.name}/versions`;
    const { data } = await world.send(`GET ${path}`);
    const version = pick(world, Array.isArray(data) ? data : []);
    const label_id = flip(world) ? (madeOf(world, "label")?.name ?? null) : null;
    if (version) await world.send(`PUT ${path}/${version.id}`, { label_id });
  },
  (world, at) => make(world, "label", "POST /labels", { name: text(world) }, at),
  (world) => alter(world, "label", "/labels", () => ({ name: text(world) })),
  (world, at) => {
    const place = { name: text(world), collection_id: world.collections.get(at) };
    return make(world, "partial", "POST /prompts/partials", { ...place, string: text(world) }, at);
  },
  (world) => alter(world, "partial", "/prompts/partials", () => ({ string: text(world) })),
  (world, at) => {
    const role = pick(world, ["member", "manager", "admin"]);
    return world.send(`POST /admin/workspaces/${at}/users`, { users: [{ id: pick(world, world.people), role }] });
  },
  (world, at) => world.send(`DELETE /admin/workspaces/${at}/users/${pick(world, world.people)}`),
  (world) => world.send(`PUT /admin/users/${pick(world, world.people)}`, { role: flip(world) ? "member" : "admin" }),
  (world) => (world.random() < 0.1 ? world.send(`DELETE /admin/users/${world.people[0]}`) : Promise.resolve()),
  (world, at) => world.send(`PUT /admin/workspaces/${at}`, { description: text(world) }),
  (world) => world.send(`PUT /organisations/${world.organisationId}`, { settings: { debug_log: flip(world) ? 1 : 0 } }),
  (world) => make(world, "reference", "POST /secret-references", { name: text(world), ...reference }),
  (world) => alter(world, "reference", "/secret-references", () => ({ secret_path: text(world) })),
  (world) => {
    const secret_mappings = [{ target_field: "key", secret_reference_id: madeOf(world, "reference")?.name }];
    const one = madeOf(world, "integration");
    return world.send(`PUT /integrations/${one?.name}`, { secret_mappings, workspace_id: one?.workspaceId });
  },
  async (world) => {
    const gone = pick(world, world.workspaces.slice(2));
    const { name } = gone === undefined ? {} : await world.send(`GET /admin/workspaces/${gone}`);
    if (name !== undefined) return world.send(`DELETE /admin/workspaces/${gone}`, { name, force_delete: true });
    const { id } = await world.send("POST /admin/workspaces", { name: text(world) });
    return typeof id === "string" && world.workspaces.push(id);
  },
];

async function createWorld(gateway: Parameters<typeof call>[0], random: () => number, organisationId: string) {
  let succeeded = 0;
  const send: World["send"] = async (route, body) => {
    const { status, body: answer } = await call(gateway, route, body === undefined ? {} : { body });
    assert.ok(status < 500, JSON.stringify(answer));
    if (status !== 200) return {};
    succeeded++;
    return answer;
  };
  const world: World = {
    random,
    send,
    organisationId,
    workspaces: [],
    people: [],
    collections: new Map(),
    made: new Map(),
  };
  return { world, succeeded: () => succeeded };
}

test(`whatever is written and read in whichever order, a directory shows what a new one shows (seed ${sampleSeed})`, async () => {
  const gateway = await createTestGateway({ inFile: true });
  const database = await gateway.openFile();
  const stores = createControlStores(database);
  const { rows } = await database.read("SELECT id, organisation_id FROM workspaces");
  const organisationId = String(rows[0]?.organisation_id);
  const { world, succeeded } = await createWorld(gateway, createRandom(sampleSeed), organisationId);
  const second = await world.send("POST /admin/workspaces", { name: "Second" });
  world.workspaces.push(String(rows[0]?.id), String(second.id));
  for (const workspaceId of world.workspaces) {
    const { data } = await world.send(`GET /collections?workspace_id=${workspaceId}`);
    const [collection] = Array.isArray(data) ? data : [];
    world.collections.set(workspaceId, collection.id);
  }
  for (const name of ["a", "b", "c"]) {
    const id = crypto.randomUUID();
    const row = { id, organisationId, email: `${name}@example.com`, role: "member" as const, createdAt: 0 };
    await database.write([stores.users.insert({ organisationId, workspaceId: null }, row)]);
    world.people.push(id);
  }
  const node = await openNode(database);
  let shown = 0;
  for (let round = 0; round < steps; round++) {
    await pick(world, writes)?.(world, pick(world, world.workspaces.slice(0, 2)) ?? "");
    if (world.random() < 0.5) continue;
    await node.look();
    const tenant = { organisationId, workspaceId: pick(world, world.workspaces) ?? "" };
    const fresh = createDirectory(stores, plainOpener);
    const wanted = await showView(fresh, tenant, world.people);
    assert.deepEqual(await showView(node.directory, tenant, world.people), wanted, `round ${round}`);
    shown++;
  }
  // most are, and no seed has few
  assert.ok(shown > steps / 5 && succeeded() > steps / 5, `${shown} ${succeeded()}`);
  node.close();
  await gateway.close();
});
