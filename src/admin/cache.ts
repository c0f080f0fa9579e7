import { announcePurge } from "../db/stores/cache.ts";
import type { AdminEndpoint } from "../endpoint.ts";
import { CachePurge } from "../schemas/cache.ts";
import { type AdminCall, type AnswerOf, defineWrite, type Outcome } from "./core/endpoint.ts";
import { readTenant, readText, requireKnownQuery } from "./core/request.ts";

const query = [
  { name: "namespace", description: "Only responses that were stored in this namespace" },
  { name: "workspace_id", description: "Only responses of this workspace, by its id or slug" },
];

/** Removes stored responses here, and announces it to other processes. */
async function purgeCache(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof CachePurge>>> {
  // a misspelt filter would remove more than was asked for
  requireKnownQuery(call.query, [...query, { name: "organisation_id" }]);
  const { organisationId, workspaceId } = await readTenant(call);
  const { cache } = call.context.services;
  const name = readText(call.query, "namespace");
  const namespace = name === undefined ? null : await cache.namespaceOf({ organisationId }, name);
  const scope = { organisationId, workspaceId, namespace };
  const id = crypto.randomUUID();
  await cache.purge(scope, id);
  return {
    answer: { object: "cache_purge", workspace_id: workspaceId, namespace: name ?? null },
    statements: [announcePurge(scope, id)],
  };
}

/** Endpoints of the cache of responses. */
export const cacheEndpoints: readonly AdminEndpoint[] = [
  defineWrite({
    tag: "Cache",
    method: "DELETE",
    path: "/v1/cache",
    summary: "Remove stored responses",
    query,
    access: { keys: "any", scopes: ["configs.update"] },
    audit: { resource: "cache", action: "purge", store: null },
    response: CachePurge,
    handle: purgeCache,
  }),
];
