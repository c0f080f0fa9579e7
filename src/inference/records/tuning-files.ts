import * as v from "valibot";
import { createOwnRequest } from "../../context/own-request.ts";
import { type CallerContext, createHeaderReader } from "../../context.ts";
import { readJsonBody, requireBody } from "../../endpoint/body.ts";
import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import { HeaderMap } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { callerKeyHeaders } from "../../lib/secret-names.ts";
import { GatewayOptionHeaders } from "../../schemas/batches.ts";
import { createFileForm, readOwnAnswer } from "../batches/internal-request.ts";
import { readGatewayOptions } from "../batches/options.ts";
import { readOnlyDestination, withOptions } from "../batches/provider-choice.ts";
import { requireFile } from "../files/files.ts";
import { isForOwnStore } from "../files/gateway-store.ts";
import { refuseRoute, runRecord } from "./run-record.ts";

/** Fields that name files. */
const fileMembers = ["training_file", "validation_file"] as const;

/** Headers that describe the body of a request, belong to its connection or are about its client. */
const ownHeaders = /^(?:content-|accept|transfer-encoding$|connection$|host$|cookie$|x-goog-)/;
/** Headers whose key is sent in another way. */
const keyHeaders: ReadonlySet<string> = new Set(callerKeyHeaders);
/** Gateway headers that are for one request or one file, besides those of providers. */
const ownNames = ["api-key", "file-purpose", "request-id", "trace-id"];

/** The headers of a request that say where it goes, for another request on its behalf. */
function headersOfTarget(context: CallerContext): Record<string, string> {
  const { headerPrefixes, providerRules } = context.services;
  const names = [...ownNames, ...providerRules.fileHeaders];
  const { gatewayKey, providerCredential, traceId } = context;
  const left = new Set(headerPrefixes.flatMap((prefix) => names.map((name) => prefix + name)));
  const forwarded = Object.entries(context.headers.values()).filter(
    ([name, value]) =>
      !ownHeaders.test(name) && !keyHeaders.has(name) && !left.has(name) && !value.includes(gatewayKey),
  );
  const authorization = providerCredential !== undefined && { authorization: `Bearer ${providerCredential}` };
  return { ...Object.fromEntries(forwarded), ...authorization, "x-gateway-trace-id": traceId };
}

/** Uploads a file of the gateway to the provider of a request; returns its id there. */
async function uploadToProvider(id: string, param: string, context: CallerContext): Promise<string> {
  const row = await requireFile(id, context, param);
  if (row.purpose !== "fine-tune") {
    throw new InvalidRequestError(`Cannot use this file as ${param}: its purpose is ${row.purpose}, not fine-tune`, {
      code: "invalid_file_purpose",
      param,
    });
  }
  // in an object store, a second upload replaces the first
  const filename = `${row.id}.jsonl`;
  const form = createFileForm(context.services.files.read(row), { purpose: row.purpose, filename });
  const headers = {
    ...headersOfTarget(context),
    "content-type": form.contentType,
    "x-gateway-provider-file-name": filename,
  };
  const { signal } = context.request;
  const request = createOwnRequest("/v1/files", { method: "POST", headers, body: form.body, signal });
  const response = await context.services.handle(request, { actingFor: context.principal });
  const answer = await readOwnAnswer(response).catch((): Record<string, unknown> => ({}));
  if (response.status >= 200 && response.status < 300 && typeof answer.id === "string") return answer.id;
  throw toUploadError(param, response, answer, context);
}

function toUploadError(
  param: string,
  { status, headers }: Response,
  { error, provider }: Record<string, unknown>,
  { log }: CallerContext,
): UpstreamError {
  const details = isObject(error) ? error : {};
  const message =
    typeof details.message === "string" ? details.message : `it responded with ${status} without a file id`;
  const retryAfter = headers.get("retry-after");
  const slug = typeof provider === "string" ? provider : log.provider;
  return new UpstreamError(status, `Cannot upload ${param} to the provider: ${message}`, {
    param,
    code: typeof details.code === "string" ? details.code : "upload_failed",
    ...(slug !== null && { provider: slug }),
    ...(retryAfter !== null && { headers: { "retry-after": retryAfter } }),
  });
}

