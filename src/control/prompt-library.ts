import type { ControlStores } from "../db/stores/control.ts";
import type { PartialRow, PartialVersionRow, PromptRow, PromptVersionRow } from "../db/tables/prompts.ts";
import type { Tenant } from "../db/tenant-store.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { universalLabels } from "../prompts/labels.ts";
import { readVersionNumber } from "../prompts/reference.ts";

/** A record with the versions that requests use most. */
interface Versioned<Row, Version> {
  row: Row;
  /** By `default`, `latest`, label, and number. */
  named: ReadonlyMap<string, Version>;
}

/** A saved prompt. */
type StoredPrompt = Versioned<PromptRow, PromptVersionRow>;
/** A saved partial. */
type StoredPartial = Versioned<PartialRow, PartialVersionRow>;

/**
 * A version by name. Synchronous for named versions; older ones are read on first use.
 *
 * @returns Undefined if there is no such version.
 */
type FindVersion<Row, Version> = (
  stored: Versioned<Row, Version>,
  name: string,
) => Version | undefined | Promise<Version | undefined>;

/** Prompts and partials of a workspace, in memory. */
export interface PromptLibrary {
  /** By slug and by id. */
  prompts: ReadonlyMap<string, StoredPrompt>;
  /** By slug and by id; archived ones are left out. */
  partials: ReadonlyMap<string, StoredPartial>;
  findPromptVersion: FindVersion<PromptRow, PromptVersionRow>;
  findPartialVersion: FindVersion<PartialRow, PartialVersionRow>;
}

/** Older versions in memory, separately for prompts and partials. */
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
async function readLabels(stores: ControlStores, tenant: Tenant): Promise<Map<string, Map<string, string>>> {
  const [assigned, labels] = await Promise.all([stores.promptLabels.all(tenant), stores.labels.all(tenant)]);
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

/** Reads the prompts of a workspace. */
export async function readPromptLibrary(stores: ControlStores, tenant: Tenant): Promise<PromptLibrary> {
  const [prompts, partials] = await Promise.all([
    stores.prompts.all(tenant, { where: { status: "active" } }),
    stores.partials.all(tenant, { where: { status: "active" } }),
  ]);
  const labelsOf = prompts.length === 0 ? new Map<string, Map<string, string>>() : await readLabels(stores, tenant);
  const headIds = (rows: readonly Head[]) =>
    rows.flatMap(({ versionId, latestVersionId }) => [versionId, latestVersionId]);
  const labelled = [...labelsOf.values()].flatMap((labels) => [...labels.values()]);
  const promptIds = [...new Set([...headIds(prompts), ...labelled])];
  const [promptVersions, partialVersions] = await Promise.all([
    stores.promptVersions.all(tenant, { where: { id: promptIds } }),
    stores.partialVersions.all(tenant, { where: { id: [...new Set(headIds(partials))] } }),
  ]);
  return {
    prompts: toVersioned(prompts, promptVersions, labelsOf),
    partials: toVersioned(partials, partialVersions, new Map()),
    findPromptVersion: createFinder((promptId, version) => stores.promptVersions.find(tenant, { promptId, version })),
    findPartialVersion: createFinder((partialId, version) =>
      stores.partialVersions.find(tenant, { partialId, version }),
    ),
  };
}
