import type { ControlStores } from "../db/stores/control.ts";
import type {
  LabelRow,
  PartialRow,
  PartialVersionRow,
  PromptLabelRow,
  PromptRow,
  PromptVersionRow,
} from "../db/tables/prompts.ts";
import { readTogether, type Tenant, type Values } from "../db/tenant-store.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { universalLabels } from "../prompts/labels.ts";
import { readVersionNumber } from "../prompts/reference.ts";

/** A record with the versions that requests use most. */
interface Versioned<Row, Version> {
  row: Row;
  /** By `default`, `latest`, label, and number. */
  named: ReadonlyMap<string, Version>;
}

/**
 * A version by name. Synchronous for named versions; older ones are read on first use.
 *
 * @returns Undefined if it does not exist.
 */
type FindVersion<Row, Version> = (
  stored: Versioned<Row, Version>,
  name: string,
) => Version | undefined | Promise<Version | undefined>;

/** Records of a workspace with their versions, in memory. */
interface VersionLibrary<Row, Version> {
  /** By slug and by id; archived ones are left out. */
  records: ReadonlyMap<string, Versioned<Row, Version>>;
  findVersion: FindVersion<Row, Version>;
}

/** Prompts of a workspace. */
export type PromptLibrary = VersionLibrary<PromptRow, PromptVersionRow>;
/** Partials of a workspace. */
export type PartialLibrary = VersionLibrary<PartialRow, PartialVersionRow>;

/** Most older versions in memory, of prompts and of partials. */
const maxOlder = 100;

/** Numbers and ids of a record's versions. */
interface Head {
  id: string;
  slug: string;
  version: number;
  versionId: string;
  latestVersion: number;
  latestVersionId: string;
}

/** Records by slug and id with their named versions. */
function toVersioned<Row extends Head, Version extends { id: string; version: number }>(
  rows: readonly Row[],
  versions: readonly Version[],
  labelsOf: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Map<string, Versioned<Row, Version>> {
  const versionOf = new Map(versions.map((version) => [version.id, version]));
  const records = rows.map((row) => {
    const names = [
      ...(labelsOf.get(row.id) ?? []),
      ...([
        ["latest", row.latestVersionId],
        ["default", row.versionId],
      ] as const),
    ];
    const named = new Map<string, Version>();
    for (const [name, id] of names) {
      const version = versionOf.get(id);
      if (version) named.set(name, version).set(String(version.version), version);
    }
    return { row, named };
  });
  return new Map([
    ...records.map((record) => [record.row.slug, record] as const),
    ...records.map((record) => [record.row.id, record] as const),
  ]);
}

function createFinder<Row extends Head, Version>(
  read: (id: string, version: number) => Promise<Version | undefined>,
): FindVersion<Row, Version> {
  const older = new BoundedMap<string, Promise<Version | undefined>>(maxOlder);
  return ({ row, named }, name) => {
    const known = named.get(name);
    const number = readVersionNumber(name);
    if (known || number === undefined || number > row.latestVersion) return known;
    const key = `${row.id} ${number}`;
    const held = older.get(key);
    if (held) return held;
    const reading = read(row.id, number);
    older.set(key, reading);
    reading.catch(() => older.delete(key));
    return reading;
  };
}

/** Ids of labelled versions by label, per prompt. */
function groupLabels(
  assigned: readonly PromptLabelRow[],
  labels: readonly LabelRow[],
): Map<string, Map<string, string>> {
  const nameOf = new Map([...universalLabels, ...labels].map(({ id, name }) => [id, name]));
  const byPrompt = new Map<string, Map<string, string>>();
  for (const { promptId, labelId, versionId } of assigned) {
    const name = nameOf.get(labelId);
    if (name === undefined) continue;
    const own = byPrompt.get(promptId) ?? new Map<string, string>();
    byPrompt.set(promptId, own.set(name, versionId));
  }
  return byPrompt;
}

/** Stores that hold prompts. */
type PromptStores = Pick<ControlStores, "prompts" | "promptVersions" | "promptLabels" | "labels">;

/** Reads the prompts of a workspace. */
export async function readPrompts(stores: PromptStores, tenant: Tenant): Promise<PromptLibrary> {
  const { prompts, promptVersions, promptLabels, labels } = stores;
  const active = { status: "active" } as const;
  const versions = (id: Values) => promptVersions.query(tenant, { where: { id } });
  const [rows, assigned, named, current, latest, labelled] = await readTogether([
    prompts.query(tenant, { where: active }),
    promptLabels.query(tenant),
    labels.query(tenant, { includeOrganisation: true }),
    versions(prompts.values(tenant, "versionId", active)),
    versions(prompts.values(tenant, "latestVersionId", active)),
    versions(promptLabels.values(tenant, "versionId")),
  ]);
  return {
    records: toVersioned(rows, [...current, ...latest, ...labelled], groupLabels(assigned, named)),
    findVersion: createFinder((promptId, version) => promptVersions.find(tenant, { promptId, version })),
  };
}

/** Stores that hold partials. */
type PartialStores = Pick<ControlStores, "partials" | "partialVersions">;

/** Reads the partials of a workspace. */
export async function readPartials(stores: PartialStores, tenant: Tenant): Promise<PartialLibrary> {
  const { partials, partialVersions } = stores;
  const active = { status: "active" } as const;
  const versions = (id: Values) => partialVersions.query(tenant, { where: { id } });
  const [rows, current, latest] = await readTogether([
    partials.query(tenant, { where: active }),
    versions(partials.values(tenant, "versionId", active)),
    versions(partials.values(tenant, "latestVersionId", active)),
  ]);
  return {
    records: toVersioned(rows, [...current, ...latest], new Map()),
    findVersion: createFinder((partialId, version) => partialVersions.find(tenant, { partialId, version })),
  };
}
