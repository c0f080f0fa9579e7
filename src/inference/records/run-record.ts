import type { CallerContext } from "../../context.ts";
import { readJsonBody } from "../../endpoint/body.ts";
import { ConflictError, InvalidRequestError, NotFoundError } from "../../errors.ts";
import { countBytes, readChunks, uploadTimes } from "../../lib/body.ts";
import { type ExactValue, parseExactBytes } from "../../lib/exact-numbers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { LineCutter } from "../../lib/line-cutter.ts";
import { readLines } from "../../lib/lines.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import {
  type OutputRules,
  optionOf,
  type RecordAdapters,
  type RecordCall,
  type RecordRequest,
  type RecordRoute,
} from "../../providers/core/records.ts";
import { timesOf } from "../call/attempt.ts";
import { LineUse, settleDirectBatch } from "../call/direct-batch.ts";
import { forwardedKind } from "../facts/request-types.ts";
import { withinRequest } from "../guard/request-deadline.ts";
import { RequestGuard } from "../guard/request-guard.ts";
import { requireForwardable, requireSingleTarget, runPassthrough } from "../passthrough/passthrough.ts";
import { planRequest, runPlan } from "../pipeline/run.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { readLeafDestination } from "../target/config-target.ts";
import { requireKeyModels } from "../target/key-models.ts";
import { requireModel } from "../target/model-list.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { checkRows } from "./checked-rows.ts";
import { downloadObject, requireObject, showObject, streamReply, uploadObject } from "./objects.ts";
import {
  convertRecord,
  parseRecord,
  type RecordSend,
  type RecordTarget,
  readRecord,
  recordReply,
  sendRecord,
} from "./send.ts";
import { uploadForm } from "./upload.ts";

/** Longest line of an output. */
const maxRowBytes = 64 * 1024 * 1024;

/** @throws {InvalidRequestError} 400: the provider lacks the route. */
export function refuseRoute(route: RecordRoute, { provider }: Destination): never {
  throw new InvalidRequestError(`Cannot call ${route} on ${provider.slug}: this provider does not have it`, {
    code: "unsupported_endpoint",
  });
}

/** Routes that need no provider call where the provider's files are objects of a store. */
const objectRoutes: ReadonlySet<RecordRoute> = new Set(["uploadFile", "retrieveFile", "retrieveFileContent"]);

/** The client's body as a bounded stream. */
function passedBody({ context }: RecordTarget): Pick<RecordSend, "headersOfBody" | "body"> {
  const { body } = context.request;
  const type = context.headers.get("content-type");
  const length = context.headers.get("content-length");
  return {
    ...(body && { body: countBytes(body, { bytes: context.services.limits.streamedBodyBytes, ...uploadTimes }) }),
    headersOfBody: {
      ...(type !== undefined && { "content-type": type }),
      ...(length !== undefined && { "content-length": length }),
    },
  };
}

/** Makes a mapped call, and the one after it. */
async function callMapped(call: RecordCall, request: RecordRequest, target: RecordTarget): Promise<Reply> {
  const { method = "GET", headers } = call;
  const body = call.toUpstream && JSON.stringify(call.toUpstream(request));
  const sent = {
    method,
    path: call.path(request),
    headers,
    ...(body !== undefined && { body }),
    ...(call.passesBody && passedBody(target)),
    ...(call.at === "store" && { store: target.destination.provider.store }),
  };
  if (call.passesAnswer) {
    const answer = await sendRecord(target, sent);
    return streamReply(readChunks(answer.upstream), answer.attempt, target);
  }
  const { upstream, text } = await readRecord(target, sent);
  const parsed = parseRecord(text, target);
  if (call.followedBy) return callMapped(call.followedBy, request, target);
  return recordReply(
    convertRecord(() => call.fromUpstream?.(parsed, request) ?? parsed, target),
    upstream,
    target,
  );
}

function toBytes(value: object, write: ExactValue["write"] = JSON.stringify): Uint8Array {
  return new TextEncoder().encode(`${write(value)}\n`);
}

