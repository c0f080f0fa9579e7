import * as v from "valibot";
import { UpstreamError } from "../../errors.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import { isObject } from "../../lib/json.ts";
import { ChatRequest, CompletionRequest } from "../../schemas/chat.ts";
import { GenerateContentBody } from "../../schemas/gemini.ts";
import { MessagesRequest } from "../../schemas/messages.ts";
import { ResponsesRequest } from "../../schemas/responses.ts";

/** The request schema of a route, and the field that holds the text of its responses. */
const shapes: { readonly [Type in RequestType]?: readonly [request: v.GenericSchema, answer: string] } = {
  chatComplete: [ChatRequest, "choices"],
  complete: [CompletionRequest, "choices"],
  messages: [MessagesRequest, "content"],
  createModelResponse: [ResponsesRequest, "output"],
  generateContent: [GenerateContentBody, "candidates"],
};

const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isObject);

function refuseChange(what: string): never {
  throw new UpstreamError(502, `Cannot use a guardrail's version of the ${what}: this route has no such ${what}`, {
    code: "guardrail_bad_change",
  });
}

/** @throws {UpstreamError} 502 for a request that no longer fits its route after a guardrail changed it. */
export function requireRequest(requestType: RequestType, before: Body, now: Body): void {
  const [schema] = shapes[requestType] ?? [];
  if (schema && before !== now && !v.is(schema, now) && v.is(schema, before)) refuseChange("request");
}

/**
 * @param onRefuse Called before the error is thrown.
 * @throws {UpstreamError} 502 for a response that no longer fits its route after a guardrail changed it.
 */
export function requireAnswer(
  requestType: RequestType,
  [before, now]: readonly [Body, Body],
  onRefuse: () => void,
): void {
  const [, name] = shapes[requestType] ?? [];
  if (name === undefined || before === now || !isList(before[name]) || isList(now[name])) return;
  onRefuse();
  refuseChange("answer");
}
