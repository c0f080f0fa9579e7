// Keys of agents, and the records that their requests lead to.

import { call, done } from "../support/control.ts";
import { type TestGateway, workspaceKey } from "../support/gateway.ts";
import type { Target } from "./stage.ts";

const as = { key: workspaceKey };

/** A service key of the workspace. */
export async function createKey(gateway: TestGateway, changes: object = {}): Promise<string> {
  const body = { name: "Agent", scopes: ["completions.write"], ...changes };
  return String((await done(call(gateway, "POST /api-keys/workspace/service", { ...as, body }))).key);
}

/** The slug of a new config. */
export async function saveConfig(gateway: TestGateway, config: object): Promise<string> {
  return String((await done(call(gateway, "POST /configs", { ...as, body: { name: "Saved", config } }))).slug);
}

/** A key of the workspace whose requests go to the first target, and to the next one when that fails. */
export async function createConfigKey(gateway: TestGateway, targets: readonly Target[]): Promise<string> {
  const config = {
    strategy: { mode: "fallback" },
    targets: targets.map(({ provider, model }) => ({
      provider: provider.slug,
      api_key: "fake-provider-key",
      override_params: { model },
    })),
  };
  return createKey(gateway, { defaults: { config_id: await saveConfig(gateway, config) } });
}

/** Stores a provider under the name of its service. */
export async function storeProvider(gateway: TestGateway, slug: string, changes: object = {}): Promise<void> {
  const body = { name: slug, slug: `${slug}-keys`, ai_provider_id: slug, key: "fake-provider-key" };
  await done(call(gateway, "POST /integrations", { ...as, body: { ...body, create_default_provider: false } }));
  const provider = { name: slug, slug, integration_id: `${slug}-keys`, ...changes };
  await done(call(gateway, "POST /providers", { ...as, body: provider }));
}

/** Names a pool, a model or a config. */
export async function createAlias(gateway: TestGateway, name: string, target: object): Promise<void> {
  await done(call(gateway, "POST /model-aliases", { ...as, body: { name, target } }));
}

/** A key without a config, in a workspace that has a name for each pool. */
export async function createPoolsKey(
  gateway: TestGateway,
  pools: ReadonlyMap<string, readonly Target[]>,
): Promise<string> {
  for (const slug of new Set([...pools.values()].flat().map(({ provider }) => provider.slug))) {
    await storeProvider(gateway, slug);
  }
  for (const [name, targets] of pools) {
    const models = targets.map(({ provider, model }) => ({ model: `@${provider.slug}/${model}` }));
    await createAlias(gateway, name, { pool: { mode: "fallback", models } });
  }
  return createKey(gateway);
}
