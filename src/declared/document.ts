import * as v from "valibot";
import { InvalidRequestError } from "../errors.ts";
import { firstPlainIssue } from "../lib/issues.ts";
import { isObject } from "../lib/json.ts";
import { CreateAlertRule } from "../schemas/alert-rules.ts";
import { CreateApiKey } from "../schemas/api-keys.ts";
import { CreateConfig } from "../schemas/configs.ts";
import { Flag, Name, OneUsageLimit, RateLimitList, Slug, Text } from "../schemas/control.ts";
import { CreateGuardrail } from "../schemas/guardrails.ts";
import { CreateIntegration, CreateProvider, UpdateModels } from "../schemas/integrations.ts";
import { CreateMcpIntegration, CreateMcpServer } from "../schemas/mcp.ts";
import { CreateModelAlias } from "../schemas/model-aliases.ts";
import { JsonObject } from "../schemas/objects.ts";
import { CreateRateLimitPolicy, CreateUsageLimitPolicy } from "../schemas/policies.ts";
import { CreateCollection, CreatePartial, CreatePrompt } from "../schemas/prompts.ts";
import { CreateSecretReference } from "../schemas/secret-references.ts";
import { UpdateWorkspace } from "../schemas/workspaces.ts";
import { UnsetVariable } from "./environment-values.ts";

/** Fields of bodies that a file says by the place of a record. */
const placeFields = ["slug", "workspace_id", "organisation_id"];

/** The fields of a body that a file may have. */
function fieldsOf(entries: v.ObjectEntries, left: readonly string[] = []): v.ObjectEntries {
  const isOwn = ([name]: [string, unknown]) => !placeFields.includes(name) && !left.includes(name);
  return Object.fromEntries(Object.entries(entries).filter(isOwn));
}

const optionalName = { name: v.optional(Name) };

const closed = (entries: v.ObjectEntries) => v.strictObject(entries);

const sharedWith = {
  enabled: v.optional(Flag),
  usage_limits: v.nullish(OneUsageLimit),
  rate_limits: v.nullish(RateLimitList),
};

/** Each model by its slug. */
const modelEntries = fieldsOf(UpdateModels.entries.models.pipe[0].item.entries);
const Models = v.record(Text(255), closed({ ...modelEntries, enabled: v.optional(Flag) }));

const integration = {
  ...fieldsOf(CreateIntegration.entries, ["default_provider_slug", "create_default_provider"]),
  ...optionalName,
  models: v.optional(Models),
  allow_all_models: v.optional(Flag),
};

/** A template: text, or the messages of a chat. */
const Template = v.union([v.string(), v.array(JsonObject)], "must be a string or a list of messages");

const access = {
  workspaces: v.optional(v.record(Slug, closed(sharedWith))),
  all_workspaces: v.optional(closed(sharedWith)),
};

const mcpAccess = v.optional(closed({ enabled: v.optional(Flag) }));
const mcpIntegration = { ...fieldsOf(CreateMcpIntegration.entries, ["openapi"]), ...optionalName };

const secretReferences = CreateSecretReference.options.map(({ entries }) =>
  v.strictObject({ ...fieldsOf(entries, ["allow_all_workspaces"]), ...optionalName }),
);

/** Records of one kind by their names: slugs, or names where they have none. */
const by = (name: v.GenericSchema<string, string>, record: v.GenericSchema) =>
  v.record(name, record, "must be an object");

/** A rule without destinations is shown and sent nowhere. */
const destinations = v.optional(CreateAlertRule.entries.destinations);

const aliasName = CreateModelAlias.entries.name;

/** Access to an alias: keys by their names. */
const AliasAccess = v.nullish(
  closed({
    api_keys: v.optional(v.array(Name)),
    roles: v.optional(v.array(v.picklist(["admin", "manager", "member"]))),
    workspaces: v.optional(v.array(Slug)),
  }),
);

/** Sections of records that the organisation, or a workspace, may have. */
const either = {
  guardrails: by(Slug, closed({ ...fieldsOf(CreateGuardrail.entries), ...optionalName })),
  model_aliases: by(aliasName, closed({ ...fieldsOf(CreateModelAlias.entries, ["name"]), access: AliasAccess })),
};

const organisationSections = {
  secret_references: by(Slug, v.variant("manager_type", secretReferences as never)), // each has the word
  integrations: by(Slug, closed({ ...integration, ...access })),
  ...either,
  mcp_integrations: by(
    Slug,
    closed({
      ...mcpIntegration,
      workspaces: v.optional(v.record(Slug, closed({ enabled: v.optional(Flag) }))),
      all_workspaces: mcpAccess,
    }),
  ),
} satisfies v.ObjectEntries;

