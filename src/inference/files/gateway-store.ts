import type { CallerContext } from "../../context.ts";
import type { WorkspaceTenant } from "../../db/stores/record-pages.ts";
import { InvalidRequestError, PermissionError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";

/** Provider name by which requests ask for the gateway's own files and batches. */
export const ownSlug = "gateway";

/** The handler of a route. */
export type KeyHandler = (context: CallerContext) => Reply | Promise<Reply>;

/** Whether a config does nothing but name the gateway, which is not a provider for calls. */
export function namesOwnSlug(text: string): boolean {
  const config = parseJson(text);
  return isObject(config) && config.provider === ownSlug;
}

/**
 * Whether a request is for records of the gateway: it names no provider, or the gateway. Default configs of key and
 * workspace are for model calls and do not count.
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

/** The caller's workspace: callers see its records only. */
export function tenantOf({ principal }: CallerContext): WorkspaceTenant {
  const { organisationId, workspaceId } = principal;
  if (workspaceId === null) {
    throw new PermissionError("Forbidden! This route needs a workspace key", { code: "AB03" });
  }
  return { organisationId, workspaceId };
}

/**
 * An integer query parameter.
 *
 * @throws {InvalidRequestError} 400 if it is not an integer or out of bounds.
 */
export function readLimit({ url }: CallerContext, { most, usual }: { most: number; usual: number }): number {
  const text = url.searchParams.get("limit");
  if (text === null) return usual;
  const limit = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw new InvalidRequestError(`Cannot use limit: it must be a whole number from 1 to ${most}`, {
    param: "limit",
    code: "invalid_query",
  });
}

/** A page of records as a list response; one more row than the page holds means that there is another page. */
export function toPage<Row, Shown extends { id: string }>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
): { object: "list"; data: Shown[]; first_id: string | null; last_id: string | null; has_more: boolean } {
  const data = rows.slice(0, limit).map(show);
  const ids = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: "list", data, ...ids, has_more: rows.length > limit };
}

/** Unix seconds, as the API writes times; null stays null. */
export function toSeconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.floor(milliseconds / 1000);
}
