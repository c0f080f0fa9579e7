import type { CallerContext } from "../../context.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import { InvalidRequestError, PermissionError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";

/** Name by which requests ask for the gateway's own files and batches. */
const ownSlug = "gateway";

/** What answers a route. */
export type KeyHandler = (context: CallerContext) => Reply | Promise<Reply>;

/** Whether a config is nothing but the name of the gateway, which is no provider of calls. */
function namesOwnSlug(text: string): boolean {
  const config = parseJson(text);
  return isObject(config) && config.provider === ownSlug;
}

/**
 * Whether a request is for what the gateway keeps itself: it names no provider, or the gateway. Defaults of key and
 * workspace are for calls of models and have no say in it.
 *
 * @throws {InvalidRequestError} 400 if its config cannot be used.
 */
export async function isForOwnStore(context: CallerContext): Promise<boolean> {
  const slug = context.header("provider");
  if (slug === ownSlug) return true;
  if (slug !== null || context.header("virtual-key") !== null) return false;
  const text = context.header("config");
  if (text === null || namesOwnSlug(text)) return true;
  const config = await readRequestConfig(context);
  return listLeaves(config.node).every((leaf) => leaf.provider === undefined && storedNameOf(leaf) === undefined);
}

/** The workspace of a caller, whose records alone it sees. */
export function tenantOf({ principal }: CallerContext): WorkspaceTenant {
  const { organisationId, workspaceId } = principal;
  if (workspaceId === null) {
    throw new PermissionError("Forbidden! This route takes workspace keys", { code: "AB03" });
  }
  return { organisationId, workspaceId };
}

/**
 * A whole number of the query.
 *
 * @throws {InvalidRequestError} 400 if it is none or out of bounds.
 */
export function readLimit({ url }: CallerContext, { most, usual }: { most: number; usual: number }): number {
  const text = url.searchParams.get("limit");
  if (text === null) return usual;
  const limit = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw new InvalidRequestError(`Cannot use limit: write a whole number from 1 to ${most}`, {
    param: "limit",
    code: "invalid_query",
  });
}

/** A page of records as lists are answered; one row more than the page tells that there is another. */
export function toPage<Row, Shown extends { id: string }>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
): { object: "list"; data: Shown[]; first_id: string | null; last_id: string | null; has_more: boolean } {
  const data = rows.slice(0, limit).map(show);
  const ids = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ids, has_more: rows.length > limit };
}

/** Unix seconds, as the API shows times; null stays. */
export function toSeconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.floor(milliseconds / 1000);
}
