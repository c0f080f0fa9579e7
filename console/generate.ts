// Makes what the console's sources import from the gateway's own OpenAPI document:
//   src/api/schema.gen.ts  the types of every route (openapi-typescript)
//   src/api/access.gen.ts  who may call every route: kinds of keys, and scopes of which any one admits a caller
//   src/api/bodies.gen.ts  the JSON schemas of the request bodies that the console edits
//   src/api/providers.gen.ts  the names of the model providers, and of partners that check text
//   src/api/scopes.gen.ts  the scopes that a key of each kind may have
//   src/api/settings.gen.ts  the settings of integrations of each of them, and of MCP integrations
// Run by `npm run build` of this folder; the files are not in git.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { createGateway } from "../mod.ts";
import { scopesOfKind } from "../src/auth/scopes.ts";
import { partnerChecks } from "../src/guardrails/partners/client.ts";
import { partnerForm } from "../src/guardrails/partners/forms.ts";
import { loadConverter } from "../src/openapi/schema.ts";
import { builtInProviders } from "../src/providers/registry.ts";
import { keyKinds } from "../src/schemas/api-keys.ts";
import { commonMembers, type IntegrationForm, otherForm } from "../src/schemas/integration-members.ts";
import { mcpIntegrationForm } from "../src/schemas/mcp-integration-members.ts";

interface Operation {
  readonly "x-gateway-keys"?: string;
  readonly "x-gateway-scopes"?: readonly string[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: unknown }>> };
}

type Schema = Readonly<Record<string, unknown>>;

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Routes whose types the console does not use: other protocols, and what is only passed on to a provider. */
const left =
  /^\/(v1\/)?(scim\/v2|assistants|threads|vector_stores|videos|fine_tuning|\.well-known)|^\/v1beta|^\/m\/(?!\{slug\}\/mcp$)/;

const methods = ["get", "post", "put", "patch", "delete"];

const folder = join(import.meta.dirname, "src/api");
const note = "// Made by generate.ts from the gateway's OpenAPI document. Not in git.\n";

async function readDocument(): Promise<Document> {
  const gateway = createGateway({ database: ":memory:" });
  const response = await gateway.fetch(new Request("http://gateway.invalid/openapi.json"));
  const document: Document = await response.json();
  await gateway.close();
  return document;
}

// Both the types and the scopes come from the document of the sources beside this folder.
const document = await readDocument();
const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => !left.test(path)));

const access: Record<string, { readonly keys: string; readonly scopes: readonly string[] }> = {};
const bodies: Record<string, unknown> = {};
for (const [path, operations] of Object.entries(paths)) {
  for (const method of methods) {
    const operation = operations[method];
    if (operation === undefined) continue;
    const row = `${method.toUpperCase()} ${path}`;
    access[row] = { keys: operation["x-gateway-keys"] ?? "any", scopes: operation["x-gateway-scopes"] ?? [] };
    const schema = operation.requestBody?.content?.["application/json"]?.schema;
    if (schema !== undefined && method !== "get") bodies[row] = schema;
  }
}
/** The schema of a routing config alone, for editors of configs. */
const routingConfig = withDefinitions(document.components.schemas.RoutingConfig);

/** Bodies of inference are far larger than all others together, and no page edits them by their schema. */
const edited = Object.fromEntries(
  Object.entries(bodies)
    .filter(([row]) => !/ \/v1\/(chat|completions|messages|responses|models|v2|rerank|images|audio)/.test(row))
    .map(([row, schema]) => [row, withDefinitions(schema)]),
);

/** A schema with what it refers to inside, so that an editor needs nothing else. */
function withDefinitions(schema: unknown): unknown {
  const local = (value: unknown) => JSON.stringify(value).replaceAll("#/components/schemas/", "#/$defs/");
  const text = local(schema);
  if (!text.includes("#/$defs/")) return schema;
  return { ...JSON.parse(text), $defs: JSON.parse(local(document.components.schemas)) };
}

