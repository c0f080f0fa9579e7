import { isObject } from "../lib/json.ts";
import type { Api } from "./api.ts";
import { isMask } from "./compare.ts";
import type { Fields, SectionName } from "./document.ts";
import type { Kind, Stored } from "./kind.ts";
import { organisationKinds, workspaceKinds } from "./kinds/all.ts";
import { type PlaceSnapshot, readSnapshot } from "./snapshot.ts";
import { toWorkspaceField } from "./workspaces.ts";

/** The state of a gateway as a file has it. */
interface Exported {
  readonly document: Fields;
  /** Variables that stand for secrets, which cannot be read. */
  readonly variables: readonly string[];
}

/** The name of a variable for the secret at a place of a file. */
const variableOf = (path: readonly string[]): string =>
  path
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^([0-9])/, "_$1");

/** A value with variables in place of masks. */
function withVariables(value: unknown, path: readonly string[], variables: Set<string>): unknown {
  if (isMask(value)) {
    const name = variableOf(path);
    variables.add(name);
    return { $env: name };
  }
  if (Array.isArray(value)) return value.map((one, index) => withVariables(one, [...path, String(index)], variables));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withVariables(one, [...path, name], variables)]),
  );
}

function exportRecord(
  kind: Kind,
  [name, { fields }]: readonly [string, Stored],
  path: readonly string[],
  variables: Set<string>,
): unknown {
  const { key, ...declared } = kind.toDeclared(name, fields);
  // the secret of a key of the gateway is nobody's to give: the key stays as it is
  const own = kind.section === "keys" || key === undefined ? declared : { ...declared, key };
  return withVariables(own, [...path, kind.section, name], variables);
}

function exportPlace(
  { sections }: PlaceSnapshot,
  kinds: readonly Kind[],
  path: readonly string[],
  variables: Set<string>,
): Fields {
  const entries = kinds.flatMap((kind): [SectionName, Fields][] => {
    const records = [...(sections.get(kind.section) ?? [])].filter(([, one]) => !one.isArchived && !one.isAmbiguous);
    if (records.length === 0) return [];
    const sorted = records.toSorted(([one], [other]) => (one < other ? -1 : 1));
    const shown = sorted.map((one) => [one[0], exportRecord(kind, one, path, variables)]);
    return [[kind.section, Object.fromEntries(shown)]];
  });
  return Object.fromEntries(entries);
}

/** Fields of a workspace that a file would give: those that are set. */
function exportWorkspace(slug: string, { fields }: PlaceSnapshot, names: ReadonlyMap<string, string>): Fields {
  const given = ["name", "description", "icon", "defaults", "usage_limits", "rate_limits"];
  const entries = given.map((field) => [field, toWorkspaceField(field, fields[field], names)] as const);
  return Object.fromEntries(
    entries.filter(([field, value]) => value !== null && !(field === "name" && value === slug)),
  );
}

/** Integrations without a provider of their name say so: those of files get one. */
function withoutDefaultProviders(place: Fields): Fields {
  const { integrations, providers } = place;
  if (!isObject(integrations)) return place;
  const used = new Set(
    Object.values(isObject(providers) ? providers : {}).map((one) => isObject(one) && one.integration_id),
  );
  const entries = Object.entries(integrations).map(([slug, one]) => [
    slug,
    used.has(slug) || !isObject(one) ? one : { ...one, create_default_provider: false },
  ]);
  return { ...place, integrations: Object.fromEntries(entries) };
}

/** Reads the state of a gateway as a file has it. */
export async function exportDeclared(api: Api): Promise<Exported> {
  const snapshot = await readSnapshot(api);
  const variables = new Set<string>();
  const organisation = exportPlace(snapshot.organisation, organisationKinds, [], variables);
  const workspaces = [...snapshot.workspaces].map(([slug, place]) => {
    const own = exportPlace(place, workspaceKinds, [slug], variables);
    return [slug, { ...exportWorkspace(slug, place, snapshot.names), ...withoutDefaultProviders(own) }];
  });
  const hasShared = Object.keys(organisation).length > 0;
  const document = { version: 1, ...(hasShared && { organisation }), workspaces: Object.fromEntries(workspaces) };
  return { document, variables: [...variables] };
}
