import type { Audited } from "../../control/audit-chain.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { jsonReply } from "../../lib/reply.ts";
import { type AdminCall, type AnswerOf, type AnswerSchema, toCall } from "./endpoint.ts";

/**
 * Declares an endpoint that calls an upstream. Its handler writes the audit row after the call: the work of other writes does
 * not wait for it.
 */
export function defineUpstreamCall<Answer extends AnswerSchema = AnswerSchema>(
  definition: Pick<AdminEndpoint, "access" | "path" | "query" | "summary" | "tag"> & {
    audit: Audited;
    response?: Answer;
    handle(call: AdminCall<undefined>): Promise<AnswerOf<Answer>>;
  },
): AdminEndpoint {
  const { handle, ...row } = definition;
  return {
    ...row,
    kind: "admin",
    errorForm: "admin",
    method: "POST",
    handleAdmin: async (_, context) => jsonReply(await handle(toCall(undefined, context))),
  };
}