/** Result lines of the provider in OpenAI's shape. */
async function* toLines(
  upstream: Response,
  toLine: NonNullable<OutputRules["toLine"]>,
  batch: Record<string, unknown>,
  direct: DirectBatch | undefined,
): AsyncGenerator<Uint8Array, void> {
  const unreadable = { code: "unreadable_row", message: "The provider's result line cannot be parsed" };
  for await (const { bytes, isTooLong } of readLines(readChunks(upstream), { maxBytes: maxRowBytes })) {
    if (bytes.length === 0 && !isTooLong) continue;
    try {
      const { value: row, write } = parseExactBytes(bytes);
      if (!isObject(row)) throw new TypeError("Cannot read the line: it is not an object");
      const line = toLine(row, batch, { drop: () => {} });
      direct?.use.add(line);
      yield toBytes(line, write);
    } catch {
      yield toBytes({ id: "", custom_id: "", response: null, error: unreadable });
    }
  }
  await direct?.settle();
}

/** Result lines as they come, which are counted meanwhile. */
async function* countLines(
  chunks: AsyncIterable<Uint8Array>,
  { use, settle }: DirectBatch,
): AsyncGenerator<Uint8Array, void> {
  const lines = new LineCutter(maxRowBytes, (bytes) => {
    const line = parseJson(new TextDecoder().decode(bytes));
    if (isObject(line)) use.add(line);
  });
  for await (const chunk of chunks) {
    lines.push(chunk);
    yield chunk;
  }
  lines.end();
  await settle();
}

/** A batch that the caller made at the provider, and what its results used as far as they were read. */
interface DirectBatch {
  use: LineUse;
  settle(): Promise<void>;
}

/** The results of a batch, from where the provider says they are. */
async function download(
  rules: OutputRules,
  batch: Record<string, unknown>,
  {
    direct,
    records,
    ...target
  }: RecordTarget & { direct: DirectBatch | undefined; records?: RecordAdapters | undefined },
): Promise<Reply> {
  const found = convertRecord(() => rules.find(batch), target);
  if (!found) {
    throw new ConflictError("Cannot return the output yet: the batch has no results", { code: "batch_not_ready" });
  }
  const { store } = target.destination.provider;
  const isInStore = rules.place === "store";
  if (isInStore && records?.objects && target.destination.managed && records.objects.bucket !== found.bucket) {
    throw new NotFoundError("Cannot find the output: it is not in the bucket of the integration", {
      code: "file_not_found",
    });
  }
  const { upstream, attempt } = await sendRecord(target, {
    method: "GET",
    path: found.path,
    store: isInStore ? store : undefined,
  });
  const { toLine } = rules;
  if (toLine) return streamReply(toLines(upstream, toLine, batch, direct), attempt, target);
  const chunks = readChunks(upstream);
  return streamReply(direct ? countLines(chunks, direct) : chunks, attempt, target);
}

/** Where providers with OpenAI's routes store the results of a batch. */
const openaiOutput: OutputRules = {
  place: "provider",
  find({ output_file_id: output, error_file_id: error }) {
    const id = typeof output === "string" && output !== "" ? output : error;
    return typeof id === "string" && id !== "" ? { path: `/files/${encodeURIComponent(id)}/content` } : undefined;
  },
};

/** Counts a batch by what it reports; one that reports nothing is counted by its results. */
async function toDirect(
  batch: Record<string, unknown>,
  { destination: { provider }, context }: RecordTarget,
): Promise<DirectBatch | undefined> {
  await settleDirectBatch(batch, provider, context);
  // what the gateway collects itself is counted there
  if (context.connection.actingFor || isObject(batch.usage)) return undefined;
  const use = new LineUse(context);
  return { use, settle: () => settleDirectBatch(batch, provider, context, use.result()) };
}

