import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AlertingGateway,
  ask,
  createBudgetKey,
  createIntegration,
  type ShownBudget,
  tokensOfCall,
  withAlerts,
} from "../support/alerts.ts";
import { call, done } from "../support/control.ts";
import type { HeaderChanges } from "../support/gateway.ts";

const limits = (credit: number, more: object = {}) => ({ type: "tokens", credit_limit: credit, ...more });
const noHost: HeaderChanges = { "x-gateway-custom-host": null, authorization: null };

interface Workspaces {
  workspaces: { id: string; slug: string; usage_limits: ShownBudget[] | null }[];
}

/** A record with a budget: how it is changed and shown, and what a request to it looks like. */
interface Holder {
  prepare?(parts: AlertingGateway): Promise<unknown>;
  change(parts: AlertingGateway, budget: object): Promise<unknown>;
  show(parts: AlertingGateway): Promise<ShownBudget | undefined>;
  headers?: HeaderChanges;
}

const ofProvider = { ...noHost, "x-gateway-provider": "@ours" };
const holders: Readonly<Record<string, Holder>> = {
  workspace: {
    change: ({ gateway }, budget) =>
      done(call(gateway, "PUT /admin/workspaces/default", { body: { usage_limits: [budget] } })),
    async show({ gateway }) {
      const { usage_limits } = await done(
        call<{ usage_limits: ShownBudget[] }>(gateway, "GET /admin/workspaces/default"),
      );
      return usage_limits[0];
    },
  },
  "stored provider": {
    prepare: (parts) => createIntegration(parts, { workspace_id: "default" }),
    change: ({ gateway }, budget) =>
      done(call(gateway, "PUT /providers/ours", { body: { workspace_id: "default", usage_limits: budget } })),
    async show({ gateway }) {
      const shown = await done(
        call<{ usage_limits: ShownBudget }>(gateway, "GET /providers/ours?workspace_id=default"),
      );
      return shown.usage_limits;
    },
    headers: ofProvider,
  },
  "workspace at an integration": {
    prepare: (parts) => createIntegration(parts),
    change: ({ gateway }, budget) =>
      done(
        call(gateway, "PUT /integrations/ours/workspaces", {
          body: { workspaces: [{ id: "default", enabled: true, usage_limits: [budget] }] },
        }),
      ),
    async show({ gateway }) {
      const { workspaces } = await done(call<Workspaces>(gateway, "GET /integrations/ours/workspaces"));
      return workspaces[0]?.usage_limits?.[0];
    },
    headers: ofProvider,
  },
};

for (const [name, { prepare, change, show, headers }] of Object.entries(holders)) {
  for (const period of [{}, { periodic_reset_days: 7 }]) {
    test(`a raised budget of a ${name} continues with its counter: ${JSON.stringify(period)}`, () =>
      withAlerts(async (start) => {
        const parts = await start();
        await prepare?.(parts);
        await change(parts, limits(3_000, period));
        const { key } = await createBudgetKey(parts, {}, { usage_limits: null });
        assert.equal(await ask(parts, key, headers), 200);
        const before = await show(parts);
        assert.equal(before?.current_usage, tokensOfCall);
        parts.clock.advance(2 * 86_400_000);
        await change(parts, limits(6_000, period));
        const after = await show(parts);
        assert.deepEqual([after?.id, after?.current_usage], [before?.id, tokensOfCall]);
      }));
  }
}

test("a budget that an integration gives to all workspaces is one for each of them", () =>
  withAlerts(async (start) => {
    const parts = await start();
    const { gateway } = parts;
    const second = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Second" } }));
    await createIntegration(parts);
    const body = {
      global_workspace_access: { enabled: true, usage_limits: [limits(1_500)] },
      override_existing_workspace_access: true,
    };
    await done(call(gateway, "PUT /integrations/ours/workspaces", { body }));
    const keys = [
      await createBudgetKey(parts, {}, { usage_limits: null }),
      await createBudgetKey(parts, {}, { usage_limits: null }, { workspaceId: second.id }),
    ];
    const slugs = await Promise.all(
      [parts.workspaceId, second.id].map(async (id) => {
        const { data } = await done(call<{ data: { slug: string }[] }>(gateway, `GET /providers?workspace_id=${id}`));
        return data[0]?.slug ?? assert.fail();
      }),
    );
    for (const status of [200, 412]) {
      for (const [index, { key }] of keys.entries()) {
        const headers = { ...noHost, "x-gateway-provider": `@${slugs[index]}` };
        assert.equal(await ask(parts, key, headers), status, `workspace ${index}`);
      }
    }
  }));
