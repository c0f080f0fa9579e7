import type { CollectionRow, PromptRow } from "../../db/tables/prompts.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  Collection,
  CollectionList,
  CreateCollection,
  CreatedCollection,
  type ListedCollection,
  ShownCollection,
  UpdateCollection,
} from "../../schemas/prompts.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { listWithFixed } from "../core/fixed-entries.ts";
import { defineRecord } from "../core/record.ts";
import type { Found } from "../core/record-definitions.ts";
import {
  forbid,
  readSearch,
  readTenant,
  requireFound,
  requireReferenced,
  requireWorkspace,
  toIso,
} from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";

/** The collection every workspace has: it is not in the database, and its id is the workspace's. */
function defaultCollection({ id, organisationId, createdAt }: WorkspaceRow): CollectionRow {
  return {
    id,
    organisationId,
    workspaceId: id,
    slug: `co-default-${id.slice(0, 6)}`,
    name: "Default",
    parentCollectionId: null,
    createdAt,
    lastUpdatedAt: 0,
  };
}

function isDefault({ id, workspaceId }: CollectionRow): boolean {
  return id === workspaceId;
}

/** Default collections of the workspaces a tenant may see. */
async function defaultCollections({ stores }: AdminCall<unknown>, tenant: Tenant): Promise<CollectionRow[]> {
  const { organisationId, workspaceId } = tenant;
  const where = { status: "active" as const, ...(workspaceId !== null && { id: workspaceId }) };
  const rows = await stores.workspaces.all({ organisationId, workspaceId: null }, { where });
  return rows.map(defaultCollection);
}

/**
 * The collection with this id or slug.
 *
 * @returns Undefined for an unknown or foreign one.
 */
export async function findCollection(
  call: AdminCall<unknown>,
  tenant: Tenant,
  name: string,
): Promise<CollectionRow | undefined> {
  const stored = await call.stores.collections.get(tenant, name);
  return stored ?? (await defaultCollections(call, tenant)).find(({ id, slug }) => id === name || slug === name);
}

/**
 * The id of a collection a body refers to; the default one where it names none.
 *
 * @throws {NotFoundError} AB02, naming the field.
 */
export async function requireCollection(
  call: AdminCall<unknown>,
  tenant: Tenant & { workspaceId: string },
  name: string | null | undefined,
): Promise<string> {
  if (name === null || name === undefined) return tenant.workspaceId;
  return requireReferenced(await findCollection(call, tenant, name), "collection_id").id;
}

function latest(rows: readonly { lastUpdatedAt: number; createdAt: number }[]): string | null {
  const times = rows.map(({ lastUpdatedAt, createdAt }) => lastUpdatedAt || createdAt);
  return times.length === 0 ? null : toIso(times.reduce((one, other) => Math.max(one, other)));
}

/** What some collections hold. */
interface Contents {
  children: readonly CollectionRow[];
  prompts: readonly PromptRow[];
}

async function readContents(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  collections: readonly CollectionRow[],
): Promise<Contents> {
  const ids = collections.map(({ id }) => id);
  const [children, prompts] = await Promise.all([
    stores.collections.all(tenant, { where: { parentCollectionId: ids } }),
    stores.prompts.all(tenant, { where: { collectionId: ids } }),
  ]);
  return { children, prompts };
}

const toCollection = shownBy(Collection, (row: CollectionRow) => ({ is_default: isDefault(row) ? 1 : 0 }) as const);

function toListed(row: CollectionRow, { children, prompts }: Contents): ListedCollection {
  const own = children.filter(({ parentCollectionId }) => parentCollectionId === row.id);
  const inside = prompts.filter(({ collectionId }) => collectionId === row.id);
  return {
    ...toCollection(row),
    collection_details: {
      child_collections_count: own.length,
      prompts_count: inside.length,
      child_collections_last_updated_at: latest(own),
      prompts_last_updated_at: latest(inside),
    },
  };
}

/** @throws {ConflictError} If the collection still holds something. */
async function requireEmpty({ stores }: AdminCall<unknown>, { row, tenant }: Found<"collections">): Promise<void> {
  // deleting the default collection gets the same response as deleting an unknown one
  if (isDefault(row)) requireFound(undefined, "collection");
  const counted = {
    prompts: await stores.prompts.count(tenant, { where: { collectionId: row.id } }),
    partials: await stores.partials.count(tenant, { where: { collectionId: row.id } }),
    collections: await stores.collections.count(tenant, { where: { parentCollectionId: row.id } }),
  };
  const left = Object.entries(counted).filter(([, count]) => count > 0);
  if (left.length === 0) return;
  const names = left.map(([name, count]) => `${name} (${count})`).join(", ");
  throw new ConflictError(`Cannot delete this collection: it still contains ${names}`, { code: "AB07" });
}

const collections = defineRecord({
  tag: "Collections",
  path: "/v1/collections",
  words: { one: "a collection", many: "collections" },
  store: "collections",
  audit: "collections",
  access: "prompts",
  find: async (call) =>
    requireFound(await findCollection(call, await readTenant(call), call.params.id ?? ""), "collection"),
});

/** Endpoints of collections. */
export const collectionEndpoints: readonly AdminEndpoint[] = [
  collections.list({
    response: CollectionList,
    ofWorkspaces: "The workspace; optional for keys of a workspace",
    tenant: requireWorkspace,
    search: ["name", "slug"],
    async rows(call, tenant, { page, ...options }) {
      const text = readSearch(call.query)?.toLowerCase() ?? "";
      const fixed = (await defaultCollections(call, tenant)).filter(({ name }) => name.toLowerCase().includes(text));
      return listWithFixed(page, fixed, (own) => call.stores.collections.list(tenant, { ...options, page: own }));
    },
    async show(rows, call, tenant) {
      const contents = await readContents(call, tenant, rows);
      return rows.map((row) => toListed(row, contents));
    },
  }),
  collections.create({
    body: CreateCollection,
    response: CreatedCollection,
    slug: { prefix: "co", letters: 10 },
    async decide(call, { tenant, id, slug }) {
      const { name, parent_collection_id: parent } = call.body;
      const found = parent && requireReferenced(await findCollection(call, tenant, parent), "parent_collection_id");
      return { answer: { id, slug }, columns: { name, parentCollectionId: found ? found.id : null } };
    },
  }),
  collections.show({
    summary: "Show a collection and its contents",
    response: ShownCollection,
    async show({ row, tenant }, call) {
      const contents = await readContents(call, tenant, [row]);
      return { ...toListed(row, contents), child_collections: contents.children.map(toCollection) };
    },
  }),
  collections.change({
    summary: "Rename a collection",
    body: UpdateCollection,
    response: NoContent,
    async decide({ body }, { row }) {
      if (isDefault(row)) forbid("The default collection of a workspace cannot be renamed");
      return { answer: {}, columns: { name: body.name } };
    },
  }),
  collections.remove({
    summary: "Delete an empty collection",
    async before(call, found) {
      await requireEmpty(call, found);
      return [];
    },
  }),
];