/** The output of a batch takes two calls: the batch, then the file it names. */
async function getOutput(request: RecordRequest, target: RecordTarget, records?: RecordAdapters): Promise<Reply> {
  const { provider } = target.destination;
  if (records && !records.output) return refuseRoute("getBatchOutput", target.destination);
  const passedPath = (below: string) => provider.passPath({ path: below, query: "", isProxied: false }).path;
  const retrieve = records?.calls.retrieveBatch;
  const path = retrieve ? retrieve.path(request) : passedPath(`/batches/${encodeURIComponent(request.id)}`);
  const { text, upstream } = await readRecord(target, { method: "GET", path, headers: retrieve?.headers });
  const batch = parseRecord(text, target);
  const shown = convertRecord(() => retrieve?.fromUpstream?.(batch, request) ?? batch, target);
  const direct = isObject(shown) ? await toDirect(shown, target) : undefined;
  if (records) {
    const rules = records.output ?? refuseRoute("getBatchOutput", target.destination);
    return download(rules, batch, { ...target, direct, records });
  }
  const rules: OutputRules = {
    ...openaiOutput,
    find(value) {
      const found = openaiOutput.find(value);
      return found && { path: passedPath(found.path) };
    },
  };
  const { errors } = batch;
  if (!rules.find(batch) && isObject(errors) && Array.isArray(errors.data))
    return recordReply(errors, upstream, target);
  return download(rules, batch, { ...target, direct });
}

/**
 * Refuses a route a provider does not have.
 *
 * @throws {InvalidRequestError} 400
 */
export function requireRecord(route: RecordRoute, destination: Destination): void {
  const { records, store } = destination.provider;
  if (!records || records.calls[route] || (route === "uploadFile" && records.upload)) return;
  if (route === "getBatchOutput" ? records.output : records.objects && store && objectRoutes.has(route)) return;
  refuseRoute(route, destination);
}

/**
 * Refuses batches and jobs for models a stored provider does not allow or whose model cannot be determined.
 *
 * @throws {BudgetError} 412
 */
function requireModels(call: RecordCall, request: RecordRequest, destination: Destination): void {
  for (const model of call.modelsOf?.(request) ?? [optionOf(request, "model")]) {
    requireModel(destination, stringOf(model));
  }
}

/** The models a batch or job names. Without one, the lines of its file may name any. */
function namesOf(call: RecordCall, request: RecordRequest, { connection }: CallerContext): NamedModels {
  const listed = connection.models ?? call.modelsOf?.(request) ?? [optionOf(request, "model")];
  const names = listed.filter((model) => typeof model === "string");
  return { names, isUnclear: !connection.models && (names.length === 0 || names.length < listed.length) };
}

/** The target of a batch or job whose models it allows. @throws {GatewayError} 403, 412 */
function withModels(call: RecordCall, request: RecordRequest, target: RecordTarget): RecordTarget {
  const { destination, context } = target;
  requireModels(call, request, destination);
  const named = namesOf(call, request, context);
  requireKeyModels({ named, model: undefined, needsModel: true }, context);
  return { ...target, times: { ...target.times, listModels: () => named } };
}

/** Serves a route of a provider whose records are not OpenAI's. */
async function callRecords(
  route: RecordRoute,
  request: RecordRequest,
  records: RecordAdapters,
  target: RecordTarget,
): Promise<Reply> {
  const { store } = target.destination.provider;
  const objects = records.objects && store && { rules: records.objects, store };
  if (objects && route === "uploadFile") return uploadObject(target, objects);
  if (records.upload && route === "uploadFile") return uploadForm(target, records.upload);
  if (objects && route === "retrieveFile") return showObject(request.id, target, objects);
  if (objects && route === "retrieveFileContent") return downloadObject(request.id, target, objects);
  if (route === "getBatchOutput") return getOutput(request, target, records);
  const call = records.calls[route] ?? refuseRoute(route, target.destination);
  const called = withBody.has(route) ? withModels(call, request, target) : target;
  if (objects && route === "createBatch" && target.destination.managed) {
    requireObject(String(request.body.input_file_id ?? ""), objects, target);
  }
  const reply = await callMapped(call, request, called);
  if (route === "retrieveBatch") await settleShown(reply, target);
  return reply;
}

