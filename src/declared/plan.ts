import { type Difference, differencesOf, isSame, withMasks } from "./compare.ts";
import type { Declared, DeclaredPlace, Fields, SectionName } from "./document.ts";
import { unsetIn } from "./environment-values.ts";
import type { Kind, Place, Stored } from "./kind.ts";
import { lastKinds, leafKinds, organisationKinds, workspaceKinds } from "./kinds/all.ts";
import { makesSecret } from "./kinds/routing.ts";
import type { PlaceSnapshot, Snapshot } from "./snapshot.ts";
import { compareWorkspace } from "./workspaces.ts";

/** What happens to a record. */
export type Action = "create" | "change" | "replace" | "remove";

/** One step of a plan. */
export interface Change {
  readonly action: Action;
  /** `workspaces` for a workspace itself. */
  readonly section: SectionName | "workspaces";
  /** Slug of the workspace; null for records of the organisation. */
  readonly workspace: string | null;
  readonly name: string;
  readonly differences: readonly Difference[];
  /** Absent for workspaces. */
  readonly kind?: Kind;
  /** All fields of the record; absent where it goes. */
  readonly fields?: Fields;
  readonly stored?: Stored;
}

/** What has to be done for a gateway to have what a file declares. */
export interface Plan {
  readonly changes: readonly Change[];
  /** Why it cannot be done. */
  readonly problems: readonly string[];
  /** Records that the file does not have, which stay. */
  readonly left: number;
}

/** What a plan is made with. */
export interface PlanOptions {
  /** What goes that the file does not have: nothing, records of its sections, or whole workspaces too. */
  readonly prune: "none" | "records" | "all";
  /** Whether there is a place for secrets of new keys. */
  readonly takesSecrets: boolean;
  /** Names of variables by their values. */
  readonly variables: ReadonlyMap<string, string>;
  /** Settings of providers that are secret. */
  readonly secrets: ReadonlySet<string>;
}

/** What a plan is collected in. */
class Draft {
  readonly changes: Change[] = [];
  readonly problems: string[] = [];
  left = 0;
}

/** Integrations of a workspace get a provider with their slug, as those that are made by hand, unless one names them. */
function withDefaultProviders(declared: DeclaredPlace): DeclaredPlace {
  const { integrations } = declared;
  if (!integrations) return declared;
  const providers = declared.providers ?? {};
  const used = new Set(Object.values(providers).map(({ integration_id: id }) => id));
  const added = Object.entries(integrations).filter(
    ([slug, one]) => one.create_default_provider !== false && !used.has(slug) && !Object.hasOwn(providers, slug),
  );
  if (added.length === 0) return declared;
  const entries = added.map(([slug, { name = slug }]) => [slug, { name, integration_id: slug }]);
  return { ...declared, providers: { ...Object.fromEntries(entries), ...providers } };
}

/** A record of a file, and the one of the gateway. */
interface WantedRecord {
  readonly name: string;
  readonly given: Fields;
  readonly stored: Stored | undefined;
  readonly options: PlanOptions;
}

/** Why a record cannot be written. */
function findProblem(kind: Kind, fields: Fields, { stored, options }: WantedRecord, fixed: readonly string[]) {
  if (stored?.isAmbiguous) return "several records have this name: rename them";
  const unset = unsetIn(stored ? withMasks(fields, stored.fields) : fields);
  if (unset.length > 0) return `set the variable ${unset.join(", ")}`;
  if (fixed.length > 0 && !kind.isReplaceable) {
    return `${fixed.join(", ")} cannot change: remove it from the file, apply with --prune, and add it again`;
  }
  const isNew = stored === undefined || fixed.length > 0;
  if (kind.section !== "keys" || !isNew || !makesSecret(fields) || options.takesSecrets) return undefined;
  return "give --keys-file for its secret, or the field key with a secret of yours";
}

