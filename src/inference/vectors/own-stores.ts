import type { CallerContext } from "../../context.ts";
import type { PageOptions } from "../../db/stores/record-pages.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { dayMs } from "../../lib/periods.ts";
import { isOwnStoreId } from "../facts/store-ids.ts";
import { namesOwnSlug, ownSlug, readLimit, tenantOf, toPage } from "../files/gateway-store.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";

/**
 * Whether a request is for vector stores of the gateway: it names one of them, no provider, or the gateway; or its config
 * has `server_tools.file_search`.
 *
 * @throws {InvalidRequestError} 400 if its config cannot be used.
 */
export async function isForOwnStores(context: CallerContext): Promise<boolean> {
  const { vector_store_id: id } = context.params;
  if (isOwnStoreId(id)) return true;
  const slug = context.header("provider");
  if (slug === ownSlug) return true;
  if (slug !== null || context.header("virtual-key") !== null) return false;
  const text = context.header("config");
  if (text !== null && namesOwnSlug(text)) return true;
  const { node } = await readRequestConfig(context);
  if (node.serverTools?.fileSearch) return true;
  return listLeaves(node).every((leaf) => leaf.provider === undefined && storedNameOf(leaf) === undefined);
}

/** When a store expires, in Unix milliseconds; null: never. */
export function expiryOf({ expiresDays, lastActiveAt }: VectorStoreRow): number | null {
  return expiresDays === null ? null : lastActiveAt + expiresDays * dayMs;
}

/** Whether a store has expired. */
export function hasExpired(row: VectorStoreRow, now: number): boolean {
  return (expiryOf(row) ?? Number.POSITIVE_INFINITY) <= now;
}

/**
 * The store with this id.
 *
 * @throws {NotFoundError} 404 for unknown ones and those of other workspaces alike.
 */
export async function requireStore(
  context: CallerContext,
  id = context.params.vector_store_id ?? "",
): Promise<VectorStoreRow> {
  const { vectorStores } = context.services.control.stores;
  const row = isOwnStoreId(id) ? await vectorStores.find(tenantOf(context), { id, status: "open" }) : undefined;
  if (row) return row;
  const hint = isOwnStoreId(id) ? "" : ": name the provider in x-gateway-provider to find its own";
  throw new NotFoundError(`Cannot find this vector store${hint}`, {
    code: "vector_store_not_found",
    param: "vector_store_id",
  });
}

/**
 * The store with this id, which can be filled and searched.
 *
 * @throws {GatewayError} 404 as `requireStore`; 400 if it has expired.
 */
export async function requireLiveStore(context: CallerContext, id?: string): Promise<VectorStoreRow> {
  const row = await requireStore(context, id);
  if (!hasExpired(row, context.services.clock.now())) return row;
  throw new InvalidRequestError("Cannot use this vector store: it has expired, and its content was removed", {
    code: "vector_store_expired",
    param: "vector_store_id",
  });
}

/** A record of a page. */
type Row = { id: string; createdAt: number };

/**
 * A page of a list that clients read forwards, from `after`, or backwards, from `before`.
 *
 * @param find The record that a cursor names.
 */
export async function readPage<Found extends Row, Shown extends { id: string }>(
  context: CallerContext,
  find: (id: string) => Promise<Row>,
  read: (page: PageOptions) => Promise<Found[]>,
): Promise<(show: (row: Found) => Shown) => ReturnType<typeof toPage<Found, Shown>>> {
  const { searchParams } = context.url;
  const limit = readLimit(context, { most: 100, usual: 20 });
  const order = searchParams.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") {
    throw new InvalidRequestError("Cannot use order: it must be asc or desc", {
      param: "order",
      code: "invalid_query",
    });
  }
  const [after, before] = [searchParams.get("after"), searchParams.get("before")];
  const isBackwards = after === null && before !== null;
  const cursor = after ?? before;
  const rows = await read({
    limit: limit + 1,
    order: isBackwards ? (order === "asc" ? "desc" : "asc") : order,
    after: cursor === null ? undefined : await find(cursor),
  });
  if (!isBackwards) return (show) => toPage(rows, limit, show);
  const shown = rows.slice(0, limit).reverse();
  return (show) => ({ ...toPage(shown, limit, show), has_more: rows.length > limit });
}
