import type { ScimEndpoint } from "../../endpoint.ts";
import {
  type ScimAttribute,
  ScimConfiguration,
  ScimResourceTypeList,
  ScimSchemaList,
  type ScimSubAttribute,
  schemaIds,
} from "../../schemas/scim.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { userAttributes } from "./attributes.ts";
import { maxCount, scimBaseOf, toListResponse } from "./resources.ts";
import { defineScimRead } from "./serve.ts";

/** Defaults of an attribute's description (RFC 7643, section 2.2). */
const plainAttribute = {
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: "readWrite",
  returned: "default",
  uniqueness: "none",
} as const;

const ofType =
  (type: ScimSubAttribute["type"]) =>
  (name: string, description: string): ScimSubAttribute => {
    return { name, type, description, ...plainAttribute };
  };
const text = ofType("string");
const flag = ofType("boolean");

/** Subattributes of attributes that are objects or lists of them. */
const parts: Readonly<Record<string, readonly ScimSubAttribute[]>> = {
  emails: [text("value", "Address"), text("type", "Kind, such as work"), flag("primary", "Whether it is the main one")],
};

/** Attributes of a user, from their table; those with a dot become subattributes. */
function describeUser(): ScimAttribute[] {
  const described = new Map<string, ScimSubAttribute & { subAttributes: ScimSubAttribute[] }>();
  for (const [path, { described: own }] of Object.entries(userAttributes)) {
    const [name = "", part] = path.split(".");
    const former = described.get(name)?.subAttributes ?? [];
    const attribute = { ...plainAttribute, ...own };
    if (part === undefined) {
      const subAttributes = [...(parts[name] ?? [])];
      described.set(name, { name, ...attribute, multiValued: name in parts, subAttributes });
    } else {
      const subAttributes = [...former, { name: part, ...attribute }];
      described.set(name, {
        name,
        ...plainAttribute,
        type: "complex",
        description: "Parts of the name",
        subAttributes,
      });
    }
  }
  return [...described.values()].map(({ subAttributes, ...rest }) =>
    subAttributes.length === 0 ? rest : { ...rest, subAttributes },
  );
}

const groupAttributes: ScimAttribute[] = [
  { ...text("displayName", "Name of the group"), required: true, uniqueness: "server" },
  { ...text("externalId", "Identifier of the group at the identity provider"), caseExact: true },
  {
    name: "members",
    type: "complex",
    description: "Users in the group",
    ...plainAttribute,
    multiValued: true,
    subAttributes: [
      { ...text("value", "Id of the user"), mutability: "immutable" },
      { ...text("type", "Always User"), mutability: "immutable" },
      {
        ...plainAttribute,
        name: "$ref",
        type: "reference",
        referenceTypes: ["User"],
        description: "Address of the user",
      },
    ],
  },
];

const kinds = [
  { id: "User", endpoint: "/Users", description: "A user", describe: describeUser },
  { id: "Group", endpoint: "/Groups", description: "A group of users", describe: () => groupAttributes },
] as const;

function metaOf<Kind extends string>(call: AdminCall<undefined>, resourceType: Kind, path: string) {
  return { resourceType, location: `${scimBaseOf(call)}/${path}` };
}

async function readSchemas(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimSchemaList>> {
  const schemas = kinds.map(({ id, description, describe }) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema" as const],
    id: schemaIds[id],
    name: id,
    description,
    attributes: describe(),
    meta: metaOf(call, "Schema", `Schemas/${schemaIds[id]}`),
  }));
  return toListResponse(schemas, schemas.length);
}

async function readResourceTypes(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimResourceTypeList>> {
  const types = kinds.map(({ id, endpoint, description }) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType" as const],
    id,
    name: id,
    endpoint,
    description,
    schema: schemaIds[id],
    schemaExtensions: [],
    meta: metaOf(call, "ResourceType", `ResourceTypes/${id}`),
  }));
  return toListResponse(types, types.length);
}

async function readConfiguration(call: AdminCall<undefined>): Promise<AnswerOf<typeof ScimConfiguration>> {
  const token = {
    type: "oauthbearertoken" as const,
    name: "Bearer token",
    description: "A token from POST /admin/scim/tokens",
  };
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: maxCount },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [{ ...token, primary: true }],
    meta: metaOf(call, "ServiceProviderConfig", "ServiceProviderConfig"),
  };
}

/** Endpoints that describe the service to identity providers (RFC 7644, section 4). */
export const scimDiscoveryEndpoints: readonly ScimEndpoint[] = [
  defineScimRead({
    method: "GET",
    path: "/scim/v2/ServiceProviderConfig",
    summary: "Show the supported features of SCIM",
    response: ScimConfiguration,
    handle: readConfiguration,
  }),
  defineScimRead({
    method: "GET",
    path: "/scim/v2/ResourceTypes",
    summary: "List resource types",
    response: ScimResourceTypeList,
    handle: readResourceTypes,
  }),
  defineScimRead({
    method: "GET",
    path: "/scim/v2/Schemas",
    summary: "List the attributes of resources",
    response: ScimSchemaList,
    handle: readSchemas,
  }),
];
