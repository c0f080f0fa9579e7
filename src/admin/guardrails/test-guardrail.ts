import { askGateway } from "../../context/ask-gateway.ts";
import { readGuardrailContent } from "../../control/guardrail-library.ts";
import type { GuardrailRow } from "../../db/tables/guardrails.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { SavedGuardrails } from "../../guardrails/resolve.ts";
import { runHooks } from "../../guardrails/run.ts";
import type { TargetHooks } from "../../guardrails/state.ts";
import type { Subject } from "../../guardrails/subject.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import { hopHeader } from "../../lib/headers.ts";
import { jsonReply } from "../../lib/reply.ts";
import { GuardrailTest, TestGuardrail } from "../../schemas/guardrails.ts";
import { commitAudited } from "../core/audit-values.ts";
import { type AdminCall, type AnswerOf, toCall } from "../core/endpoint.ts";
import { requireFound } from "../core/request.ts";
import { openVersion } from "../core/sealed-versions.ts";
import { findGuardrail } from "./guardrails.ts";

/** What a test is about: a request, and its response where the guardrail checks that. */
interface Tested {
  requestType: RequestType;
  request: Body;
  response: Body | undefined;
}

/** The request type of a body, by its members. */
function typeOf(request: Body): RequestType {
  if (Array.isArray(request.messages)) return "chatComplete";
  if (request.contents !== undefined) return "generateContent";
  return request.prompt === undefined ? "createModelResponse" : "complete";
}

function toTested({ text, request, response, request_type: given }: TestGuardrail): Tested {
  if (text !== undefined) {
    const messages = [{ role: "user", content: text }];
    const choices = [{ index: 0, message: { role: "assistant", content: text } }];
    return { requestType: "chatComplete", request: { model: "test", messages }, response: { choices } };
  }
  const body = request ?? {};
  return { requestType: given ?? typeOf(body), request: body, response };
}

/** The guardrail as a hook of either phase; undefined for a phase its checks do not have. */
async function readHooks(call: AdminCall<unknown>, row: GuardrailRow): Promise<TargetHooks | undefined> {
  const { guardrails } = call.context.services;
  const version = requireFound(await call.stores.guardrailVersions.get(row, row.versionId), "guardrail");
  const content = readGuardrailContent({ content: JSON.stringify(await openVersion(call, "guardrails", version)) });
  const saved: SavedGuardrails = {
    guardrails: new Map([[row.id, { row, ...content }]]),
    defaultGuardrails: { input: [], output: [] },
  };
  return guardrails.of({ input_guardrails: [row.id], output_guardrails: [row.id] }, saved);
}

function toSubject({ context }: AdminCall<unknown>, row: GuardrailRow, tested: Tested, isOutput: boolean): Subject {
  const { principal } = context;
  return {
    phase: isOutput ? "afterRequestHook" : "beforeRequestHook",
    requestType: tested.requestType,
    tenant: JSON.stringify([row.organisationId, row.workspaceId ?? principal.workspaceId]),
    provider: "",
    request: {
      body: tested.request,
      header: () => undefined,
      isStreaming: false,
      isTransformed: false,
      askModel: (question) => askGateway(context, question),
      ownHeaders: { [hopHeader]: context.services.hops.next(context.headers) },
    },
    response: isOutput ? { body: tested.response ?? {}, status: 200, isTransformed: false } : undefined,
    metadata: {},
  };
}

const audit = { resource: "guardrails", action: "test", store: "guardrails" as const };

/**
 * `POST /guardrails/{id}/test`: runs a guardrail without a request, and changes nothing. Services and models that its
 * checks ask are called, so the run leaves an audit row.
 *
 * @throws {InvalidRequestError} AB01 if none of its checks has the phase that is asked for.
 */
async function testGuardrail(call: AdminCall<TestGuardrail>): Promise<AnswerOf<typeof GuardrailTest>> {
  // a webhook may lead back to this route
  call.context.services.hops.requireOpenEnd(call.context.headers);
  const row = await findGuardrail(call, "any", "read");
  const tested = toTested(call.body);
  const hooks = await readHooks(call, row);
  const early = [...(hooks?.before ?? []), ...(hooks?.later.before ?? [])];
  const late = [...(hooks?.after ?? []), ...(hooks?.later.after ?? [])];
  // a text is checked as a request where the guardrail checks requests
  const isOutput = call.body.text === undefined ? tested.response !== undefined : early.length === 0;
  const chosen = isOutput ? late : early;
  if (chosen.length === 0) {
    const what = isOutput ? "responses" : "requests: give a response";
    throw new InvalidRequestError(`Cannot test this guardrail: its checks do not check ${what}`, { code: "AB01" });
  }
  const subject = toSubject(call, row, tested, isOutput);
  const outcome = await runHooks(chosen, subject, call.context.services.clock);
  await commitAudited(audit, call.context, async () => ({ statements: [], recordId: row.id }));
  return {
    object: "guardrail_test",
    phase: isOutput ? "output" : "input",
    result: outcome.results[0] ?? null,
    transformed: outcome.isTransformed ? outcome.body : null,
  };
}

export const testGuardrailEndpoint: AdminEndpoint = {
  kind: "admin",
  errorForm: "admin",
  tag: "Guardrails",
  method: "POST",
  path: "/v1/guardrails/:id/test",
  summary: "Run a guardrail on a text, or on a request and a response",
  access: { keys: "any", scopes: ["guardrails.read", "organisation_guardrails.read"] },
  audit,
  body: TestGuardrail,
  response: GuardrailTest,
  // the endpoint's schema made the value
  handleAdmin: async (body, context) => jsonReply(await testGuardrail(toCall(body as TestGuardrail, context))),
};
