import * as v from "valibot";
import { Name, Reference, Text, Time } from "./control.ts";

/** A boolean; some identity providers send it as a string. */
export const ScimFlag = v.union(
  [
    v.boolean(),
    v.pipe(
      v.string(),
      v.toLowerCase(),
      v.picklist(["true", "false"]),
      v.transform((text) => text === "true"),
    ),
  ],
  "must be true or false",
);

/** Schema URIs of a resource; ignored. */
const Schemas = v.nullish(v.array(Text(255)));

/** An e-mail entry of a user. Only one entry is stored, and only that one must be a valid address. */
const ScimEmail = v.object({
  value: v.nullish(Text(320, 0)),
  type: v.nullish(Text(64, 0)),
  primary: v.nullish(ScimFlag),
});
export type ScimEmail = v.InferOutput<typeof ScimEmail>;

/** The e-mail addresses of a user. */
export const ScimEmails = v.pipe(v.array(ScimEmail), v.maxLength(20, "must have at most 20 entries"));

/** Body of `POST` and `PUT /Users` (RFC 7643, section 4.1). */
export const ScimUser = v.object({
  schemas: Schemas,
  userName: Name,
  externalId: v.nullish(Name),
  name: v.nullish(v.object({ givenName: v.nullish(Text(255, 0)), familyName: v.nullish(Text(255, 0)) })),
  emails: v.nullish(ScimEmails),
  active: v.optional(ScimFlag),
});
export type ScimUser = v.InferOutput<typeof ScimUser>;

/** Most group members in one request. */
export const maxScimMembers = 1_000;

const UserId = v.pipe(v.string(), v.uuid("must be the id of a user"), v.toLowerCase());

/** Members of a group in a request: ids of users. */
export const ScimMembers = v.pipe(
  v.array(v.union([UserId, v.object({ value: UserId })], "must be an object with the id of a user as its value")),
  v.maxLength(maxScimMembers, `must have at most ${maxScimMembers} entries`),
  v.transform((members) => members.map((member) => (typeof member === "string" ? member : member.value))),
);

/** Body of `POST` and `PUT /Groups` (RFC 7643, section 4.2). */
export const ScimGroup = v.object({
  schemas: Schemas,
  displayName: Name,
  externalId: v.nullish(Name),
  members: v.nullish(ScimMembers),
});
export type ScimGroup = v.InferOutput<typeof ScimGroup>;

/** One change of a resource. */
const ScimOperation = v.object({
  op: v.pipe(v.string(), v.toLowerCase(), v.picklist(["add", "replace", "remove"], "must be add, replace or remove")),
  path: v.nullish(Text(1024)),
  value: v.optional(v.unknown()),
});
export type ScimOperation = v.InferOutput<typeof ScimOperation>;

/** Body of `PATCH` (RFC 7644, section 3.5.2). */
export const ScimPatch = v.object({
  schemas: Schemas,
  Operations: v.pipe(
    v.array(ScimOperation),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(64, "must have at most 64 entries"),
  ),
});
export type ScimPatch = v.InferOutput<typeof ScimPatch>;

/** Body of `POST /admin/scim/tokens`. */
export const CreateScimToken = v.object({
  name: v.optional(Name, "SCIM"),
  organisation_id: v.nullish(v.string()),
  expires_at: v.nullish(Time),
});
export type CreateScimToken = v.InferOutput<typeof CreateScimToken>;

/** Body of `POST /scim/workspaces`. */
export const CreateScimMapping = v.object({
  workspace_id: Reference,
  role: v.picklist(["admin", "member", "manager"], "must be admin, member or manager"),
  scim_group_id: v.nullish(v.pipe(v.string(), v.uuid("must be the id of a group"), v.toLowerCase())),
  scim_group_name: v.nullish(Name),
  organisation_id: v.nullish(v.string()),
});
export type CreateScimMapping = v.InferOutput<typeof CreateScimMapping>;