const types = astToString(await openapiTS(JSON.stringify({ ...document, paths }), { alphabetize: false }));
writeFileSync(join(folder, "schema.gen.ts"), `${note}${types}`);
writeFileSync(
  join(folder, "access.gen.ts"),
  `${note}
/** Who may call a route. */
interface Access {
  /** \`admin\`: callers of the organisation; \`workspace\`: callers of a workspace. */
  readonly keys: string;
  readonly scopes: readonly string[];
}

/** Who may call each route, by method and path. */
export const access: Readonly<Record<string, Access>> = ${JSON.stringify(access, undefined, 2)};
`,
);
writeFileSync(
  join(folder, "bodies.gen.ts"),
  `${note}\n/** JSON schemas by method and path. */\nexport const bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = ${JSON.stringify(edited)};\n\n/** JSON schema of a routing config. */\nexport const routingConfig: Readonly<Record<string, unknown>> = ${JSON.stringify(routingConfig)};\n`,
);
const providerNames = builtInProviders.map(({ slug }) => slug).toSorted();
const partnerNames = [...new Set(partnerChecks.map(({ partner }) => partner.slug))]
  .filter((slug) => !providerNames.includes(slug))
  .toSorted();
writeFileSync(
  join(folder, "providers.gen.ts"),
  `${note}
/** Names of the built-in model providers. */
export const providerNames: readonly string[] = ${JSON.stringify(providerNames)};

/** Names of services that only check text. */
export const partnerNames: readonly string[] = ${JSON.stringify(partnerNames)};
`,
);

const keyScopes = Object.fromEntries(keyKinds.map((kind) => [kind, scopesOfKind(kind).toSorted()]));
writeFileSync(
  join(folder, "scopes.gen.ts"),
  `${note}
/** Scopes that a key may have, by its kind. */
export const keyScopes: Readonly<Record<${keyKinds.map((kind) => JSON.stringify(kind)).join(" | ")}, readonly string[]>> = ${JSON.stringify(keyScopes)};
`,
);

const toJsonSchema = await loadConverter();

/** What an integration can be set, for a form: the schemas of its members and which of them are secret or required. */
function toForm({ members, required, choice }: IntegrationForm) {
  const shown = Object.entries(members).map(([path, { schema, secret }]) => [
    path,
    { schema: toJsonSchema(schema, "input"), secret: secret === true },
  ]);
  return { members: Object.fromEntries(shown), required, ...(choice && { choice }) };
}

const forms = Object.fromEntries([
  ...builtInProviders.map(({ slug, integrationForm }) => [slug, toForm(integrationForm)]),
  ...partnerNames.map((slug) => [slug, toForm(partnerForm(slug) ?? otherForm)]),
]);
writeFileSync(
  join(folder, "settings.gen.ts"),
  `${note}
/** What an integration can be set. */
export interface SettingsForm {
  /** JSON schemas by path: a name, or a group and a name. */
  readonly members: Readonly<
    Record<string, { readonly schema: Readonly<Record<string, unknown>>; readonly secret: boolean }>
  >;
  /** Required paths; \`key\` is the integration's key. */
  readonly required: readonly string[];
  /** Further required paths by the value of one member; \`absent\` without it. */
  readonly choice?: {
    readonly member: string;
    readonly required: Readonly<Record<string, readonly string[]>>;
    readonly absent: readonly string[];
  };
}

/** Settings of every integration. */
export const commonMembers: SettingsForm["members"] = ${JSON.stringify(toForm({ members: commonMembers, required: [] }).members)};

/** Settings of integrations by their provider, besides the common ones. */
export const integrationForms: Readonly<Record<string, SettingsForm>> = ${JSON.stringify(forms)};

/** Settings of MCP integrations. */
export const mcpForm: SettingsForm = ${JSON.stringify(toForm(mcpIntegrationForm))};
`,
);
process.exit(0);
