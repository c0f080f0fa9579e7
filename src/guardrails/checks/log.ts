import * as v from "valibot";
import { postJson, ServiceHeaders, ServiceUrl, timeoutOf, toStatusError } from "../call.ts";
import { toToldContext } from "../told-context.ts";
import { bothPhases, type Check, type CheckTools } from "../types.ts";

const Log = v.object({ logURL: ServiceUrl, headers: ServiceHeaders, timeout: timeoutOf(3_000) });

/** Tells a service of the author what was asked and answered. */
export function createLogCheck(tools: CheckTools): Check<v.InferOutput<typeof Log>> {
  return {
    id: "default.log",
    phases: bothPhases,
    parameters: Log,
    readsAll: () => true,
    async run(input, { logURL: url, headers, timeout: timeoutMs }) {
      const answer = await postJson(tools, { url, headers, timeoutMs, value: toToldContext(input) });
      if (!answer.isOk) throw toStatusError(answer);
      return { pass: true, data: { explanation: "The log was written", status: answer.status } };
    },
  };
}
