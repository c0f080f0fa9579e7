import type { CallerContext } from "../context.ts";
import type { JsonValue } from "../db/tables/columns.ts";
import type { FeedbackRow } from "../db/tables/feedback.ts";
import { readJsonBody, requireBody } from "../endpoint/body.ts";
import { readRole } from "../endpoint/role.ts";
import { defineJsonEndpoint, defineKeyEndpoint, type Endpoint } from "../endpoint.ts";
import { jsonReply } from "../lib/reply.ts";
import { CreateFeedback, Feedback, FeedbackList, FeedbackReceipt, UpdateFeedback } from "../schemas/feedback.ts";
import { commitAudited } from "./core/audit-values.ts";
import { requireFound, requireId } from "./core/request.ts";
import { maxAdminBodyBytes } from "./core/serve.ts";

/** Longest name and value of metadata; the rest is cut off. */
const maxMetadataLength = 128;

function toMetadata(metadata: Readonly<Record<string, unknown>>): Record<string, JsonValue> {
  const pairs = Object.entries(metadata).map(([name, value]): [string, string] => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return [name.slice(0, maxMetadataLength), text.slice(0, maxMetadataLength)];
  });
  return Object.fromEntries(pairs);
}

/** A weight outside of 0 to 1 counts as none. */
const toWeight = (weight: number | null | undefined): number =>
  weight != null && weight >= 0 && weight <= 1 ? weight : 1;

/** The workspace of a caller: keys of an organisation may not give feedback. */
function tenantOf({ principal: { organisationId, workspaceId } }: CallerContext) {
  return { organisationId, workspaceId: workspaceId ?? "" };
}

const receipt = (message: string, ids: readonly string[]) =>
  jsonReply({ status: "success", message, feedback_ids: ids });

/** Reads one feedback or a list: a schema for either could not name the field that is wrong. */
async function readFeedback(context: CallerContext): Promise<Feedback[]> {
  const { value } = await readJsonBody(context, maxAdminBodyBytes, context.services);
  return Array.isArray(value) ? requireBody(FeedbackList, value) : [requireBody(Feedback, value)];
}

async function createFeedback(context: CallerContext) {
  const { principal, services } = context;
  const given = await readFeedback(context);
  const tenant = tenantOf(context);
  const rows = given.map(({ trace_id, value, weight, metadata }) => ({
    id: crypto.randomUUID(),
    ...tenant,
    apiKeyId: principal.keyId,
    traceId: trace_id,
    value,
    weight: toWeight(weight),
    metadata: toMetadata(metadata ?? {}),
    createdAt: services.clock.now(),
    lastUpdatedAt: 0,
  }));
  await services.feedback.add(tenant, rows);
  return receipt(
    "Feedback saved",
    rows.map(({ id }) => id),
  );
}

/**
 * The feedback that a caller may change: its own, or any of the workspace for its administrators.
 *
 * @throws {NotFoundError} For unknown ones and those of others alike.
 */
async function findFeedback(context: CallerContext): Promise<FeedbackRow> {
  const { principal, services } = context;
  const id = requireId(context.params, "id", "feedback");
  const found = requireFound(await services.feedback.find(tenantOf(context), id), "feedback");
  if (found.apiKeyId === principal.keyId) return found;
  const person = await readRole(context);
  const isAdmin = person !== undefined && (person.role === "admin" || person.role === "owner");
  return requireFound(isAdmin ? found : undefined, "feedback");
}

const audited = { resource: "feedback", action: "update", store: null };

/** What a rating says, as the audit log shows it. */
const shown = ({ value, weight, metadata }: Pick<FeedbackRow, "value" | "weight" | "metadata">) => ({
  value,
  weight,
  metadata,
});

async function updateFeedback({ value, weight, metadata }: UpdateFeedback, context: CallerContext) {
  const { clock, feedback } = context.services;
  const found = await findFeedback(context);
  const changes = { value, weight: toWeight(weight), lastUpdatedAt: clock.now() };
  const all = metadata ? { ...changes, metadata: toMetadata(metadata) } : changes;
  const { id, traceId } = found;
  await commitAudited(audited, context, async () => ({
    statements: [feedback.updating(tenantOf(context), id, all)],
    recordId: id,
    audited: { trace_id: traceId, former: shown(found), feedback: shown({ ...found, ...all }) },
  }));
  return receipt("Feedback updated", [id]);
}

const row = {
  tag: "Feedback",
  access: { keys: "workspace" as const, scopes: ["logs.write", "completions.write"] },
  errorForm: "admin" as const,
  response: FeedbackReceipt,
};

/** Endpoints of feedback. */
export const feedbackEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    ...row,
    method: "POST",
    path: "/v1/feedback",
    summary: "Rate traces",
    documentedBody: { schema: CreateFeedback, types: ["application/json"] },
    handle: createFeedback,
  }),
  defineJsonEndpoint({
    ...row,
    method: "PUT",
    path: "/v1/feedback/:id",
    summary: "Change a rating",
    body: UpdateFeedback,
    handle: ({ value }, context) => updateFeedback(value, context),
  }),
];
