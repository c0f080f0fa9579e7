import type { LimitAlertRow } from "../../db/tables/limits.ts";
import { ConflictError } from "../../errors.ts";
import type { BudgetHolder } from "../../policies/limit-store.ts";
import type { LimitEvent } from "../../policies/limit-watch.ts";
import { endOf, startOf } from "../../policies/windows.ts";
import type { AuditDraft } from "../audit-chain.ts";
import { toAlertBody } from "./messages.ts";
import type { AlertParts } from "./parts.ts";

/** What recording needs. */
type RecordParts = Pick<AlertParts, "committer" | "store" | "stores">;

/** Kinds of record in the audit log. */
const auditedAs: Readonly<Record<BudgetHolder["kind"], string>> = {
  api_key: "api_keys",
  workspace: "workspaces",
  provider: "providers",
  integration: "integrations",
  model_alias: "model_aliases",
  policy: "usage_limit_policies",
};

/** The workspace of the record that has the budget: that of a key is read, since tokens look the same. */
async function workspaceOf({ limit, budget: { holder } }: LimitEvent, { stores }: RecordParts): Promise<string | null> {
  if (holder.kind !== "api_key" || holder.workspaceId !== null) return holder.workspaceId;
  const tenant = { organisationId: limit.organisationId, workspaceId: null };
  return (await stores.apiKeys.find(tenant, { id: holder.id }))?.workspaceId ?? null;
}

function toRow(
  { limit, budget, bucket, span, kind, bound, used, at }: LimitEvent,
  workspaceId: string | null,
): LimitAlertRow {
  const { id: limitId, organisationId, counts, most, alertAt } = limit;
  return {
    organisationId,
    limitId,
    bucket,
    windowStart: startOf(span),
    kind,
    bound,
    id: crypto.randomUUID(),
    budgetId: budget.id,
    holderKind: budget.holder.kind,
    holderId: budget.holder.id,
    workspaceId,
    counts,
    used,
    most,
    alertAt,
    windowEnd: endOf(span),
    at,
    webhookSentAt: null,
    mailSentAt: null,
    attempts: 0,
    nextAttemptAt: at,
  };
}

function toAudit(row: LimitAlertRow, { budget: { holder } }: LimitEvent): AuditDraft {
  return {
    time: row.at,
    requestId: "",
    method: "",
    uri: "",
    queryParams: "{}",
    requestHeaders: "{}",
    requestBody: JSON.stringify(toAlertBody(row)),
    userId: "gateway",
    userType: "system",
    workspaceId: row.workspaceId,
    resourceType: auditedAs[holder.kind],
    resourceId: holder.id,
    action: `alert_${row.kind}`,
    responseStatusCode: 200,
    clientIp: "",
    country: null,
  };
}

/**
 * Records an event with its audit row, in one transaction.
 *
 * @returns The row, or undefined if the event is recorded already, by this process or another.
 * @throws If the database is away.
 */
export async function recordEvent(event: LimitEvent, parts: RecordParts): Promise<LimitAlertRow | undefined> {
  const { store, committer } = parts;
  const row = toRow(event, null);
  if (await store.has(row)) return undefined;
  row.workspaceId = await workspaceOf(event, parts);
  try {
    const effect = { statements: [store.insert(row)], audit: toAudit(row, event) };
    await committer.run(row.organisationId, async () => effect);
    return row;
  } catch (error) {
    if (error instanceof ConflictError) return undefined;
    throw error;
  }
}