/** What follows from a file's record of a kind. */
function planRecord(draft: Draft, kind: Kind, place: Place, record: WantedRecord): void {
  const { name, given, stored, options } = record;
  const fields = kind.toFields(name, given);
  const former = stored && !stored.isArchived ? stored.fields : undefined;
  // a secret that the file does not have is any
  const hasAnyKey = former !== undefined && kind.section === "keys" && makesSecret(fields);
  const wanted = hasAnyKey ? { ...fields, key: former.key } : fields;
  if (former && isSame(wanted, former) && !stored?.isAmbiguous) return;
  const fixed = former ? kind.fixed.filter((field) => !isSame(wanted[field], former[field])) : [];
  const problem = findProblem(kind, fields, record, fixed);
  if (problem !== undefined) {
    const at = place.slug === null ? "" : `workspaces.${place.slug}.`;
    draft.problems.push(`${at}${kind.section}.${name}: ${problem}`);
    return;
  }
  const action = fixed.length > 0 ? "replace" : stored ? "change" : "create";
  const base = { section: kind.section, workspace: place.slug, name, kind, fields, action } as const;
  const differences = differencesOf(wanted, former ?? {}, options);
  draft.changes.push({ ...base, differences, ...(stored && { stored }) });
}

/** How far a record is from what does not name others of its kind. */
function depthOf(name: string, all: ReadonlyMap<string, Fields>, seen: number = 0): number {
  const { parent_collection_id: parent, aggregate } = all.get(name) ?? {};
  if (aggregate) return 1;
  return typeof parent === "string" && seen < 100 ? 1 + depthOf(parent, all, seen + 1) : 0;
}

/** Names of records, each after those of its kind that it names. */
function inOrder(all: ReadonlyMap<string, Fields>): string[] {
  return [...all.keys()].toSorted((one, other) => depthOf(one, all) - depthOf(other, all));
}

/** What follows from a section of a file. */
function planSection(
  draft: Draft,
  kind: Kind,
  { declared, snapshot, place }: PlannedPlace,
  options: PlanOptions,
): void {
  const given = new Map(Object.entries(declared[kind.section] ?? {}));
  const records = snapshot?.sections.get(kind.section);
  for (const name of inOrder(given)) {
    planRecord(draft, kind, place, { options, name, given: given.get(name) ?? {}, stored: records?.get(name) });
  }
}

/** Whether a record that a file does not have is one that the file would have. */
function isManaged(kind: Kind, declared: DeclaredPlace, { sections }: PlaceSnapshot, stored: Stored): boolean {
  if (declared[kind.section]) return true;
  // without a section of providers a file has those of its integrations
  const { integrations } = declared;
  const id = stored.fields.integration_id;
  if (kind.section !== "providers" || !integrations || typeof id !== "string") return false;
  return sections.get("integrations")?.has(id) === true && !Object.hasOwn(integrations, id);
}

/** Records of a section that the file does not have, in the order in which they can go. */
function planRemovals(
  draft: Draft,
  kind: Kind,
  { declared, snapshot }: { declared: DeclaredPlace; snapshot: PlaceSnapshot },
  { prune }: PlanOptions,
): void {
  const given = withDefaultProviders(declared)[kind.section] ?? {};
  const records = snapshot.sections.get(kind.section) ?? new Map<string, Stored>();
  const fields = new Map([...records].map(([name, stored]) => [name, stored.fields]));
  for (const name of inOrder(fields).toReversed()) {
    const stored = records.get(name);
    if (!stored || stored.isArchived || Object.hasOwn(given, name)) continue;
    if (!isManaged(kind, declared, snapshot, stored)) continue;
    const base = { section: kind.section, workspace: snapshot.place.slug, name, kind, stored };
    if (prune !== "none") draft.changes.push({ ...base, action: "remove", differences: [] });
    else draft.left++;
  }
}

/** A workspace of the file, and the one of the gateway. */
interface PlannedPlace {
  readonly declared: DeclaredPlace;
  readonly snapshot: PlaceSnapshot | undefined;
  readonly place: Place;
}

