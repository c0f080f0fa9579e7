import type { AlertEventRow } from "../../db/tables/alert-rules.ts";
import type { AlertMetric, Destination } from "../../schemas/alert-rules.ts";
import { type Mail, toLine } from "./messages.ts";

const metricWords: Readonly<Record<AlertMetric, string>> = {
  error_rate: "error rate",
  p95_latency: "p95 latency",
  spend_per_hour: "spend per hour",
  requests: "requests",
};

const rounded = (value: number): number => Number(value.toFixed(value < 1 ? 4 : 2));

function amountText(metric: AlertMetric, value: number): string {
  if (metric === "error_rate") return `${rounded(value)} %`;
  if (metric === "p95_latency") return `${Math.round(value)} ms`;
  return metric === "spend_per_hour" ? `$${rounded(value)}` : String(value);
}

/** What an event says, in one line. */
function toHeadline({ type, name, metric, value, threshold, requests, windowSeconds }: AlertEventRow): string {
  const title = toLine(name);
  if (type === "test") return `Test of the alert ${title}`;
  const amount = value === null ? "unknown" : amountText(metric, value);
  const bound = `${metric === "requests" ? "at least" : "below"} ${amountText(metric, threshold)}`;
  const of = metric === "requests" ? "" : ` of ${requests ?? 0} requests`;
  const state = type === "firing" ? "fires" : "is over";
  return `The alert ${title} ${state}: ${metricWords[metric]} ${amount}${of} in ${windowSeconds / 60} minutes, should be ${bound}`;
}

/** The body for webhooks. */
function toWebhookBody(row: AlertEventRow): object {
  return {
    object: "alert",
    // the same in every attempt
    id: row.id,
    type: row.type,
    rule: { id: row.ruleId, name: row.name },
    metric: row.metric,
    value: row.value,
    threshold: row.threshold,
    requests: row.requests,
    window_seconds: row.windowSeconds,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    message: toHeadline(row),
    at: new Date(row.createdAt).toISOString(),
  };
}

/** Foreign text in Slack's mrkdwn: https://docs.slack.dev/messaging/formatting-message-text/#escaping */
const toSlackText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** A card for a workflow of Teams: https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook */
function toCard(text: string): object {
  const body = [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }];
  const $schema = "http://adaptivecards.io/schemas/adaptive-card.json";
  const content = { $schema, type: "AdaptiveCard", version: "1.4", body };
  return { type: "message", attachments: [{ contentType: "application/vnd.microsoft.card.adaptive", content }] };
}

/** The body that a kind of address takes. */
export function toBody(row: AlertEventRow, type: Exclude<Destination["type"], "email">): object {
  if (type === "slack") return { text: toSlackText(toHeadline(row)) };
  return type === "teams" ? toCard(toHeadline(row)) : toWebhookBody(row);
}

/** The mail about an event. */
export function toRuleMail(row: AlertEventRow, to: readonly string[]): Mail {
  const text = [
    toHeadline(row),
    `Rule: ${row.ruleId}\nWorkspace: ${row.workspaceId}\nTime: ${new Date(row.createdAt).toISOString()}`,
  ];
  return { to, subject: toHeadline(row).slice(0, 200), text: `${text.join("\n\n")}\n` };
}
