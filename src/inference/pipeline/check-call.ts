import { noDefaults, type Principal } from "../../auth/principal.ts";
import { createOwnRequest } from "../../context/own-request.ts";
import type { ApartConfig } from "../../context/shadow.ts";
import type { CallerContext } from "../../context.ts";
import { hopHeader } from "../../lib/headers.ts";
import type { CheckedTarget } from "../../routing/balance/health.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { modelOf } from "../facts/operation-facts.ts";
import type { RequestConfig } from "../target/saved-config.ts";

/** The gateway, with the right to call models of a workspace. No limit of a key or user applies. */
function principalOf({ organisationId, workspaceId }: Principal): Principal {
  return {
    keyId: "gateway",
    kind: "workspace-service",
    organisationId,
    workspaceId,
    userId: null,
    scopes: new Set(["completions.write"]),
    defaults: noDefaults,
  };
}

/** A target as it is checked: one call of its model, without what its config adds to the requests of callers. */
function toCheckedNode(leaf: ConfigNode): ConfigNode {
  const model = modelOf(leaf.merged.overrideParams);
  const merged = {
    ...leaf.merged,
    retry: undefined,
    cache: undefined,
    promptCache: undefined,
    hooks: {},
    overrideParams: model === undefined ? {} : { model },
    defaultParams: {},
  };
  return { ...leaf, promptId: undefined, merged };
}

/** The call of a model of a target with one output token. Its row has the source `check`, and no guardrail runs on it. */
export function createCheckCall(
  leaf: ConfigNode,
  { config: { id, slug, saved }, context }: { config: RequestConfig; context: CallerContext },
): CheckedTarget["call"] {
  const { services, principal, headers: given } = context;
  const config: ApartConfig = { node: toCheckedNode(leaf), id, slug, ...(saved && { saved }) };
  const actingFor = principalOf(principal);
  // the target may be this gateway again
  const hops = services.hops.next(given);
  return async (model, timeoutMs) => {
    const headers = {
      "content-type": "application/json",
      "x-gateway-span-name": "health check",
      "x-gateway-request-timeout": String(timeoutMs),
      [hopHeader]: hops,
    };
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], max_tokens: 1 });
    const { signal } = new AbortController();
    const request = createOwnRequest("/v1/chat/completions", { method: "POST", headers, body, signal });
    const response = await services.handle(request, { actingFor, isUnguarded: true, apart: { config } });
    await response.body?.pipeTo(new WritableStream());
    return response.status;
  };
}
