import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { pageQuery } from "../core/record.ts";
import { readPage, readText, requireReferenced } from "../core/request.ts";
import { findCollection } from "./collections.ts";

// Prompts and partials: records in collections, whose versions are numbered from 1 without gaps.

/** Columns of a record that say which versions it has. */
interface VersionHead {
  version: number;
  versionId: string;
  latestVersion: number;
  latestVersionId: string;
}

/** The head of a new record. */
export const firstHead = (versionId: string): VersionHead => ({
  version: 1,
  versionId,
  latestVersion: 1,
  latestVersionId: versionId,
});

/** What a further version changes: it is the latest, and not the default yet. */
export const nextHead = (row: VersionHead, versionId: string): Omit<VersionHead, "version" | "versionId"> => ({
  latestVersion: row.latestVersion + 1,
  latestVersionId: versionId,
});

/** What makes a version the default. @throws {NotFoundError} AB02 if there is no such version. */
export function defaultHead<Version extends { id: string; version: number }>(version: Version | undefined) {
  const found = requireReferenced(version, "version");
  return { found, head: { version: found.version, versionId: found.id } };
}

/** Most versions of a page, and its default size: versions are long. */
const versionsOfPage = 100;

/** A page of versions: they are numbered without gaps, so it is a range of numbers. */
export function readVersionPage(
  { query }: AdminCall<unknown>,
  latestVersion: number,
): { column: "version"; from: number; to: number } {
  const page = readPage(query, { size: versionsOfPage, max: versionsOfPage });
  const to = Math.max(1, latestVersion - page.offset + 1);
  return { column: "version", from: Math.max(1, to - page.limit), to };
}

/** Versions, newest first. */
export function newestFirst<Version extends { version: number }>(rows: readonly Version[]): Version[] {
  return rows.toSorted((one, other) => other.version - one.version);
}

/** Query parameters of lists of versions. */
export const versionQuery = pageQuery(versionsOfPage, versionsOfPage);

/** The collection that a list is of. */
export const collectionQuery = [{ name: "collection_id", description: "One collection, by id or slug" }];

/** Selects the records of the collection that a query names; an unknown one has none. */
export async function inCollection(
  call: AdminCall<undefined>,
  tenant: Tenant,
): Promise<ListOptions<{ collectionId: string }>> {
  const named = readText(call.query, "collection_id");
  if (named === undefined) return {};
  return { where: { collectionId: (await findCollection(call, tenant, named))?.id ?? named } };
}
