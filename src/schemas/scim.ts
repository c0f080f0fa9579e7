import * as v from "valibot";
import { Name, Reference, Text, Time } from "./control.ts";
import { closedObject, IsoTime, listOf } from "./objects.ts";
import { WorkspaceRole } from "./users.ts";

/** Identifiers of the core schemas (RFC 7643, section 8.7). */
export const schemaIds = {
  User: "urn:ietf:params:scim:schemas:core:2.0:User",
  Group: "urn:ietf:params:scim:schemas:core:2.0:Group",
} as const;

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
export const CreateScimToken = closedObject({
  name: v.optional(Name, "SCIM"),
  organisation_id: v.nullish(v.string()),
  expires_at: v.nullish(Time),
});
export type CreateScimToken = v.InferOutput<typeof CreateScimToken>;

/** Body of `POST /scim/workspaces`. */
export const CreateScimMapping = closedObject({
  workspace_id: Reference,
  role: v.picklist(["admin", "member", "manager"], "must be admin, member or manager"),
  scim_group_id: v.nullish(v.pipe(v.string(), v.uuid("must be the id of a group"), v.toLowerCase())),
  scim_group_name: v.nullish(Name),
  organisation_id: v.nullish(v.string()),
});
export type CreateScimMapping = v.InferOutput<typeof CreateScimMapping>;

/** The schema of a resource or a message. */
const schemasOf = <const Id extends string>(id: Id) => v.array(v.literal(id));

/** The metadata of a user or a group (RFC 7643, section 3.1). */
const resourceMeta = <const Kind extends string>(kind: Kind) =>
  v.object({ resourceType: v.literal(kind), created: IsoTime, lastModified: IsoTime, location: v.string() });

/** A user (RFC 7643, section 4.1). `attributes` and `excludedAttributes` leave members out. */
export const ScimUserResource = v.object({
  schemas: schemasOf(schemaIds.User),
  id: v.string(),
  externalId: v.optional(v.string()),
  userName: v.optional(v.string()),
  name: v.optional(
    v.object({ formatted: v.string(), givenName: v.optional(v.string()), familyName: v.optional(v.string()) }),
  ),
  displayName: v.optional(v.string()),
  emails: v.optional(v.array(v.object({ value: v.string(), type: v.literal("work"), primary: v.literal(true) }))),
  active: v.optional(v.boolean()),
  groups: v.optional(
    v.array(v.object({ value: v.string(), display: v.string(), type: v.literal("direct"), $ref: v.string() })),
  ),
  meta: resourceMeta("User"),
});
export type ScimUserResource = v.InferOutput<typeof ScimUserResource>;

/** A group (RFC 7643, section 4.2). `attributes` and `excludedAttributes` leave members out. */
export const ScimGroupResource = v.object({
  schemas: schemasOf(schemaIds.Group),
  id: v.string(),
  externalId: v.optional(v.string()),
  displayName: v.optional(v.string()),
  members: v.optional(v.array(v.object({ value: v.string(), type: v.literal("User"), $ref: v.string() }))),
  meta: resourceMeta("Group"),
});
export type ScimGroupResource = v.InferOutput<typeof ScimGroupResource>;

/** A page of resources (RFC 7644, section 3.4.2). */
const scimListOf = <Resource extends v.GenericSchema>(resource: Resource) =>
  v.object({
    schemas: schemasOf("urn:ietf:params:scim:api:messages:2.0:ListResponse"),
    totalResults: v.number(),
    itemsPerPage: v.number(),
    /** Counted from 1. */
    startIndex: v.number(),
    Resources: v.array(resource),
  });

/** Response of `GET /Users`. */
export const ScimUserList = scimListOf(ScimUserResource);

/** Response of `GET /Groups`. */
export const ScimGroupList = scimListOf(ScimGroupResource);

