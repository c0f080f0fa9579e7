import type { HookLog } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { createValueMask } from "../../lib/secret-values.ts";
import { maskStrings } from "../../logs/seal.ts";
import { masked } from "../../logs/secret-members.ts";
import type { HookResult, HookResults } from "../../schemas/hooks.ts";
import { withoutQuotes } from "../facts/log-privacy.ts";

/** Stores what the verdicts of guardrails say about the trace. */
export function addFeedback(results: readonly HookResult[], { principal, traceId, services }: CallerContext): void {
  const { organisationId, workspaceId, keyId: apiKeyId } = principal;
  if (results.length === 0 || workspaceId === null) return;
  services.verdictFeedback.add({ organisationId, workspaceId, apiKeyId, traceId }, results);
}

/**
 * Runs guardrails the request does not wait for, and stores their results beside the log row.
 *
 * @param storesContents Whether results may quote the contents they checked.
 */
export function runAsyncGuardrails(hooks: HookLog["later"], storesContents: boolean, context: CallerContext): void {
  const { principal, id, traceId, spanId, parentSpanId, connection } = context;
  const run = async () => {
    const said = await Promise.all(hooks.map((hook) => hook()));
    const verdicts = said.flatMap(({ before, after }) => [...before, ...after]);
    if (!connection.apart) addFeedback(verdicts, context);
    const shown = (results: readonly HookResult[]) => (storesContents ? results : withoutQuotes(results));
    const results: HookResults = {
      before_request_hooks: said.flatMap(({ before }) => shown(before)),
      after_request_hooks: said.flatMap(({ after }) => shown(after)),
    };
    const values = createValueMask([context.gatewayKey, ...context.log.secrets], () => masked);
    if (results.before_request_hooks.length + results.after_request_hooks.length === 0) return;
    context.services.lateHooks.add({
      request: {
        id,
        organisation_id: principal.organisationId,
        workspace_id: principal.workspaceId,
        trace_id: traceId,
        span_id: spanId,
        parent_span_id: parentSpanId,
      },
      results: context.services.redactor.text(JSON.stringify(maskStrings(results, values.mask))),
    });
  };
  const bytes = (context.log.requestBody?.length ?? 0) + (context.log.responseBody?.length ?? 0);
  const work = context.services.guardrails.later(run, bytes);
  connection.waitUntil?.(work);
}
