import { createOwnRequest } from "../../context/own-request.ts";
import type { CallerContext } from "../../context.ts";
import type { Audited } from "../../control/audit-chain.ts";
import type { ProviderRow } from "../../db/tables/integrations.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { BodyError, readBytes } from "../../lib/body.ts";
import { startTimer } from "../../lib/clock.ts";
import { hopHeader } from "../../lib/headers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { ProviderTest } from "../../schemas/integrations.ts";
import { commitAudited } from "../core/audit-values.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { namedWorkspace, readTenant } from "../core/request.ts";
import { defineUpstreamCall } from "../core/upstream-call.ts";
import { findIntegration, scopeOf } from "./integration-records.ts";
import { findProvider, providerAccess } from "./providers.ts";

/** Longest time that a test takes. */
const testMs = 15_000;
/** Largest list of models that is read. */
const maxListBytes = 8 * 1024 * 1024;

/** What came back; the status is null where nothing came in time. */
interface Answer {
  readonly status: number | null;
  readonly json: unknown;
}

/**
 * Asks for the provider's list of models as the workspace would: the guard of addresses, limits and the log apply. Default
 * configs do not.
 */
async function askForModels({ slug, workspaceId }: ProviderRow, context: CallerContext): Promise<Answer> {
  const { services, principal, connection, traceId } = context;
  const abort = new AbortController();
  const cancel = startTimer(testMs, () => abort.abort());
  const headers = {
    "x-gateway-provider": `@${slug}`,
    "x-gateway-trace-id": traceId,
    "x-gateway-span-name": "provider test",
    "x-gateway-request-timeout": String(testMs),
    // the provider may be this gateway again
    [hopHeader]: services.hops.next(context.headers),
  };
  try {
    const response = await services.handle(createOwnRequest("/v1/models", { headers, signal: abort.signal }), {
      // who may read a provider may test it: the test reads a list, and no more
      actingFor: { ...principal, workspaceId, scopes: new Set(["completions.write"]) },
      ignoresConfig: true,
      ...(connection.remoteAddress !== undefined && { remoteAddress: connection.remoteAddress }),
    });
    const bounds = { bytes: maxListBytes, totalMs: testMs, silenceMs: testMs };
    const bytes = await readBytes(response, bounds);
    return { status: response.status, json: parseJson(new TextDecoder().decode(bytes)) };
  } catch (error) {
    if (abort.signal.aborted || error instanceof BodyError) return { status: null, json: undefined };
    throw error;
  } finally {
    cancel();
  }
}

/** Codes of errors of a provider that did not respond. */
const isAway = (code: string): boolean => code === "request_timeout" || code.startsWith("upstream_");

/** The result of a test: it fails in the response, not by its status. */
function showTest({ status, json }: Answer): Omit<ProviderTest, "response_time_ms" | "provider" | "object"> {
  const body = isObject(json) ? json : {};
  if (status !== null && status < 300) {
    const models = Array.isArray(body.data) ? body.data.length : null;
    return { success: true, status_code: status, models, error: null, message: "The provider listed its models" };
  }
  const failure = isObject(body.error) ? body.error : {};
  const code = stringOf(failure.code) ?? "";
  const message = stringOf(failure.message) ?? "The provider did not respond in time";
  if (code === "unsupported_endpoint") {
    const untested = "The provider has no list of models: its credential is tested by the first request";
    return { success: null, status_code: null, models: null, error: null, message: untested };
  }
  const answered = status === null || isAway(code) ? null : status;
  return { success: false, status_code: answered, models: null, error: message, message };
}

async function runTest(row: ProviderRow, { context }: AdminCall<undefined>): Promise<ProviderTest> {
  // a provider may lead back to this route
  context.services.hops.requireOpenEnd(context.headers);
  const { clock } = context.services;
  const startedAt = clock.monotonic();
  const shown = showTest(await askForModels(row, context));
  const response_time_ms = Math.round(clock.monotonic() - startedAt);
  return { object: "provider_test", provider: row.slug, ...shown, response_time_ms };
}

const ofTest = (store: "providers" | "integrations"): Audited => ({ resource: store, action: "test", store });

async function testOfProvider(call: AdminCall<undefined>) {
  const row = await findProvider(call);
  const result = await runTest(row, call);
  await commitAudited(ofTest("providers"), call.context, async () => ({ statements: [], recordId: row.id }));
  return result;
}

/** A provider that uses an integration, in the workspace of the call or, without one, in any. */
async function providerOf(call: AdminCall<undefined>, integrationId: string): Promise<ProviderRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const rows = await call.stores.providers.all(tenant, { where: { integrationId } });
  const usable = rows.find(({ expiresAt }) => expiresAt === null || expiresAt > call.now);
  if (usable) return usable;
  throw new ConflictError("Cannot test this integration: no provider uses it yet; create one", { code: "AB07" });
}

async function testOfIntegration(call: AdminCall<undefined>) {
  const { id } = await findIntegration(call, "read");
  const result = await runTest(await providerOf(call, id), call);
  await commitAudited(ofTest("integrations"), call.context, async () => ({ statements: [], recordId: id }));
  return result;
}

const ofWorkspace = [{ name: "workspace_id", description: "Required for keys of the organisation" }];

/** Endpoints that test the credential of a provider. */
export const providerTestEndpoints: readonly AdminEndpoint[] = [
  defineUpstreamCall({
    tag: "Providers",
    query: ofWorkspace,
    path: "/v1/providers/:slug/test",
    summary: "Test the credential of a provider with its list of models",
    access: providerAccess("read"),
    audit: ofTest("providers"),
    response: ProviderTest,
    handle: testOfProvider,
  }),
  defineUpstreamCall({
    tag: "Integrations",
    query: [{ name: "workspace_id", description: "The workspace whose provider is used; default: any" }],
    path: "/v1/integrations/:slug/test",
    summary: "Test the credential of an integration with the list of models of its provider",
    access: { keys: "any", scopes: [scopeOf("workspace", "read"), scopeOf("organisation", "read")] },
    audit: ofTest("integrations"),
    response: ProviderTest,
    handle: testOfIntegration,
  }),
];
