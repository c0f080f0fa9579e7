import type { CollectionRow, PromptRow } from "../../db/tables/prompts.ts";
import type { WorkspaceRow } from "../../db/tables/tenants.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  type Collection,
  CollectionList,
  CreateCollection,
  CreatedCollection,
  type ListedCollection,
  ShownCollection,
  UpdateCollection,
} from "../../schemas/prompts.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { listWithFixed } from "../core/fixed-entries.ts";
import {
  createSlug,
  forbid,
  readPage,
  readSearch,
  readTenant,
  readText,
  requireFound,
  requireReferenced,
  requireWorkspace,
  toIso,
} from "../core/request.ts";

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

function toCollection(row: CollectionRow): Collection {
  return {
    id: row.id,
    name: row.name,
    workspace_id: row.workspaceId,
    slug: row.slug,
    parent_collection_id: row.parentCollectionId,
    is_default: isDefault(row) ? 1 : 0,
    status: "active",
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
  };
}

async function listCollections(call: AdminCall<undefined>): Promise<AnswerOf<typeof CollectionList>> {
  const { stores, query } = call;
  const tenant = await requireWorkspace(call);
  const text = readSearch(query);
  const own = await defaultCollections(call, tenant);
  const fixed = own.filter(({ name }) => name.toLowerCase().includes(text?.toLowerCase() ?? ""));
  const search = text === undefined ? undefined : { columns: ["name", "slug"] as const, text };
  const { rows, total } = await listWithFixed(readPage(query), fixed, (page) =>
    stores.collections.list(tenant, { search, page }),
  );
  const contents = await readContents(call, tenant, rows);
  return { data: rows.map((row) => toListed(row, contents)), total };
}

/** The collection a path names, and the tenant it belongs to. */
async function requirePathCollection(call: AdminCall<unknown>) {
  const found = await findCollection(call, await readTenant(call), call.params.id ?? "");
  const row = requireFound(found, "collection");
  return { row, tenant: { organisationId: row.organisationId, workspaceId: row.workspaceId } };
}

async function readCollection(call: AdminCall<undefined>): Promise<AnswerOf<typeof ShownCollection>> {
  const { row, tenant } = await requirePathCollection(call);
  const contents = await readContents(call, tenant, [row]);
  return { ...toListed(row, contents), child_collections: contents.children.map(toCollection) };
}

async function createCollection(
  call: AdminCall<CreateCollection>,
): Promise<Outcome<AnswerOf<typeof CreatedCollection>>> {
  const { body, stores, now } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  const { name, parent_collection_id: parent } = body;
  const parentCollectionId = parent
    ? requireReferenced(await findCollection(call, tenant, parent), "parent_collection_id").id
    : null;
  const id = crypto.randomUUID();
  const slug = createSlug(name, { prefix: "co", letters: 10 });
  const row = { id, ...tenant, slug, name, parentCollectionId, createdAt: now };
  return { answer: { id, slug }, recordId: id, statements: [stores.collections.insert(tenant, row)] };
}

async function updateCollection(call: AdminCall<UpdateCollection>) {
  const { body, stores, now } = call;
  const { row, tenant } = await requirePathCollection(call);
  if (isDefault(row)) forbid("The default collection of a workspace cannot be renamed");
  const changes = { name: body.name, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.collections.update(tenant, { id: row.id }, changes)] };
}

async function deleteCollection(call: AdminCall<undefined>) {
  const { stores } = call;
  const { row, tenant } = await requirePathCollection(call);
  // deleting the default collection gets the same response as deleting an unknown one
  if (isDefault(row)) requireFound(undefined, "collection");
  const counted = {
    prompts: await stores.prompts.count(tenant, { where: { collectionId: row.id } }),
    partials: await stores.partials.count(tenant, { where: { collectionId: row.id } }),
    collections: await stores.collections.count(tenant, { where: { parentCollectionId: row.id } }),
  };
  const left = Object.entries(counted).filter(([, count]) => count > 0);
  if (left.length > 0) {
    const names = left.map(([name, count]) => `${name} (${count})`).join(", ");
    throw new ConflictError(`Cannot delete this collection: it still contains ${names}`, { code: "AB07" });
  }
  return { answer: {}, recordId: row.id, statements: [stores.collections.remove(tenant, { id: row.id })] };
}

const row = { tag: "Collections" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`prompts.${verb}`] });
const audit = (action: string) => ({ resource: "collections", action, store: "collections" as const });
const all = "/v1/collections";
const one = `${all}/:id`;

/** Endpoints of collections. */
export const collectionEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List collections",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "The workspace; optional for keys of a workspace" },
      { name: "search", description: "Part of the name or slug, at least 2 characters" },
      { name: "current_page", description: "Page, counted from 0" },
      { name: "page_size", description: "Rows per page; default 50, at most 1000" },
    ],
    response: CollectionList,
    handle: listCollections,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Create a collection",
    access: access("create"),
    audit: audit("create"),
    body: CreateCollection,
    response: CreatedCollection,
    handle: createCollection,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a collection and its contents",
    access: access("read"),
    response: ShownCollection,
    handle: readCollection,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Rename a collection",
    access: access("update"),
    audit: audit("update"),
    body: UpdateCollection,
    response: NoContent,
    handle: updateCollection,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete an empty collection",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteCollection,
  }),
];
