import * as v from "valibot";
import { Description, Flag, Name, Reference, Slug, Text } from "./control.ts";
import { changesOf, closedObject, closedVariant, IsoTime, JsonObject, listOf } from "./objects.ts";

/** A caller-defined part of a host name. */
const HostPart = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, "must be 1 to 63 lower-case letters, digits or -"));

/** An address; whether it may be called is decided at the time of the call. */
const Address = Text(2048, 8);

/** A secret, stored exactly as given. */
const Secret = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(8192, "must have at most 8192 characters"),
  v.check((text) => !text.includes("\0"), "must not contain the character U+0000"),
);

/** A value for a header or a form. */
const Plain = v.pipe(Text(2048), v.regex(/^[\x20-\x7e]+$/, "must be printable ASCII"));

/** Credentials for AWS Secrets Manager. */
const AwsAuth = closedVariant("aws_auth_type", [
  closedObject({
    aws_auth_type: v.literal("accessKey"),
    aws_access_key_id: Plain,
    aws_secret_access_key: Secret,
    aws_region: HostPart,
  }),
  closedObject({
    aws_auth_type: v.literal("assumedRole"),
    aws_role_arn: v.pipe(
      Plain,
      v.regex(/^arn:aws[a-z-]*:iam::[0-9]{12}:role\/[\w+=,.@/-]{1,576}$/, "must be the ARN of a role"),
    ),
    aws_external_id: v.nullish(
      v.pipe(v.string(), v.regex(/^[\w+=,.@:/-]{2,1224}$/, "must be 2 to 1224 letters, digits or any of _+=,.@:/-")),
    ),
    aws_region: HostPart,
  }),
  closedObject({ aws_auth_type: v.literal("serviceRole"), aws_region: v.nullish(HostPart) }),
]);
export type AwsAuth = v.InferOutput<typeof AwsAuth>;

/** Credentials for Azure Key Vault. */
const AzureAuth = closedVariant("azure_auth_mode", [
  closedObject({
    azure_auth_mode: v.literal("entra"),
    azure_entra_tenant_id: v.pipe(v.string(), v.toLowerCase(), HostPart),
    azure_entra_client_id: Plain,
    azure_entra_client_secret: Secret,
    azure_vault_url: Address,
  }),
  closedObject({
    azure_auth_mode: v.literal("managed"),
    azure_managed_client_id: v.nullish(Plain),
    azure_vault_url: Address,
  }),
  closedObject({ azure_auth_mode: v.literal("default"), azure_vault_url: Address }),
]);
export type AzureAuth = v.InferOutput<typeof AzureAuth>;

/** Credentials for HashiCorp Vault. */
const VaultAuth = closedVariant("vault_auth_type", [
  closedObject({
    vault_auth_type: v.literal("token"),
    vault_addr: Address,
    vault_token: v.pipe(Secret, Plain),
    vault_namespace: v.nullish(Plain),
  }),
  closedObject({
    vault_auth_type: v.literal("approle"),
    vault_addr: Address,
    vault_role_id: Secret,
    vault_secret_id: Secret,
    vault_namespace: v.nullish(Plain),
  }),
  closedObject({
    vault_auth_type: v.literal("kubernetes"),
    vault_addr: Address,
    vault_role: Plain,
    vault_namespace: v.nullish(Plain),
  }),
]);
export type VaultAuth = v.InferOutput<typeof VaultAuth>;

/** Credentials by type of store. */
export const authSchemas = { aws_sm: AwsAuth, azure_kv: AzureAuth, hashicorp_vault: VaultAuth } as const;

/** The fields of credentials that their mode has. */
export function fieldsOfMode(
  { key, options }: (typeof authSchemas)[ManagerType],
  auth: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const modes = options.map(({ entries }): Readonly<Record<string, v.GenericSchema>> => entries);
  const mode = modes.find(({ [key]: word }) => word && v.is(word, auth[key]));
  return Object.fromEntries(Object.entries(auth).filter(([name]) => mode === undefined || Object.hasOwn(mode, name)));
}

