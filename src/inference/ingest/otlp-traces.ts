import type { CallerContext } from "../../context.ts";
import { isJsonType, readPlainBody } from "../../endpoint.ts";
import { InvalidRequestError, toGatewayError, UnsupportedMediaError } from "../../errors.ts";
import { decodeUtf8, findJsonExcess, isObject, objectsIn } from "../../lib/json.ts";
import { bytesField, numberField, ProtobufError } from "../../lib/protobuf.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { toReported } from "./gen-ai-span.ts";
import { readExportRequest } from "./otlp-protobuf.ts";
import { type ReportedCall, writeReported } from "./reported-row.ts";

/** Most spans of one request. */
const maxSpans = 2_048;
const protobufType = "application/x-protobuf";

/** @throws {InvalidRequestError} 400 */
function refuse(problem: string, cause?: unknown): never {
  throw new InvalidRequestError(`Cannot read the traces: ${problem}`, { code: "invalid_body", cause });
}

function readJson(bytes: Uint8Array): unknown {
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) refuse(`the body has ${excess}`);
  try {
    return JSON.parse(decodeUtf8(bytes));
  } catch (cause) {
    return refuse("the body is not valid JSON", cause);
  }
}

function readProtobuf(bytes: Uint8Array): unknown {
  try {
    return readExportRequest(bytes);
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    return refuse(cause.message, cause);
  }
}

/** The spans of an export request, each with its resource. */
function listSpans(body: unknown): { span: Record<string, unknown>; resource: unknown }[] {
  if (!isObject(body) || (body.resourceSpans !== undefined && !Array.isArray(body.resourceSpans))) {
    refuse("resourceSpans must be a list");
  }
  return objectsIn(body.resourceSpans).flatMap(({ resource, scopeSpans }) =>
    objectsIn(scopeSpans).flatMap(({ spans }) => objectsIn(spans).map((span) => ({ span, resource }))),
  );
}

/** What became of the spans of a request. */
interface Outcome {
  readonly rejected: number;
  readonly message: string;
}

/** Writes a row for each span. */
async function writeSpans(body: unknown, context: CallerContext): Promise<Outcome> {
  const spans = listSpans(body);
  const now = context.services.clock.now();
  const taken = spans.slice(0, maxSpans);
  const calls: ReportedCall[] = [];
  for (const { span, resource } of taken) {
    const call = toReported(span, resource, now);
    if (call) calls.push(call);
  }
  await writeReported(calls, context);
  const invalid = taken.length - calls.length;
  const beyond = spans.length - taken.length;
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
    return toReply(await writeSpans(isProtobuf ? readProtobuf(bytes) : readJson(bytes), context), isProtobuf);
  };
  return isProtobuf ? read().catch(toProtobufError) : read();
}
