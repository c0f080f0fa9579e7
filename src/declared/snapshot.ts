import { type Api, listAll } from "./api.ts";
import type { Declared, DeclaredPlace, Fields, SectionName } from "./document.ts";
import type { Kind, Place, Stored } from "./kind.ts";
import { organisationKinds, workspaceKinds } from "./kinds/all.ts";

/** The records of a place, by section and name. */
export interface PlaceSnapshot {
  readonly place: Place;
  /** Of a workspace, as it is shown. */
  readonly fields: Fields;
  readonly sections: ReadonlyMap<SectionName, ReadonlyMap<string, Stored>>;
}

/** What a gateway has. */
export interface Snapshot {
  readonly organisation: PlaceSnapshot;
  /** By slug. */
  readonly workspaces: ReadonlyMap<string, PlaceSnapshot>;
  /** Names of records by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** Sections whose records another section, or the workspace itself, names by ids. */
const readFor: Readonly<Record<string, readonly SectionName[]>> = {
  integrations: ["providers"],
  model_aliases: ["keys"],
  partials: ["collections"],
  prompts: ["collections"],
  defaults: ["guardrails"],
};

/** Whether a section is read for what a file says of a place; all are without a file. */
function isNeeded({ section }: Kind, declared: DeclaredPlace | undefined, isExport: boolean): boolean {
  if (isExport) return true;
  const given = Object.keys(declared ?? {});
  return given.includes(section) || given.some((name) => readFor[name]?.includes(section));
}

async function readPlace(
  api: Api,
  { place, fields, kinds }: { place: Place; fields: Fields; kinds: readonly Kind[] },
  names: Map<string, string>,
): Promise<PlaceSnapshot> {
  const sections = new Map<SectionName, ReadonlyMap<string, Stored>>();
  // one after the other: later ones name records of earlier ones
  for (const kind of kinds) sections.set(kind.section, new Map(await kind.list({ api, place, names })));
  return { place, fields, sections };
}

/**
 * What a gateway has of what a file declares.
 *
 * @param declared Absent: everything is read.
 */
export async function readSnapshot(api: Api, declared?: Declared): Promise<Snapshot> {
  const names = new Map<string, string>();
  const isExport = declared === undefined;
  const rows = await listAll(api, "/admin/workspaces", {});
  for (const { id, slug } of rows) names.set(String(id), String(slug));
  const needed = (kinds: readonly Kind[], one: DeclaredPlace | undefined) =>
    kinds.filter((kind) => isNeeded(kind, one, isExport));
  const wantsGuardrails = Object.values(declared?.workspaces ?? {}).some(({ defaults }) => defaults != null);
  const ofOrganisation = { ...declared?.organisation, ...(wantsGuardrails && { defaults: {} }) };
  const organisation = await readPlace(
    api,
    { place: { id: null, slug: null }, fields: {}, kinds: needed(organisationKinds, ofOrganisation) },
    names,
  );
  const workspaces = new Map<string, PlaceSnapshot>();
  for (const fields of rows) {
    const slug = String(fields.slug);
    const place = { id: String(fields.id), slug };
    const kinds = needed(workspaceKinds, declared?.workspaces[slug]);
    workspaces.set(slug, await readPlace(api, { place, fields, kinds }, names));
  }
  return { organisation, workspaces, names };
}
