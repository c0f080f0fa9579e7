import { createCallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { sessionIn } from "../../control/request-metadata.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import type { Budget } from "../../lib/budget.ts";
import { HeaderMap } from "../../lib/headers.ts";
import { withTime } from "../../lib/ids.ts";
import type { Metadata } from "../../lib/metadata.ts";
import { isSecretHeader } from "../../lib/secret-names.ts";
import { withoutScheme } from "../../lib/secret-values.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { costOfRequest } from "../call/cost.ts";
import { countUse } from "../call/limits.ts";
import { logCall } from "../call/log-sink.ts";
import { readView } from "../target/stored-provider.ts";

/** A request that the gateway did not make, as its caller reports it. */
export interface ReportedCall {
  readonly source: "custom" | "otel";
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly method: string;
  /** The address that was called. Credentials and query are not stored. */
  readonly url: string;
  /** Name of the operation, or of the source. */
  readonly operation: string;
  readonly status: number;
  readonly provider: string | null;
  readonly model: string | null;
  readonly answeredModel: string | null;
  readonly stream: boolean;
  readonly usage: LoggedUsage | null;
  /** Null: that of the reporting request. */
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly parentSpanId: string | null;
  readonly spanName: string | null;
  readonly metadata: Metadata;
  readonly request: ReportedSide;
  readonly response: ReportedSide;
  /** The failure, if it has one. */
  readonly error?: Error | undefined;
}

interface ReportedSide {
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: string | null;
}

/** Longest stored address. */
const maxUrl = 2_048;

/** An address without credentials, query and fragment, and its path. Text that is no address counts as a path. */
function readAddress(text: string): { url: URL; shown: string } {
  const url = URL.canParse(text) ? new URL(text) : new URL("http://reported");
  if (!URL.canParse(text)) url.pathname = text.replace(/[?#].*$/s, "").slice(0, maxUrl);
  for (const part of ["username", "password", "search", "hash"] as const) url[part] = "";
  return { url, shown: url.href.slice(0, maxUrl) };
}

/** An address as it is stored: without credentials, query and fragment. */
export function withoutQuery(address: string): string {
  return URL.canParse(address) ? readAddress(address).shown : address.replace(/[?#].*$/s, "");
}

/** The request that reports others, and its workspace. */
interface Reporting {
  readonly reporting: CallerContext;
  readonly view: WorkspaceView | undefined;
}

/** The reported request in the place of the one that reports it. */
function toContext(call: ReportedCall, { reporting, view }: Reporting): CallerContext {
  const { services } = reporting;
  const { source, operation, provider, model, answeredModel, stream, usage, durationMs, status, method } = call;
  const { url, shown } = readAddress(call.url);
  const log = createCallRecord();
  Object.assign(log, { source, operation, provider, model, requestedModel: model, answeredModel, stream, usage });
  for (const [name, value] of Object.entries({ ...call.request.headers, ...call.response.headers })) {
    if (isSecretHeader(name)) log.secrets.push(withoutScheme(value));
  }
  log.requestBody = call.request.body;
  log.responseBody = call.response.body;
  log.calls.push({
    provider: provider ?? "",
    model,
    url: shown,
    startedAt: 0,
    firstByteAt: null,
    endedAt: durationMs,
    status,
    error: null,
  });
  const id = withTime(services.createId(), call.startedAt);
  // a request without an id of its trace starts one, and so does each row it reports
  const traceId = reporting.traceId === reporting.id ? id : reporting.traceId;
  return {
    ...reporting,
    id,
    traceId: call.traceId ?? traceId,
    spanId: call.spanId,
    parentSpanId: call.parentSpanId,
    spanName: call.spanName,
    sessionId: sessionIn(call.metadata, view) ?? reporting.sessionId,
    method,
    url,
    startedAt: 0,
    headers: new HeaderMap(new Headers(call.request.headers)),
    metadata: { ...call.metadata, ...reporting.metadata },
    log,
  };
}

/** A row that is ready. */
interface ReadyRow {
  /** Writes it; returns its id. */
  write(): string;
  /** Takes back what it counted. */
  undo(): Promise<void>;
}

/** Makes a row, and counts it if it counts. */
async function prepareRow(call: ReportedCall, by: Reporting): Promise<ReadyRow> {
  const { reporting } = by;
  const context = toContext(call, by);
  const { log } = context;
  const { status } = call;
  let undo = async () => {};
  // a reported GET of an unknown operation would count as a record that is read
  Object.assign(log, costOfRequest({ ...context, method: "POST" }, status));
  if (reporting.header("override-service-log-usage")?.toLowerCase() === "true") {
    const used = { requests: 1, tokens: log.usage?.total_tokens ?? 0, cost: log.cost ?? 0 };
    const provider = { slug: call.provider ?? "", models: { canonical: (model: string) => model } };
    const { counted, undo: takeBack } = await countUse({ provider }, used, context);
    log.counted.push(...counted);
    undo = takeBack;
  }
  const write = () => {
    logCall({ context, status, responseHeaders: call.response.headers, endedAt: call.durationMs, error: call.error });
    return context.id;
  };
  return { write, undo };
}

/** Steps to make or to write a row without its bodies. */
const stepsPerRow = 2_500;
/** Characters of bodies that are counted or copied in one step. */
const charactersPerStep = 50;

const costOf = ({ request, response }: ReportedCall) =>
  stepsPerRow + Math.ceil(((request.body?.length ?? 0) + (response.body?.length ?? 0)) / charactersPerStep);

/**
 * Writes rows of reported requests, all or none. They count toward limits only if the reporting request asks for it with
 * `x-gateway-override-service-log-usage: true`.
 *
 * @returns The ids of the rows.
 * @throws {InvalidRequestError} 400 if they count, and a limit depends on a model that one of them does not name clearly.
 */
export async function writeReported(
  calls: readonly ReportedCall[],
  reporting: CallerContext,
  budget: Budget,
): Promise<string[]> {
  const ready: ReadyRow[] = [];
  const view = reporting.principal.workspaceId === null ? undefined : await readView(reporting);
  try {
    for (const call of calls) {
      ready.push(await prepareRow(call, { reporting, view }));
      budget.step(costOf(call));
      await budget.pause();
    }
  } catch (error) {
    for (const { undo } of ready) await undo();
    throw error;
  }
  const ids: string[] = [];
  for (const { write } of ready) {
    ids.push(write());
    budget.step(stepsPerRow);
    await budget.pause();
  }
  return ids;
}

/** Rows may be reported this long after their request, and clocks may differ this much, in milliseconds. */
const oldestMs = 7 * 86_400_000;
const aheadMs = 5 * 60_000;

/** The start of a reported request, or now where the reported time cannot be right. Unix milliseconds. */
export function plausibleStart(time: number, now: number): number {
  return time >= now - oldestMs && time <= now + aheadMs ? Math.floor(time) : now;
}
