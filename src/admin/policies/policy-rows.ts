import type * as v from "valibot";
import type { JsonValue } from "../../db/tables/columns.ts";
import type { AdminEndpoint, QueryParameter } from "../../endpoint.ts";
import { type PolicyCondition, policyStatuses } from "../../schemas/policies.ts";
import { type AdminCall, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { toJson } from "../core/json-column.ts";
import { readChoice } from "../core/request.ts";

/** The status filter of a list. Default `active`. */
export function readStatus(query: URLSearchParams) {
  return readChoice(query, "status", policyStatuses) ?? "active";
}

/** Conditions as they are stored: an absent exclusion is left out. */
export function toStoredConditions(conditions: readonly PolicyCondition[]): JsonValue {
  return toJson(conditions.map((condition) => ({ ...condition, excludes: condition.excludes ?? undefined })));
}

/** A kind of policy: its endpoints and their handlers. */
interface PolicyKind<Create extends v.GenericSchema, Update extends v.GenericSchema> {
  /** Path of its endpoints. */
  path: string;
  /** The kind in the audit log. */
  resource: string;
  /** For summaries. */
  words: { one: string; many: string };
  /** Filters of the list, beside the workspace and the status. */
  filters: readonly QueryParameter[];
  createBody: Create;
  updateBody: Update;
  list(call: AdminCall<undefined>): Promise<unknown>;
  create(call: AdminCall<v.InferOutput<Create>>): Promise<Outcome>;
  read(call: AdminCall<undefined>): Promise<unknown>;
  update(call: AdminCall<v.InferOutput<Update>>): Promise<Outcome>;
  archive(call: AdminCall<undefined>): Promise<Outcome>;
}

const access = (verb: string) => ({ keys: "any" as const, scopes: [`policies.${verb}`] });
const statusQuery = { name: "status", description: "active (default) or archived" };
const workspaceQuery = { name: "workspace_id", description: "One workspace, for keys of the organisation" };

/** The endpoints of a kind of policy. */
export function definePolicies<Create extends v.GenericSchema, Update extends v.GenericSchema>(
  kind: PolicyKind<Create, Update>,
): AdminEndpoint[] {
  const row = { tag: "Policies" };
  const all = { ...row, path: kind.path };
  const one = { ...row, path: `${kind.path}/:id` };
  const audit = (action: string) => ({ resource: kind.resource, action });
  return [
    defineRead({
      ...all,
      method: "GET",
      summary: `List ${kind.words.many}`,
      access: access("list"),
      query: [
        workspaceQuery,
        statusQuery,
        ...kind.filters,
        { name: "current_page", description: "Page, counted from 0" },
        { name: "page_size", description: "Rows per page; default 50, at most 1000" },
      ],
      handle: kind.list,
    }),
    defineWrite({
      ...all,
      method: "POST",
      summary: `Make ${kind.words.one}`,
      access: access("create"),
      audit: audit("create"),
      body: kind.createBody,
      handle: kind.create,
    }),
    defineRead({
      ...one,
      method: "GET",
      summary: `Show ${kind.words.one}`,
      access: access("read"),
      query: [workspaceQuery, statusQuery],
      handle: kind.read,
    }),
    defineWrite({
      ...one,
      method: "PUT",
      summary: `Change ${kind.words.one}`,
      access: access("update"),
      audit: audit("update"),
      body: kind.updateBody,
      handle: kind.update,
    }),
    defineWrite({
      ...one,
      method: "DELETE",
      summary: `Archive ${kind.words.one}`,
      access: access("delete"),
      audit: audit("delete"),
      handle: kind.archive,
    }),
  ];
}