const workspaceSections = {
  integrations: by(
    Slug,
    closed({ ...integration, create_default_provider: CreateIntegration.entries.create_default_provider }),
  ),
  providers: by(Slug, closed({ ...fieldsOf(CreateProvider.entries), ...optionalName })),
  ...either,
  collections: by(Slug, closed({ ...fieldsOf(CreateCollection.entries), ...optionalName })),
  partials: by(Slug, closed({ ...fieldsOf(CreatePartial.entries, ["version_description"]), ...optionalName })),
  prompts: by(
    Slug,
    closed({
      ...fieldsOf(CreatePrompt.entries, ["version_description", "prompt_metadata"]),
      ...optionalName,
      collection_id: v.optional(Slug),
      virtual_key: v.optional(CreatePrompt.entries.virtual_key),
      parameters: v.optional(CreatePrompt.entries.parameters),
      string: Template,
    }),
  ),
  mcp_integrations: by(Slug, closed(mcpIntegration)),
  mcp_servers: by(Slug, closed({ ...fieldsOf(CreateMcpServer.entries), ...optionalName })),
  configs: by(Slug, closed({ ...fieldsOf(CreateConfig.entries, ["isDefault"]), ...optionalName })),
  keys: by(Name, closed(keyFields())),
  usage_limit_policies: by(Name, closed(fieldsOf(CreateUsageLimitPolicy.entries, ["name", "next_usage_reset_at"]))),
  rate_limit_policies: by(Name, closed(fieldsOf(CreateRateLimitPolicy.entries, ["name"]))),
  alert_rules: by(Name, closed({ ...fieldsOf(CreateAlertRule.entries, ["name"]), destinations })),
} satisfies v.ObjectEntries;

/** Fields of a key of a service; those that no body may have are left out. */
function keyFields(): v.ObjectEntries {
  const names = [
    "scopes",
    "description",
    "rate_limits",
    "usage_limits",
    "defaults",
    "alert_emails",
    "priority",
    "allowed_models",
    "expires_at",
    "key",
  ];
  return Object.fromEntries(Object.entries(CreateApiKey.entries).filter(([name]) => names.includes(name)));
}

/** Every section. */
export type SectionName = keyof typeof organisationSections | keyof typeof workspaceSections;

const optionalSections = (sections: Readonly<Record<string, v.GenericSchema>>): v.ObjectEntries =>
  Object.fromEntries(Object.entries(sections).map(([name, schema]) => [name, v.optional(schema)]));

const Workspace = closed({
  ...fieldsOf(UpdateWorkspace.entries),
  usage_limits: v.nullish(OneUsageLimit),
  ...optionalSections(workspaceSections),
});

/** A file of declared state. */
export const DeclaredState = closed({
  $schema: v.optional(v.string()),
  version: v.literal(1, "must be 1"),
  organisation: v.optional(closed({ slug: v.optional(Slug), ...optionalSections(organisationSections) })),
  workspaces: v.optional(v.record(Slug, Workspace, "must be an object")),
});

/** The fields of a record as a file has them. */
export type Fields = Readonly<Record<string, unknown>>;

/** Records by their names. */
type Records = Readonly<Record<string, Fields>>;

/** What a file says of the organisation, or of a workspace: its fields and its sections. */
export type DeclaredPlace = Fields & { readonly [Section in SectionName]?: Records };

/** A valid file, values of the environment filled in. */
export interface Declared {
  readonly organisation: DeclaredPlace & { readonly slug?: string };
  readonly workspaces: Readonly<Record<string, DeclaredPlace>>;
}

/** Stands for the value of a variable that is not set, while the file is checked. */
const stand = "value-of-a-variable-0123456789";

/** A value without what the schemas do not know. */
function plain(value: unknown): unknown {
  if (value instanceof UnsetVariable) return stand;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

/** A budget may not say when it resets: that follows from its period, and would begin a new one with each change. */
function findReset(value: unknown, path: string): string | undefined {
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`;
    if (name === "next_usage_reset_at" && /usage_limits(?:\.0)?$/.test(path)) return at;
    const found = findReset(member, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

const refuse = (what: string, path: string, problem: string): never => {
  throw new InvalidRequestError(`Cannot use ${what}: ${path === "" ? "it" : path} ${problem}`, { code: "AB01" });
};

/**
 * The state that a file declares.
 *
 * @param value What the file says, values of the environment filled in.
 * @param what Its name in messages.
 * @throws {InvalidRequestError} Naming the field that is wrong or unknown.
 */
export function readDeclared(value: unknown, what: string): Declared {
  if (!isObject(value)) return refuse(what, "", "must be an object");
  const { success, issues } = v.safeParse(DeclaredState, plain(value), firstPlainIssue);
  if (!success) {
    const [issue] = issues;
    return refuse(what, v.getDotPath(issue) ?? "", issue.message);
  }
  const reset = findReset(value, "");
  if (reset !== undefined) refuse(what, reset, "cannot be declared: it follows from the period");
  const { organisation = {}, workspaces = {} } = value as Partial<Declared>; // of the schema that was checked
  return { organisation, workspaces };
}