/** A part of an attribute (RFC 7643, section 7). */
const ScimSubAttribute = v.object({
  name: v.string(),
  type: v.picklist(["string", "boolean", "complex", "reference"]),
  description: v.string(),
  multiValued: v.boolean(),
  required: v.boolean(),
  caseExact: v.boolean(),
  mutability: v.picklist(["readWrite", "immutable"]),
  returned: v.literal("default"),
  uniqueness: v.picklist(["none", "server"]),
  referenceTypes: v.optional(v.array(v.string())),
});
export type ScimSubAttribute = v.InferOutput<typeof ScimSubAttribute>;

/** An attribute of a resource. */
const ScimAttribute = v.object({
  ...ScimSubAttribute.entries,
  subAttributes: v.optional(v.array(ScimSubAttribute)),
});
export type ScimAttribute = v.InferOutput<typeof ScimAttribute>;

/** The metadata of a description of the service. */
const descriptionMeta = <const Kind extends string>(kind: Kind) =>
  v.object({ resourceType: v.literal(kind), location: v.string() });

/** Response of `GET /Schemas`. */
export const ScimSchemaList = scimListOf(
  v.object({
    schemas: schemasOf("urn:ietf:params:scim:schemas:core:2.0:Schema"),
    id: v.string(),
    name: v.string(),
    description: v.string(),
    attributes: v.array(ScimAttribute),
    meta: descriptionMeta("Schema"),
  }),
);

/** Response of `GET /ResourceTypes`. */
export const ScimResourceTypeList = scimListOf(
  v.object({
    schemas: schemasOf("urn:ietf:params:scim:schemas:core:2.0:ResourceType"),
    id: v.string(),
    name: v.string(),
    /** Path below the address of the service. */
    endpoint: v.string(),
    description: v.string(),
    schema: v.string(),
    schemaExtensions: v.array(v.object({ schema: v.string(), required: v.boolean() })),
    meta: descriptionMeta("ResourceType"),
  }),
);

const Supported = v.object({ supported: v.boolean() });

/** Response of `GET /ServiceProviderConfig` (RFC 7643, section 5). */
export const ScimConfiguration = v.object({
  schemas: schemasOf("urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"),
  patch: Supported,
  bulk: v.object({ ...Supported.entries, maxOperations: v.number(), maxPayloadSize: v.number() }),
  filter: v.object({ ...Supported.entries, maxResults: v.number() }),
  changePassword: Supported,
  sort: Supported,
  etag: Supported,
  authenticationSchemes: v.array(
    v.object({ type: v.literal("oauthbearertoken"), name: v.string(), description: v.string(), primary: v.boolean() }),
  ),
  meta: descriptionMeta("ServiceProviderConfig"),
});

/** A token of an identity provider. */
export const ScimTokenRecord = v.object({
  id: v.string(),
  /** In clear in the response that creates it, masked in others. */
  token: v.string(),
  name: v.string(),
  organisation_id: v.string(),
  /** Null: never. */
  expires_at: v.nullable(IsoTime),
  created_at: IsoTime,
  object: v.literal("scim-token"),
});
export type ScimTokenRecord = v.InferOutput<typeof ScimTokenRecord>;

/** Response of `GET /admin/scim/tokens`. */
export const ScimTokenList = listOf(ScimTokenRecord);

/** A group's role in a workspace. */
export const ScimMappingRecord = v.object({
  id: v.string(),
  workspace_id: v.string(),
  /** Name of the group. */
  scim_group: v.string(),
  scim_group_id: v.string(),
  role: WorkspaceRole,
});
export type ScimMappingRecord = v.InferOutput<typeof ScimMappingRecord>;

/** Response of `GET /scim/workspaces`. */
export const ScimMappingList = v.object({
  mappings: v.array(ScimMappingRecord),
  total_count: v.number(),
  /** Counted from 0. */
  page: v.number(),
  page_size: v.number(),
});

/** Response of `DELETE /scim/workspaces/{id}`. */
export const DeletedScimMapping = v.object({ success: v.literal(true) });

/** Response of `GET /scim/groups`. */
export const ScimGroupNames = v.object({
  groups: v.array(v.object({ id: v.string(), name: v.string() })),
  total_count: v.number(),
});
