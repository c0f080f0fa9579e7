import * as v from "valibot";
import {
  findSecretProblem,
  postJson,
  ServiceHeaders,
  ServiceUrl,
  SigningSecret,
  timeoutOf,
  toStatusError,
} from "../call.ts";
import { bothPhases, type Check, type CheckTools } from "../types.ts";
import { toWebhookPayload } from "../webhook-payload.ts";

const Log = v.object({
  logURL: ServiceUrl,
  headers: ServiceHeaders,
  timeout: timeoutOf(3_000),
  secret: SigningSecret,
});

/** Posts the request and the response to the author's service. */
export function createLogCheck(tools: CheckTools): Check<v.InferOutput<typeof Log>> {
  return {
    id: "default.log",
    phases: bothPhases,
    parameters: Log,
    readsAll: () => true,
    problem: findSecretProblem,
    async run(input, { logURL: url, headers, timeout: timeoutMs, secret }) {
      const answer = await postJson(tools, { url, headers, timeoutMs, secret, value: toWebhookPayload(input) });
      if (!answer.isOk) throw toStatusError(answer);
      return { pass: true, data: { explanation: "The log was written", status: answer.status } };
    },
  };
}
