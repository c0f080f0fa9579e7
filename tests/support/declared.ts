// Files of declared state, applied to a gateway of a test.

import type { Api, ApiCall } from "../../src/declared/api.ts";
import { applyDeclared } from "../../src/declared/apply.ts";
import { readDeclared } from "../../src/declared/document.ts";
import { fillVariables } from "../../src/declared/environment-values.ts";
import { makePlan, type Plan, type PlanOptions } from "../../src/declared/plan.ts";
import { pathOf } from "../../src/declared/show.ts";
import { readSnapshot } from "../../src/declared/snapshot.ts";
import { createOwnApi } from "../../src/serve/declared-file.ts";
import type { TestGateway } from "./gateway.ts";

/** How a document is applied. */
export interface DeclaredOptions extends Partial<Pick<PlanOptions, "prune" | "takesSecrets">> {
  readonly environment?: Readonly<Record<string, string>>;
  /** Called before each call of the control plane. */
  readonly before?: (call: ApiCall) => void;
  /** Takes secrets of new keys, by their names. */
  readonly keys?: Map<string, string>;
}

function toPlanOptions(
  { prune = "all", takesSecrets = true }: DeclaredOptions,
  variables: ReadonlyMap<string, string>,
) {
  return { prune, takesSecrets, variables, secrets: new Set<string>() };
}

async function openApi({ gateway }: TestGateway, { before }: DeclaredOptions): Promise<Api> {
  const api = await createOwnApi(gateway);
  return (call) => {
    before?.(call);
    return api(call);
  };
}

/** What would be done for a document. */
export async function planOf(gateway: TestGateway, document: object, options: DeclaredOptions = {}): Promise<Plan> {
  const { value, variables } = fillVariables({ version: 1, ...document }, options.environment ?? {});
  const declared = readDeclared(value, "the file");
  return makePlan(
    declared,
    await readSnapshot(await openApi(gateway, options), declared),
    toPlanOptions(options, variables),
  );
}

/** The steps of a plan: `+ workspaces.default.configs.pc-a`. */
export function stepsOf({ changes }: Plan): string[] {
  const signs = { create: "+", change: "~", replace: "±", remove: "-" };
  return changes.map((change) => `${signs[change.action]} ${pathOf(change)}`);
}

/** Applies a document; the result is how many records were written. */
export async function applyTo(gateway: TestGateway, document: object, options: DeclaredOptions = {}): Promise<number> {
  const { value, variables } = fillVariables({ version: 1, ...document }, options.environment ?? {});
  return applyDeclared(readDeclared(value, "the file"), {
    ...toPlanOptions(options, variables),
    api: await openApi(gateway, options),
    show: () => {},
    takeSecret: (name, _, secret) => void options.keys?.set(name, secret),
  });
}
