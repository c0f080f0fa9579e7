import type { AuditHead, AuditStore } from "../db/stores/audit.ts";
import type { Mac } from "../lib/hash.ts";
import { findBreak } from "./audit-chain.ts";

/** Rows read at once. */
const pageRows = 500;
/** Below every number that a row can have, valid or not. */
const beforeAll = Number.MIN_SAFE_INTEGER;

/** Options of a verification. */
interface VerifyOptions {
  mac: Mac;
  /** A row recorded elsewhere: the chain must contain it, with this MAC. */
  head?: AuditHead | undefined;
  /** Whether an organisation has users: how they came is in its log. */
  hasUsers(organisationId: string): Promise<boolean>;
}

/** Why a log without any row is not whole; undefined if it may be. */
async function findEmptyBreak(organisationId: string, { hasUsers }: Pick<VerifyOptions, "hasUsers">) {
  return (await hasUsers(organisationId))
    ? "it has no row, and the organisation has users: rows were removed"
    : undefined;
}

/** Whether a row contradicts the recorded one. */
function findHeadBreak(row: AuditHead, head: AuditHead | undefined): string | undefined {
  return head?.seq === row.seq && head.mac !== row.mac ? `row ${row.seq} does not have the given MAC` : undefined;
}

/**
 * Describes the first broken row of an organisation's audit log; undefined if the log is intact. Removing rows at the
 * end leaves no trace in the rest: only a `head` that was recorded elsewhere reveals it.
 */
export async function verifyChain(
  { walk }: Pick<AuditStore, "walk">,
  organisationId: string,
  { mac, head, hasUsers }: VerifyOptions,
): Promise<string | undefined> {
  let previous: AuditHead = { seq: 0, mac: "" };
  for (let after = beforeAll; ; after = previous.seq) {
    const rows = await walk(organisationId, after, pageRows);
    for (const row of rows) {
      if (!row) return `row ${previous.seq + 1} was changed`;
      const problem = (await findBreak(row, previous, mac)) ?? findHeadBreak(row, head);
      if (problem !== undefined) return problem;
      previous = { seq: row.seq, mac: row.mac };
    }
    if (rows.length === 0) break;
  }
  if (previous.seq === 0 && !head) return findEmptyBreak(organisationId, { hasUsers });
  if (!head || head.seq <= previous.seq) return undefined;
  return `row ${previous.seq + 1} is missing: row ${head.seq} was written, the log ends before it`;
}

/** What the verification of a part of a log found. */
export interface VerifiedPart {
  /** The first broken row; undefined if the part is intact. */
  problem: string | undefined;
  /** Rows that were checked. */
  checked: number;
  /** The last checked row: the next part begins after it. */
  last: AuditHead;
  /** Whether there may be rows after it. */
  hasMore: boolean;
}

/**
 * Verifies at most 500 rows of an organisation's log, so that a log of any length is verified in short steps.
 *
 * @param after The last row of the part before, as it was returned; number 0 for the first part.
 */
export async function verifyPart(
  { walk }: Pick<AuditStore, "walk">,
  organisationId: string,
  { mac, after, hasUsers }: Pick<VerifyOptions, "mac" | "hasUsers"> & { after: AuditHead },
): Promise<VerifiedPart> {
  const rows = await walk(organisationId, after.seq === 0 ? beforeAll : after.seq, pageRows);
  let last = after;
  for (const [checked, row] of rows.entries()) {
    const problem = row ? await findBreak(row, last, mac) : `row ${last.seq + 1} was changed`;
    if (problem !== undefined || !row) return { problem, checked, last, hasMore: false };
    last = { seq: row.seq, mac: row.mac };
  }
  const isEmpty = rows.length === 0 && after.seq === 0;
  const problem = isEmpty ? await findEmptyBreak(organisationId, { hasUsers }) : undefined;
  return { problem, checked: rows.length, last, hasMore: rows.length === pageRows };
}

/** A broken log. */
export interface BrokenLog {
  /** Undefined when a row's organisation is not an id. */
  organisationId: string | undefined;
  problem: string;
}

/**
 * The first broken row of every organisation's audit log.
 *
 * @param known Ids of the organisations that there are; those of the rows are verified too.
 */
export async function verifyLogs(
  audit: Pick<AuditStore, "walk" | "organisations">,
  known: readonly string[],
  options: Pick<VerifyOptions, "mac" | "hasUsers">,
): Promise<BrokenLog[]> {
  const broken: BrokenLog[] = [];
  for (const organisationId of new Set([...(await audit.organisations()), ...known])) {
    const problem =
      organisationId === undefined
        ? "a row names an impossible organisation"
        : await verifyChain(audit, organisationId, options);
    if (problem !== undefined) broken.push({ organisationId, problem });
  }
  return broken;
}
