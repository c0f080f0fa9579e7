import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { maskPath } from "../../lib/secret-values.ts";
import {
  ForwardHeaders,
  findSecretProblem,
  forwardedHeaders,
  postJson,
  ServiceHeaders,
  ServiceUrl,
  SigningSecret,
  timeoutOf,
  toStatusError,
} from "../call.ts";
import { type Body, bothPhases, type Check, CheckError, type CheckInput, type CheckTools } from "../types.ts";
import { toWebhookPayload } from "../webhook-payload.ts";

const Webhook = v.object({
  webhookURL: ServiceUrl,
  headers: ServiceHeaders,
  timeout: timeoutOf(3_000),
  forwardHeaders: ForwardHeaders,
  secret: SigningSecret,
});
type Webhook = v.InferOutput<typeof Webhook>;

/** An address as results show it: its query may hold a secret. */
function toShown(url: string): string {
  return maskPath(url).replace(/\?.*$/s, "");
}

/** Data of every result of this check. */
function commonData({ webhookURL, timeout }: Webhook) {
  return { webhookUrl: toShown(webhookURL), requestContext: { timeout } };
}

/**
 * A webhook's response: an object with a verdict.
 *
 * @throws {CheckError} If it responds with anything else, or not at all.
 */
async function ask(tools: CheckTools, input: CheckInput, parameters: Webhook): Promise<Body> {
  const { webhookURL: url, headers, timeout: timeoutMs, forwardHeaders, secret } = parameters;
  const sent = { ...forwardedHeaders(input, forwardHeaders), ...headers, ...input.request.ownHeaders };
  const fail = ({ name, message }: CheckError, responseData?: unknown): never => {
    const data = { explanation: "The webhook did not decide", ...commonData(parameters), responseData };
    throw new CheckError(message, { name, data });
  };
  const answer = await postJson(tools, { url, headers: sent, timeoutMs, secret, value: toWebhookPayload(input) }).catch(
    (error) => (error instanceof CheckError ? fail(error) : Promise.reject(error)),
  );
  const { isOk, json } = answer;
  if (!isOk) return fail(toStatusError(answer), json ?? toStatusError(answer).data?.body);
  if (isObject(json) && typeof json.verdict === "boolean") return json;
  return fail(new CheckError("Cannot use the webhook's response: it has no verdict"));
}

/** The body the webhook returns in place of this phase's; undefined where it changes nothing. */
function readChange(answer: Body, phase: CheckInput["phase"]): unknown {
  const { transformedData: changed } = answer;
  const part = isObject(changed) ? changed[phase === "beforeRequestHook" ? "request" : "response"] : undefined;
  return (isObject(part) ? part.json : undefined) ?? undefined;
}

/** Asks the author's service for the verdict; the service may also change the request or response. */
export function createWebhookCheck(tools: CheckTools): Check<Webhook> {
  return {
    id: "default.webhook",
    phases: bothPhases,
    parameters: Webhook,
    readsAll: () => true,
    changes: () => true,
    problem: findSecretProblem,
    async run(input, parameters) {
      const answer = await ask(tools, input, parameters);
      const pass = answer.verdict === true;
      const explanation = `The webhook ${pass ? "passed" : "failed"} the ${input.response ? "answer" : "request"}`;
      const data = { verdict: pass, explanation, ...commonData(parameters), responseData: answer.data };
      const change = readChange(answer, input.phase);
      if (change === undefined) return { pass, data };
      if (isObject(change)) return { pass, data, body: change };
      return { pass, data, error: "Cannot use the change of the webhook: it is not a JSON object" };
    },
  };
}
