import type { CallerContext } from "../../context.ts";
import { isJsonType, readPlainBody } from "../../endpoint/body.ts";
import { InvalidRequestError, toGatewayError, UnsupportedMediaError } from "../../errors.ts";
import { Budget } from "../../lib/budget.ts";
import { isObject, objectsIn } from "../../lib/json.ts";
import { bytesField, numberField, ProtobufError } from "../../lib/protobuf.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { turns } from "../../lib/turns.ts";
import { readResource, toReported } from "./gen-ai-span.ts";
import { type ReadExport, readExportRequest } from "./otlp-protobuf.ts";
import { type ReportedCall, writeReported } from "./reported-row.ts";
import { createUnpackBudget } from "./unpack.ts";

/** Most spans of one request. */
const maxSpans = 2_048;
const protobufType = "application/x-protobuf";

/** @throws {InvalidRequestError} 400 */
function refuseTraces(problem: string, cause?: unknown): never {
  throw new InvalidRequestError(`Cannot read the traces: ${problem}`, { code: "invalid_body", cause });
}

async function readJson(bytes: Uint8Array, budget: Budget): Promise<ReadExport> {
  try {
    const request = await turns.run(() => budget.json(bytes));
    if (isObject(request)) return { request, beyond: 0 };
  } catch (cause) {
    if (cause instanceof SyntaxError || cause instanceof TypeError) refuseTraces("the body is not valid JSON", cause);
    throw cause;
  }
  return refuseTraces("the body is not a JSON object");
}

async function readProtobuf(bytes: Uint8Array, budget: Budget): Promise<ReadExport> {
  try {
    return await budget.run(readExportRequest(bytes, budget, maxSpans));
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    return refuseTraces(cause.message, cause);
  }
}

/** A span with its resource. */
interface ListedSpan {
  readonly span: Record<string, unknown>;
  readonly resource: unknown;
}

/** The spans of an export request, up to the limit, and how many lie beyond it. */
function listSpans({ request, beyond }: ReadExport): { spans: ListedSpan[]; beyond: number } {
  if (request.resourceSpans !== undefined && !Array.isArray(request.resourceSpans)) {
    refuseTraces("resourceSpans must be a list");
  }
  const listed: ListedSpan[] = [];
  let further = beyond;
  for (const { resource, scopeSpans } of objectsIn(request.resourceSpans)) {
    for (const { spans } of objectsIn(scopeSpans)) {
      for (const span of objectsIn(spans)) {
        if (listed.length < maxSpans) listed.push({ span, resource });
        else further++;
      }
    }
  }
  return { spans: listed, beyond: further };
}

/** What became of the spans of a request. */
interface Outcome {
  readonly rejected: number;
  readonly message: string;
}

/** Steps that one span takes without its strings. */
const stepsPerSpan = 1_000;

/** Writes a row for each span. */
async function writeSpans(read: ReadExport, context: CallerContext): Promise<Outcome> {
  const { services } = context;
  const budget = createUnpackBudget(services.limits.jsonBodyBytes);
  const { spans, beyond } = listSpans(read);
  const tools = { now: services.clock.now(), budget };
  const resources = new Map<unknown, ReturnType<typeof readResource>>();
  const calls: ReportedCall[] = [];
  for (const { span, resource } of spans) {
    const shown = resources.get(resource) ?? readResource(resource);
    resources.set(resource, shown);
    const call = toReported(span, shown, tools);
    if (call) calls.push(call);
    budget.step(stepsPerSpan);
    await budget.pause();
  }
  await writeReported(calls, context, budget);
  const invalid = spans.length - calls.length;
  const problems = [
    invalid > 0 ? `${invalid} spans have no valid trace id and span id` : "",
    beyond > 0 ? `a request may have at most ${maxSpans} spans` : "",
  ];
  return { rejected: invalid + beyond, message: problems.filter((problem) => problem !== "").join("; ") };
}

/** A response in the encoding of the request (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). */
function toReply({ rejected, message }: Outcome, isProtobuf: boolean): Reply {
  if (!isProtobuf) {
    return jsonReply(
      rejected === 0 ? {} : { partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } },
    );
  }
  const partial = rejected === 0 ? [] : bytesField(1, [...numberField(1, rejected), ...bytesField(2, message)]);
  return { status: 200, headers: { "content-type": protobufType }, body: Uint8Array.from(partial) };
}

/** Codes of `google.rpc.Code` by HTTP status. */
const rpcCodes: Readonly<Record<number, number>> = { 400: 3, 408: 4, 412: 9, 413: 3, 415: 3, 429: 8, 503: 14 };

/** An error as `google.rpc.Status`. */
function toProtobufError(thrown: unknown): Reply {
  const { status, message, headers } = toGatewayError(thrown);
  const body = [...numberField(1, rpcCodes[status] ?? (status < 500 ? 3 : 13)), ...bytesField(2, message)];
  return { status, headers: { ...headers, "content-type": protobufType }, body: Uint8Array.from(body) };
}

/** Takes traces over OTLP: a row for each span. */
export async function takeTraces(context: CallerContext): Promise<Reply> {
  const { services, headers } = context;
  const type = headers.get("content-type") ?? "application/json";
  const isProtobuf = /^application\/x-protobuf\s*(?:;|$)/i.test(type);
  if (!isProtobuf && !isJsonType(type)) {
    throw new UnsupportedMediaError(`Invalid content type passed: send application/json or ${protobufType}`, {
      code: "invalid_content_type",
      param: "content-type",
    });
  }
  const read = async () => {
    const bytes = await readPlainBody(context, services.limits.jsonBodyBytes, services);
    const budget = new Budget({ source: "caller", what: "the traces", bytes: services.limits.jsonBodyBytes });
    const exported = await (isProtobuf ? readProtobuf(bytes, budget) : readJson(bytes, budget));
    return toReply(await writeSpans(exported, context), isProtobuf);
  };
  return isProtobuf ? read().catch(toProtobufError) : read();
}