function planWorkspaces(draft: Draft, declared: Declared, { workspaces, names }: Snapshot, options: PlanOptions): void {
  for (const [slug, given] of Object.entries(declared.workspaces)) {
    const stored = workspaces.get(slug);
    const { wanted, former } = compareWorkspace(given, stored?.fields ?? {}, names);
    const differences = differencesOf(wanted, stored ? former : {}, options);
    if (stored && differences.length === 0) continue;
    const base = { section: "workspaces", workspace: null, name: slug, fields: wanted, differences } as const;
    const known = stored && { stored: { id: stored.place.id ?? "", fields: former } };
    draft.changes.push({ ...base, action: stored ? "change" : "create", ...known });
  }
}

/** Workspaces that the file does not have. The default one stays. */
function planLostWorkspaces(draft: Draft, declared: Declared, { workspaces }: Snapshot, { prune }: PlanOptions): void {
  if (Object.keys(declared.workspaces).length === 0) return;
  for (const [slug, { place, fields }] of workspaces) {
    if (Object.hasOwn(declared.workspaces, slug) || fields.is_default === 1) continue;
    const base = { section: "workspaces", workspace: null, name: slug, differences: [] } as const;
    if (prune === "all") draft.changes.push({ ...base, action: "remove", stored: { id: place.id ?? "", fields } });
    else draft.left++;
  }
}

/** Slugs of these kinds are unique in the organisation. */
const uniqueSections: readonly SectionName[] = [
  ...(["integrations", "guardrails", "collections", "partials", "prompts"] as const),
  ...(["mcp_integrations", "mcp_servers", "configs"] as const),
];

/** Slugs that a file has in two places. */
function findTwice({ organisation, workspaces }: Declared): string[] {
  const places = [["organisation", organisation] as const, ...Object.entries(workspaces)];
  return uniqueSections.flatMap((section) => {
    const first = new Map<string, string>();
    return places.flatMap(([place, declared]) =>
      Object.keys(declared[section] ?? {}).flatMap((slug) => {
        const other = first.get(slug);
        first.set(slug, place);
        return other === undefined ? [] : [`${section}.${slug}: ${other} and ${place} have it, and slugs are unique`];
      }),
    );
  });
}

/**
 * The steps after which a gateway has what a file declares, in the order in which they can be done.
 *
 * @param snapshot What the gateway has.
 */
export function makePlan(declared: Declared, snapshot: Snapshot, options: PlanOptions): Plan {
  const draft = new Draft();
  draft.problems.push(...findTwice(declared));
  const places: PlannedPlace[] = Object.entries(declared.workspaces).map(([slug, one]) => {
    const found = snapshot.workspaces.get(slug);
    return { declared: one, snapshot: found, place: found?.place ?? { id: "", slug } };
  });
  const { organisation } = snapshot;
  const own: PlannedPlace = { declared: declared.organisation, snapshot: organisation, place: organisation.place };
  const remove = (kinds: readonly Kind[], { declared: given, snapshot: found }: PlannedPlace) => {
    for (const kind of kinds) if (found) planRemovals(draft, kind, { declared: given, snapshot: found }, options);
  };
  const add = (kinds: readonly Kind[], { declared: given, snapshot: found, place }: PlannedPlace) => {
    const whole = place.slug === null ? given : withDefaultProviders(given);
    for (const kind of kinds) planSection(draft, kind, { declared: whole, snapshot: found, place }, options);
  };
  const isLeaf = (kind: Kind) => leafKinds.has(kind);
  const isLast = (kind: Kind) => lastKinds.has(kind);
  remove(organisationKinds.filter(isLeaf), own);
  for (const place of places) remove(workspaceKinds.filter(isLeaf), place);
  planWorkspaces(draft, declared, snapshot, options);
  add(
    organisationKinds.filter((kind) => !isLast(kind)),
    own,
  );
  for (const place of places) add(workspaceKinds, place);
  add(organisationKinds.filter(isLast), own);
  const others = (kinds: readonly Kind[]) => kinds.filter((kind) => !isLeaf(kind)).toReversed();
  for (const place of places) remove(others(workspaceKinds), place);
  remove(others(organisationKinds), own);
  planLostWorkspaces(draft, declared, snapshot, options);
  return { changes: draft.changes, problems: draft.problems, left: draft.left };
}
