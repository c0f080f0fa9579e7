import type { InStatement } from "@libsql/client";
import { noDefaults, type Principal } from "../../auth/principal.ts";
import { createOwnRequest } from "../../context/own-request.ts";
import { type CallerContext, createRequestContext, type Services, withCaller } from "../../context.ts";
import type { GatewayBatchRow } from "../../db/tables/batches.ts";
import { GatewayError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { packRecords } from "../../logs/pack.ts";
import { sealBatch } from "../../logs/seal.ts";
import { withAllCounts } from "../../logs/usage.ts";
import { collectBatch, type LimitIncrement, type LoggedUsage } from "../../schemas/logs.ts";
import { countUse } from "../call/limits.ts";
import { toDetails } from "../call/log-sink.ts";
import type { NamedProvider } from "../call/named-models.ts";
import { addHookResults } from "../facts/hook-results.ts";
import { depthOf } from "../facts/log-privacy.ts";
import { settleMetadata } from "../target/caller-metadata.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, readLeafDestination } from "../target/config-target.ts";
import { batchOperations } from "./lines.ts";
import { openOptions } from "./options.ts";

/** What the last step of a batch writes for limits and the log. */
interface Settlement {
  readonly statements: readonly InStatement[];
  /** Takes back what was counted, if the step was not written. */
  undo(): Promise<void>;
}

/** A request can be made of the gateway that runs a batch. */
type OfGateway = Pick<CallerContext, "services">;

const nothing: Settlement = { statements: [], undo: async () => {} };

/** The key of a batch as it is now; one that can no longer be used still names the row. */
async function findPrincipal(
  row: GatewayBatchRow,
  { authenticator }: Pick<Services, "authenticator">,
): Promise<Principal> {
  const { apiKeyId: keyId, organisationId, workspaceId } = row;
  const found = await authenticator.ofKey(keyId);
  if (found?.workspaceId === workspaceId) return found;
  const kind = "workspace-service";
  return { keyId, kind, organisationId, workspaceId, userId: null, scopes: new Set(), defaults: noDefaults };
}

/** A request of the batch's key with the batch's headers, which is not sent. */
async function createContext(row: GatewayBatchRow, { services }: OfGateway): Promise<CallerContext> {
  const options = await openOptions(row, services);
  const headers = { "x-gateway-trace-id": row.id, ...options };
  const { signal } = new AbortController();
  const request = createOwnRequest(`/v1/batches/${row.id}`, { headers, signal });
  const ids = { id: services.createId(), startedAt: services.clock.monotonic(), services };
  return withCaller(createRequestContext(request, {}, ids), await findPrincipal(row, services), {
    gatewayKey: `acting-for-${crypto.randomUUID()}`,
    providerCredential: options.authorization?.replace(/^bearer\s+/i, "").trim(),
    providerAuthorization: undefined,
  });
}

/** The provider of a batch. One that is gone names its models as they are. */
async function findProvider(row: GatewayBatchRow, context: CallerContext): Promise<NamedProvider> {
  const { log } = context;
  const slug = row.provider ?? "";
  try {
    const { node, slug: configSlug } = await readRequestConfig(context);
    log.configSlug = configSlug;
    const leaf = listLeaves(node)[0] ?? node;
    const { provider } = await readLeafDestination({ node: leaf, settings: leaf.merged, model: undefined }, context);
    return provider;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status >= 500) throw error;
    return { slug, models: { canonical: (model) => model } };
  } finally {
    log.provider = slug;
  }
}

/** Tokens of all results, as log rows have them. */
function usageOf({ usage }: GatewayBatchRow): LoggedUsage | null {
  if (!isObject(usage)) return null;
  const count = (name: string) => (typeof usage[name] === "number" ? usage[name] : 0);
  const [input, output] = [count("input"), count("output")];
  return withAllCounts({
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cached_tokens: count("cached"),
    reasoning_tokens: count("reasoning"),
  });
}

/** What the results of a batch add to counters of limits: each line is a request. */
async function countResults(row: GatewayBatchRow, context: CallerContext) {
  const { log } = context;
  await settleMetadata(context);
  const provider = await findProvider(row, context);
  log.operation = batchOperations[row.endpoint] ?? "";
  log.model = row.model;
  log.requestedModel = row.model;
  const used = {
    requests: row.completed + row.failed,
    tokens: usageOf(row)?.total_tokens ?? 0,
    cost: row.cost ?? 0,
  };
  return countUse({ provider }, used, context);
}

/** The statements that store the row of a collected batch, and what it adds to counters. */
async function toStatements(
  row: GatewayBatchRow,
  counted: readonly LimitIncrement[],
  context: CallerContext,
): Promise<InStatement[]> {
  const { log, services } = context;
  Object.assign(log, { operation: collectBatch, usage: usageOf(row), cost: row.cost });
  const ended = { context, status: 200, responseHeaders: {}, endedAt: services.clock.monotonic() };
  const details = toDetails(ended);
  addHookResults(details, log.hooks, (await depthOf(context)) === "all");
  const record = { details, content: null, counted, secrets: log.secrets };
  const packed = await packRecords([record], services.redactor);
  return services.logStore.toStatements(packed.map((batch) => sealBatch(batch, services.redactor)));
}

/**
 * Counts what the provider of a batch ran toward the limits of its key, once: the statements belong to the transaction
 * that ends the batch. They also store a log row with the cost. Batches without results leave none.
 */
export async function settleCollected(row: GatewayBatchRow, gateway: OfGateway): Promise<Settlement> {
  if (row.providerBatchId === null || row.completed + row.failed === 0) return nothing;
  const context = await createContext(row, gateway);
  const { counted, undo } = await countResults(row, context);
  try {
    return { statements: await toStatements(row, counted, context), undo };
  } catch (error) {
    await undo();
    throw error;
  }
}
