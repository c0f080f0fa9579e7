import type { AuditHead, AuditStore } from "../db/stores/audit.ts";
import type { Mac } from "../lib/hash.ts";
import { findBreak } from "./audit-chain.ts";

/** Rows read at once. */
const pageRows = 500;
/** Below every number a row can have, the ones no row should have too. */
const beforeAll = Number.MIN_SAFE_INTEGER;

/** How a chain is checked. */
interface VerifyOptions {
  mac: Mac;
  /** A row that was told before: the chain must hold it, with this mac. */
  head?: AuditHead | undefined;
}

/** What is wrong with a row besides its place in the chain. */
function findHeadBreak(row: AuditHead, head: AuditHead | undefined): string | undefined {
  return head?.seq === row.seq && head.mac !== row.mac
    ? `row ${row.seq} is not the one the given mac is of`
    : undefined;
}

/**
 * What is wrong with the first broken row of an organisation's audit log; undefined when nothing is. Rows cut off at the
 * end leave no trace in what remains: only a `head` that was kept elsewhere shows that.
 */
export async function verifyChain(
  { walk }: Pick<AuditStore, "walk">,
  organisationId: string,
  { mac, head }: VerifyOptions,
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
  if (!head || head.seq <= previous.seq) return undefined;
  return `row ${previous.seq + 1} is missing: row ${head.seq} was written, the log ends before it`;
}

/** A log that is broken. */
export interface BrokenLog {
  /** Undefined when a row names something that is no id. */
  organisationId: string | undefined;
  problem: string;
}

/** The first broken row of every organisation's audit log. */
export async function verifyLogs(
  audit: Pick<AuditStore, "walk" | "organisations">,
  options: Pick<VerifyOptions, "mac">,
): Promise<BrokenLog[]> {
  const broken: BrokenLog[] = [];
  for (const organisationId of await audit.organisations()) {
    const problem =
      organisationId === undefined
        ? "a row names an organisation there cannot be"
        : await verifyChain(audit, organisationId, options);
    if (problem !== undefined) broken.push({ organisationId, problem });
  }
  return broken;
}