/** Refuses a provider that has no tuning jobs, or accepts no files, before anything is sent to it. */
async function requireTuning(context: CallerContext): Promise<void> {
  const destination = await readOnlyDestination(context);
  const { records } = destination?.provider ?? {};
  if (!destination || !records) return;
  if (!records.calls.createFinetune) refuseRoute("createFinetune", destination);
  if (!records.objects && !records.calls.uploadFile) refuseRoute("uploadFile", destination);
}

/** The request with a body that was already read. */
function withBody(context: CallerContext, text: string): CallerContext {
  const { headerPrefixes } = context.services;
  const { request } = context;
  const headers = new Headers(request.headers);
  for (const name of ["content-encoding", "transfer-encoding"]) headers.delete(name);
  headers.set("content-length", String(new TextEncoder().encode(text).length));
  const known = new HeaderMap(headers);
  return {
    ...context,
    headers: known,
    header: createHeaderReader(known, headerPrefixes),
    request: new Request(request.url, { method: "POST", headers, body: text, signal: request.signal }),
  };
}

const WithOptions = v.looseObject({ gateway_options: GatewayOptionHeaders });

/**
 * `POST /fine_tuning/jobs` that names its provider in `gateway_options`, as if these were its headers.
 *
 * @throws {GatewayError} 400 where they name none: the gateway tunes no models.
 */
export async function createTuningJobByOptions(context: CallerContext): Promise<Reply> {
  const { value } = await readJsonBody(context, context.services.limits.jsonBodyBytes, context.services);
  const { gateway_options: given = {}, ...body } = isObject(value) ? value : {};
  const { gateway_options: checked } = requireBody(WithOptions, { gateway_options: given ?? {} });
  const options = readGatewayOptions(checked, context.services);
  const asked = withOptions(context, { ...options, "content-type": "application/json" });
  if (await isForOwnStore(asked)) {
    throw new InvalidRequestError("Cannot tune a model here: name a provider in x-gateway-provider", {
      code: "provider_required",
      param: "x-gateway-provider",
    });
  }
  const headers = new Headers(asked.headers.values());
  const request = new Request(context.request.url, { method: "POST", headers, signal: context.request.signal });
  const sent = withBody({ ...asked, log: context.log, request }, JSON.stringify(body));
  return createTuningJob(sent);
}

/**
 * `POST /fine_tuning/jobs` at a provider. Files of the gateway it names are uploaded there first.
 *
 * @throws {GatewayError} 404 for an unknown file, 400 for one with another purpose, else the provider's error.
 */
export async function createTuningJob(context: CallerContext): Promise<Reply> {
  const { value, text } = await readJsonBody(context, context.services.limits.jsonBodyBytes, context.services);
  const body = isObject(value) ? value : {};
  const files = fileMembers.flatMap((param) => {
    const id = body[param];
    return typeof id === "string" && id.startsWith("gw_file_") ? [[param, id] as const] : [];
  });
  if (files.length > 0) await requireTuning(context);
  const uploaded: Record<string, string> = {};
  for (const [param, id] of files) uploaded[param] = await uploadToProvider(id, param, context);
  const sent = files.length > 0 ? JSON.stringify({ ...body, ...uploaded }) : text;
  const asked = withBody(context, sent);
  const named = fileMembers.filter((param) => body[param] !== undefined && body[param] !== null);
  // what was uploaded now went past the guardrails
  if (named.length > 0 && named.every((param) => uploaded[param] !== undefined)) asked.checkedFiles = "named";
  return runRecord("createFinetune", asked);
}
