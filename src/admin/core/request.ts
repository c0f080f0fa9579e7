import type { Tenant } from "../../db/tenant-store.ts";
import { ConflictError, InvalidRequestError, NotFoundError, PermissionError } from "../../errors.ts";
import { toHex } from "../../lib/base64.ts";
import { randomBytes } from "../../lib/hash.ts";
import { isObject } from "../../lib/json.ts";
import type { AdminCall } from "./endpoint.ts";

/** @throws {InvalidRequestError} AB01, naming what is wrong. */
export function refuseField(param: string, problem: string): never {
  throw new InvalidRequestError(`Invalid request: ${param}: ${problem}`, { code: "AB01", param });
}

/** @throws {NotFoundError} For unknown records and those the caller may not know of, alike. */
export function requireFound<Row>(row: Row | undefined, kind: string): Row {
  if (row === undefined) throw new NotFoundError(`Cannot find this ${kind}`, { code: "AB08" });
  return row;
}

/** @throws {NotFoundError} AB02: a record that the body refers to does not exist. */
export function requireReferenced<Row>(row: Row | undefined, param: string): Row {
  if (row !== undefined) return row;
  throw new NotFoundError(`Invalid request: ${param}: there is no such record`, { code: "AB02", param });
}

/** @throws {PermissionError} AB03. */
export function forbid(message: string, param?: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code: "AB03", ...(param !== undefined && { param }) });
}

/** A query parameter under either spelling, as sent. */
export function readParameter(query: URLSearchParams, name: string): string | null {
  return query.get(name) ?? query.get(camelName(name));
}

/** A query parameter under either spelling; an empty one is absent. */
export function readText(query: URLSearchParams, name: string): string | undefined {
  const text = readParameter(query, name);
  if (text === null || text === "") return undefined;
  if (text.length > 1024 || text.includes("\0"))
    refuseField(name, "must have at most 1024 characters, none of them U+0000");
  return text;
}

/** The spelling of a parameter that clients of other languages use. */
const camelName = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Refuses unknown parameters of a list and repeated filters: a filter that is misspelt or ignored would show more than was
 * requested.
 *
 * @param known Parameters of the list. Only those with `isList` may be repeated.
 * @throws {InvalidRequestError} AB01, naming the parameter.
 */
export function requireKnownQuery(
  query: URLSearchParams,
  known: readonly { name: string; isList?: boolean | undefined }[],
): void {
  const spellings = new Map<string, { name: string; isList: boolean }>();
  for (const { name, isList = false } of known) {
    const names = isList ? [name, `${name}[]`] : [name, camelName(name)];
    for (const spelling of names) spellings.set(spelling, { name, isList });
  }
  const given = new Set<string>();
  for (const spelling of query.keys()) {
    const found = spellings.get(spelling);
    if (!found) {
      const names = new Set(known.map(({ name }) => name));
      refuseField(spelling, `is not known here: use ${[...names].join(", ")}`);
    }
    if (given.has(found.name) && !found.isList) refuseField(spelling, "must be given once");
    given.add(found.name);
  }
}

/** A query parameter with one of several values. */
export function readChoice<const Choice extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = readText(query, name)?.toLowerCase();
  if (text === undefined) return undefined;
  const found = choices.find((choice) => choice.toLowerCase() === text);
  return found ?? refuseField(name, `must be one of ${choices.join(", ")}`);
}

/** A query parameter that is a whole number within bounds; undefined where it is not given. */
export function readWhole(
  query: URLSearchParams,
  name: string,
  bounds: { min: number; max: number },
): number | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= bounds.min && value <= bounds.max) return value;
  return refuseField(name, `must be a whole number from ${bounds.min} to ${bounds.max}`);
}

/** The requested page of a list. */
export interface Page {
  offset: number;
  limit: number;
}

/** Sizes of a list's pages. */
interface PageRules {
  /** Rows of a page without `page_size`. Default 50. */
  size?: number;
  /** Most rows of a page. Default 1,000. */
  max?: number;
  /** Name of the page parameter and number of the first page. Default `current_page`, counted from 0. */
  page?: { name: string; first: number };
}

/** `current_page` and `page_size`, in either spelling. */
export function readPage(query: URLSearchParams, rules: PageRules = {}): Page {
  const { size = 50, max = 1_000, page = { name: "current_page", first: 0 } } = rules;
  const limit = readWhole(query, "page_size", { min: 1, max }) ?? size;
  const number = readWhole(query, page.name, { min: page.first, max: 1_000_000 }) ?? page.first;
  return { limit, offset: (number - page.first) * limit };
}