/** Type of store. */
type ManagerType = keyof typeof authSchemas;

/** All types of store. */
export const managerTypes = ["aws_sm", "azure_kv", "hashicorp_vault"] as const satisfies readonly ManagerType[];

/** Fields of credentials that are sealed and masked. */
export const secretAuthFields: ReadonlySet<string> = new Set([
  "aws_access_key_id",
  "aws_secret_access_key",
  "azure_entra_client_secret",
  "vault_token",
  "vault_secret_id",
]);

/** Fields of credentials with addresses that the gateway calls. */
export const addressAuthFields = ["azure_vault_url", "vault_addr"] as const;

/** Fields of credentials that determine where the others are sent. */
export const movingAuthFields = [...addressAuthFields, "azure_entra_tenant_id"] as const;

const Tags = v.pipe(
  JsonObject,
  v.record(Text(128), Text(256, 0)),
  v.check((tags) => Object.keys(tags).length <= 50, "must have at most 50 entries"),
);

const members = {
  secret_path: v.pipe(Text(1024), v.regex(/^\S(?:.*\S)?$/, "must not begin or end with a space")),
  secret_key: v.nullish(Text(255)),
  allow_all_workspaces: v.optional(Flag),
  allowed_workspaces: v.nullish(
    v.pipe(
      v.array(Reference),
      v.minLength(1, "must name a workspace"),
      v.maxLength(1_000, "must have at most 1000 entries"),
    ),
  ),
  description: Description,
  tags: v.nullish(Tags),
};

const newMembers = { ...members, name: Name, slug: v.optional(Slug), organisation_id: v.nullish(v.string()) };

/** Body of `POST /secret-references`. */
export const CreateSecretReference = closedVariant("manager_type", [
  closedObject({ ...newMembers, manager_type: v.literal("aws_sm"), auth_config: AwsAuth }),
  closedObject({ ...newMembers, manager_type: v.literal("azure_kv"), auth_config: AzureAuth }),
  closedObject({ ...newMembers, manager_type: v.literal("hashicorp_vault"), auth_config: VaultAuth }),
]);
export type CreateSecretReference = v.InferOutput<typeof CreateSecretReference>;

/** Body of `PUT /secret-references/{id}`. Fields missing in `auth_config` stay unchanged. */
export const UpdateSecretReference = changesOf({
  ...members,
  name: v.optional(Name),
  secret_path: v.optional(members.secret_path),
  auth_config: v.optional(v.pipe(JsonObject, v.record(v.string(), v.nullable(v.string())))),
});
export type UpdateSecretReference = v.InferOutput<typeof UpdateSecretReference>;

/** A reference to a secret in responses. */
export const SecretReference = v.object({
  id: v.string(),
  organisation_id: v.string(),
  name: v.string(),
  slug: v.string(),
  description: v.nullable(v.string()),
  manager_type: v.picklist(managerTypes),
  /** Credentials of the store; secrets are masked, each as `masked_<name>`. */
  auth_config: v.record(v.string(), v.string()),
  secret_path: v.string(),
  secret_key: v.nullable(v.string()),
  allow_all_workspaces: v.boolean(),
  /** Ids of workspaces; empty where all are allowed. */
  allowed_workspaces: v.array(v.string()),
  tags: v.nullable(v.record(v.string(), v.string())),
  status: v.literal("ACTIVE"),
  created_by: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
  object: v.literal("secret-reference"),
});
export type SecretReference = v.InferOutput<typeof SecretReference>;

/** Response of `GET /secret-references`. */
export const SecretReferenceList = listOf(SecretReference);

/** Response of `POST /secret-references`. */
export const CreatedSecretReference = v.object({
  id: v.string(),
  slug: v.string(),
  object: v.literal("secret-reference"),
});
