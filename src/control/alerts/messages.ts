import type { LimitAlertRow } from "../../db/tables/limits.ts";
import { toShownUse } from "../../policies/applied.ts";
import type { BudgetHolder, Counted } from "../../policies/limit-store.ts";
import type { AlertKind } from "../../policies/limit-watch.ts";

/** A plain mail. */
export interface Mail {
  to: readonly string[];
  subject: string;
  text: string;
}

/**
 * Sends a mail, and returns the number of addresses that the server refused. Rejects if it refused all of them, or when the
 * signal aborts.
 */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<number>;

/** An alert as webhooks, audit rows and the process log show it. */
export interface AlertBody {
  object: "limit_alert";
  /** The same in every delivery of the alert. */
  id: string;
  type: AlertKind;
  limit_id: string;
  /** `name` where it was looked up. */
  holder: { type: BudgetHolder["kind"]; id: string; name?: string | null };
  bucket: string;
  counts: Counted;
  /** US dollars, tokens or requests, like the next two. */
  used: number;
  limit: number;
  threshold: number | null;
  /** ISO 8601; null for budgets that never reset. */
  window_start: string | null;
  window_end: string | null;
  organisation_id: string;
  workspace_id: string | null;
  at: string;
}

/** Only alerts with these values are written. */
const kindOf = ({ kind }: LimitAlertRow) => kind as AlertKind;
const countsOf = ({ counts }: LimitAlertRow) => counts as Counted;
const holderKindOf = ({ holderKind }: LimitAlertRow) => holderKind as BudgetHolder["kind"]; // as above

const toIso = (time: number): string => new Date(time).toISOString();

/**
 * An alert as it is shown.
 *
 * @param name Name of the record that has the budget; null where it has none.
 */
export function toAlertBody(row: LimitAlertRow, name?: string | null): AlertBody {
  const { windowEnd, alertAt } = row;
  const counts = countsOf(row);
  const shown = (amount: number) => toShownUse({ counts }, amount);
  return {
    object: "limit_alert",
    id: row.id,
    type: kindOf(row),
    limit_id: row.budgetId,
    holder: { type: holderKindOf(row), id: row.holderId, ...(name !== undefined && { name }) },
    bucket: row.bucket,
    counts,
    used: shown(row.used),
    limit: shown(row.most),
    threshold: alertAt === null ? null : shown(alertAt),
    window_start: windowEnd === null ? null : toIso(row.windowStart),
    window_end: windowEnd === null ? null : toIso(windowEnd),
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    at: toIso(row.at),
  };
}

/** Most characters of a name or of the values of a bucket in a mail. */
const mostShown = 200;
/** Most alerts that a mail describes. */
const mostDescribed = 50;

/** Foreign text on one line: without control characters, and without those that change the direction of text. */
export function toLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g, " ").trim();
  return line.length > mostShown ? `${line.slice(0, mostShown).toWellFormed()}...` : line;
}

const holderWords: Readonly<Record<BudgetHolder["kind"], string>> = {
  api_key: "API key",
  workspace: "workspace",
  provider: "provider",
  integration: "integration",
  model_alias: "model alias",
  policy: "policy",
};

const holderText = ({ holder }: AlertBody): string => `${holderWords[holder.type]} ${toLine(holder.name ?? holder.id)}`;

const amountText = (amount: number, counts: Counted): string =>
  counts === "cost" ? `$${Number(amount.toFixed(4))}` : `${amount} ${counts}`;

/** What an alert says, in one line. */
function headline(alert: AlertBody): string {
  const { type, counts, limit, threshold } = alert;
  if (type === "exhausted") return `The budget of ${holderText(alert)} is used up: ${amountText(limit, counts)}`;
  const [at, of] = [amountText(threshold ?? limit, counts), amountText(limit, counts)];
  return `The budget of ${holderText(alert)} has reached its threshold: ${at} of ${of}`;
}

function describe(alert: AlertBody): string {
  const { counts, used, holder, window_start: start, window_end: end } = alert;
  const lines = [
    headline(alert),
    `  Used: ${amountText(used, counts)}`,
    ...(holder.type === "policy" ? [`  For: ${toLine(alert.bucket)}`] : []),
    ...(start === null ? [] : [`  Period: ${start} to ${end}`]),
    `  Budget: ${alert.limit_id}`,
    ...(alert.workspace_id === null ? [] : [`  Workspace: ${alert.workspace_id}`]),
    `  Time: ${alert.at}`,
  ];
  return lines.join("\n");
}

/** The mail about some alerts of an organisation; at least one. */
export function toMail(alerts: readonly AlertBody[], organisation: string, to: readonly string[]): Mail {
  const [first, ...others] = alerts;
  if (!first) throw new TypeError("Cannot write a mail about nothing");
  const shown = alerts.slice(0, mostDescribed).map(describe);
  const left = alerts.length - shown.length;
  const more = left > 0 ? [`${left} more alerts are in the audit log.`] : [];
  const subject = others.length === 0 ? headline(first) : `${alerts.length} alerts of budgets`;
  const text = [`Organisation: ${toLine(organisation)}`, ...shown, ...more].join("\n\n");
  return { to, subject, text: `${text}\n` };
}