/** `search`: at least 2 characters. */
export function readSearch(query: URLSearchParams): string | undefined {
  const text = readText(query, "search");
  if (text !== undefined && text.length < 2) refuseField("search", "must have at least 2 characters");
  return text;
}

/** Whether a string has the form of a record id. */
export function isRecordId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/**
 * The id in a path that takes ids only.
 *
 * @throws {NotFoundError} If it is not an id: no record has it.
 */
export function requireId(params: Readonly<Record<string, string>>, name: string, kind: string): string {
  const id = params[name] ?? "";
  return requireFound(isRecordId(id) ? id.toLowerCase() : undefined, kind);
}

/** The workspace of a caller that has one. */
type WorkspaceTenant = Tenant & { workspaceId: string };

/** Whether a string names the caller's own workspace. */
async function isOwnWorkspace(
  { tenant, context: { services } }: AdminCall<unknown>,
  workspaceId: string,
  named: string,
): Promise<boolean> {
  if (named === workspaceId) return true;
  const view = await services.control.directory.workspace({ ...tenant, workspaceId });
  return view?.workspace.slug === named;
}

/**
 * The tenant a call is about. Callers of one workspace stay in it; an admin key may name one of its organisation's.
 *
 * @param named Id or slug of a workspace, from query or body.
 * @throws {PermissionError} AB03 for a workspace that is not the caller's, whether it exists or not.
 */
export async function readTenant(
  call: AdminCall<unknown>,
  named: unknown = readText(call.query, "workspace_id"),
): Promise<Tenant> {
  const { tenant, stores } = call;
  if (named === undefined || named === null) return tenant;
  const text = typeof named === "string" ? named : refuseField("workspace_id", "must be an id or a slug");
  if (tenant.workspaceId !== null) {
    if (await isOwnWorkspace(call, tenant.workspaceId, text)) return tenant;
  } else {
    const row = await stores.workspaces.get(tenant, text);
    if (row?.status === "active") {
      call.context.namedWorkspaceId = row.id;
      return { ...tenant, workspaceId: row.id };
    }
  }
  return forbid("This key has no access to this workspace", "workspace_id");
}

/**
 * As `readTenant`, for calls that are about one workspace.
 *
 * @throws {InvalidRequestError} AB01 if an admin key names none.
 */
export async function requireWorkspace(
  call: AdminCall<unknown>,
  named: unknown = readText(call.query, "workspace_id"),
): Promise<WorkspaceTenant> {
  const { organisationId, workspaceId } = await readTenant(call, named);
  return workspaceId === null
    ? refuseField("workspace_id", "must be given with a key of the organisation")
    : { organisationId, workspaceId };
}

/** The workspace that a call names, in its body or its query. */
export function namedWorkspace({ body, query }: AdminCall<unknown>): unknown {
  return (isObject(body) ? body.workspace_id : undefined) ?? readText(query, "workspace_id");
}

/**
 * Refuses a name that is taken where the caller asks for that: names of some records may repeat. What finds the other record
 * runs where it is decided what to write, so that of two calls at once only one succeeds.
 *
 * @throws {ConflictError} AB07
 */
export async function requireNewName(
  { context }: AdminCall<unknown>,
  findOther: () => Promise<object | undefined>,
): Promise<void> {
  if (context.headers.get("if-none-match") !== "*" || (await findOther()) === undefined) return;
  throw new ConflictError("Cannot save this: a record with the same name exists", { code: "AB07", param: "name" });
}

/** A list response. */
export function toList<Item>(data: readonly Item[], total: number) {
  return { object: "list" as const, total, data };
}

/** A time as the API writes it; null stays null. */
export function toIso(time: number): string;
export function toIso(time: number | null | undefined): string | null;
export function toIso(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}

/** A slug for a name: prefix, characters of the name, six random hexadecimal digits. */
export function createSlug(name: string, options: { prefix?: string; letters?: number } = {}): string {
  const { prefix = "", letters = 6 } = options;
  const stem = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, letters)
    .replace(/^-+|-+$/g, "");
  const suffix = toHex(randomBytes(3));
  return [prefix, stem, suffix].filter((part) => part !== "").join("-");
}
