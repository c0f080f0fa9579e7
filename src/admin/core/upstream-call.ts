import type { AdminEndpoint } from "../../endpoint.ts";
import { jsonReply } from "../../lib/reply.ts";
import { type AdminCall, toCall } from "./endpoint.ts";

export type Audited = NonNullable<AdminEndpoint["audit"]>;

/**
 * Declares an endpoint that calls an upstream. Its handler writes the audit row after the call: the work of other writes does
 * not wait for it.
 */
export function defineUpstreamCall(
  definition: Pick<AdminEndpoint, "access" | "path" | "query" | "response" | "summary" | "tag"> & {
    audit: Audited;
    handle(call: AdminCall<undefined>): Promise<unknown>;
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
