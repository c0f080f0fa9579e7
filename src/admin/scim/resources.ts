import type { ScimGroupRow } from "../../db/tables/scim.ts";
import type { UserRow } from "../../db/tables/tenants.ts";
import { baseOf } from "../../endpoint/public-origin.ts";
import { InvalidRequestError } from "../../errors.ts";
import { type ScimGroupResource, type ScimUserResource, schemaIds } from "../../schemas/scim.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { readText, toIso } from "../core/request.ts";

/** Most resources of a page. */
export const maxCount = 100;

/** The base address of the protocol, as the caller wrote it. */
export function scimBaseOf({ context }: AdminCall<unknown>): string {
  return `${baseOf(context)}${context.url.pathname.startsWith("/v1/") ? "/v1" : ""}/scim/v2`;
}

function metaOf<Kind extends "User" | "Group">(call: AdminCall<unknown>, kind: Kind, row: UserRow | ScimGroupRow) {
  return {
    resourceType: kind,
    created: toIso(row.createdAt),
    lastModified: toIso(row.lastUpdatedAt || row.createdAt),
    location: `${scimBaseOf(call)}/${kind}s/${row.id}`,
  };
}

/** A group in a user's representation. */
export type GroupOfUser = Pick<ScimGroupRow, "id" | "displayName">;

/** A user's representation (RFC 7643, section 4.1). */
export function toUserResource(
  call: AdminCall<unknown>,
  row: UserRow,
  groups: readonly GroupOfUser[],
): ScimUserResource {
  const { id, firstName, lastName, email, externalId } = row;
  const fullName = [firstName, lastName].filter((part) => part !== null).join(" ");
  return {
    schemas: [schemaIds.User],
    id,
    ...(externalId !== null && { externalId }),
    userName: row.userName ?? email,
    ...(fullName !== "" && {
      name: {
        formatted: fullName,
        ...(firstName !== null && { givenName: firstName }),
        ...(lastName !== null && { familyName: lastName }),
      },
      displayName: fullName,
    }),
    emails: [{ value: email, type: "work", primary: true }],
    active: row.status === "active",
    groups: groups.map((group) => ({
      value: group.id,
      display: group.displayName,
      type: "direct" as const,
      $ref: `${scimBaseOf(call)}/Groups/${group.id}`,
    })),
    meta: metaOf(call, "User", row),
  };
}

/**
 * A group's representation (RFC 7643, section 4.2).
 *
 * @param members Ids of users; undefined leaves the attribute out.
 */
export function toGroupResource(
  call: AdminCall<unknown>,
  row: ScimGroupRow,
  members: ReadonlySet<string> | undefined,
): ScimGroupResource {
  const { id, displayName, externalId } = row;
  return {
    schemas: [schemaIds.Group],
    id,
    ...(externalId !== null && { externalId }),
    displayName,
    ...(members && {
      members: [...members].map((value) => ({
        value,
        type: "User" as const,
        $ref: `${scimBaseOf(call)}/Users/${value}`,
      })),
    }),
    meta: metaOf(call, "Group", row),
  };
}

function readNames(query: URLSearchParams, name: string): Set<string> | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const names = text.split(",").map(
    (part) =>
      part
        .trim()
        .replace(/^urn:.*:/i, "")
        .split(".")[0] ?? "",
  );
  return new Set(names.map((part) => part.toLowerCase()));
}

/** The attributes of a response (RFC 7644, section 3.9): `attributes` or `excludedAttributes`. */
export function readSelection({ query }: AdminCall<unknown>): (attribute: string) => boolean {
  const only = readNames(query, "attributes");
  const without = readNames(query, "excludedAttributes");
  const always = new Set(["id", "schemas", "meta"]);
  return (attribute) => {
    const name = attribute.toLowerCase();
    return always.has(name) || ((only?.has(name) ?? true) && !without?.has(name));
  };
}

/** A resource with the requested attributes. */
export function select<Resource extends ScimUserResource | ScimGroupResource>(
  call: AdminCall<unknown>,
  resource: Resource,
): Resource {
  const isWanted = readSelection(call);
  const wanted = Object.entries(resource).filter(([name]) => isWanted(name));
  // the fields that can be left out are optional in resources
  return Object.fromEntries(wanted) as Resource;
}

function readNumber(query: URLSearchParams, name: string): number | undefined {
  const text = readText(query, name);
  if (text === undefined || /^-?[0-9]{1,9}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new InvalidRequestError(`Cannot use ${name}: it must be a whole number`, { code: "invalidValue", param: name });
}

/** `startIndex` and `count` (RFC 7644, section 3.4.2.4). */
export function readWindow({ query }: AdminCall<unknown>): { startIndex: number; count: number } {
  const startIndex = Math.max(1, readNumber(query, "startIndex") ?? 1);
  return { startIndex, count: Math.min(maxCount, Math.max(0, readNumber(query, "count") ?? maxCount)) };
}

/** A list of resources (RFC 7644, section 3.4.2). */
export function toListResponse<Resource>(resources: readonly Resource[], total: number, startIndex = 1) {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse" as const],
    totalResults: total,
    itemsPerPage: resources.length,
    startIndex,
    Resources: resources,
  };
}