/** Counts a batch as the caller sees it, if it has ended. */
async function settleShown({ body }: Reply, { destination, context }: RecordTarget): Promise<void> {
  const batch = typeof body === "string" ? parseJson(body) : undefined;
  if (isObject(batch)) await settleDirectBatch(batch, destination.provider, context);
}

/** Routes whose body is JSON. */
const withBody: ReadonlySet<RecordRoute> = new Set(["createBatch", "createFinetune"]);

/** Whether a request about records is forwarded to a provider unchanged. */
function isPassed(route: RecordRoute, { provider: { records, isRaw } }: Destination): boolean {
  return !records && (isRaw || route !== "getBatchOutput");
}

/** Serves a request at a destination; undefined where it is forwarded unchanged. */
async function callAt(
  route: RecordRoute,
  destination: Destination,
  readBody: () => Promise<Readonly<Record<string, unknown>>>,
  parts: Omit<RecordTarget, "destination">,
): Promise<Reply | undefined> {
  if (isPassed(route, destination)) return undefined;
  const { records } = destination.provider;
  requireForwardable(destination);
  const { context } = parts;
  const { services } = context;
  const request: RecordRequest = {
    id: context.params.id ?? "",
    query: context.url.searchParams,
    name: context.id.toLowerCase(),
    now: Math.floor(services.clock.now() / 1000),
    body: withBody.has(route) ? await readBody() : {},
  };
  const target = { destination, ...parts };
  return records ? callRecords(route, request, records, target) : getOutput(request, target);
}

/** Serves a request by a config, which has one target. */
function callByConfig(
  route: RecordRoute,
  config: RequestConfig,
  readBody: () => Promise<Readonly<Record<string, unknown>>>,
  context: CallerContext,
): Promise<Reply | undefined> {
  requireSingleTarget(config, context);
  const plan = planRequest(config, {}, { context });
  const isRead = withBody.has(route);
  const kind = forwardedKind(route, { isRead, checkedFiles: context.checkedFiles });
  const guard = new RequestGuard(kind, config.view, context);
  return runPlan<Reply | undefined>(
    config,
    plan,
    {
      async call(attempt, { deadline }) {
        const { node, settings } = attempt;
        const destination = await readLeafDestination({ node, settings, model: undefined }, context);
        // forwarded requests start there
        if (isPassed(route, destination)) return undefined;
        const entering = guard.enter(attempt, isRead ? await readBody() : {}, {
          isBare: !isRead && route !== "uploadFile",
        });
        const guarded = entering && (await withinRequest(entering, deadline, context));
        const times = timesOf({ settings, deadline }, context);
        return callAt(route, destination, readBody, { context, times, guard: guarded });
      },
      responseOf: (reply) => ({ status: reply?.status ?? 200 }),
      discard: () => {},
      canRepeat: route !== "uploadFile",
    },
    context,
  );
}

/** Parses the JSON body of a request, once. */
function createBodyReader(context: CallerContext) {
  let body: Promise<Readonly<Record<string, unknown>>> | undefined;
  const read = async () => {
    const { value } = await readJsonBody(context, context.services.limits.jsonBodyBytes, context.services);
    if (isObject(value)) return value;
    throw new InvalidRequestError("Invalid request body: it must be an object", { code: "invalid_body" });
  };
  return () => {
    body ??= read();
    return body;
  };
}

/** Serves a request about records of the provider it names: by the provider's own routes, else forwarded unchanged. */
export async function runRecord(route: RecordRoute, given: CallerContext): Promise<Reply> {
  const config = await readRequestConfig(given);
  const checked = route === "uploadFile" ? await checkRows(config, given) : undefined;
  const context = checked?.context ?? given;
  try {
    const reply = await callByConfig(route, config, createBodyReader(context), context);
    return reply ?? (await runPassthrough(context));
  } catch (error) {
    // what is wrong with a row says more than the call it ended
    throw checked?.failure() ?? error;
  } finally {
    checked?.note();
  }
}
