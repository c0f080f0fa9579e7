import type { HookLog } from "../context/log-draft.ts";
import type { CallerContext, Services } from "../context.ts";
import type { HookResults } from "../schemas/hooks.ts";

/** Runs hooks nobody waits for, and keeps what they said beside the log row. */
export function runLater(hooks: HookLog["later"], context: CallerContext, services: Services): void {
  const { principal, id, connection } = context;
  const run = async () => {
    const said = await Promise.all(hooks.map((hook) => hook()));
    const results: HookResults = {
      before_request_hooks: said.flatMap(({ before }) => before),
      after_request_hooks: said.flatMap(({ after }) => after),
    };
    if (results.before_request_hooks.length + results.after_request_hooks.length === 0) return;
    await services.logStore.addHooks({
      ...{ organisationId: principal.organisationId, workspaceId: principal.workspaceId, logId: id },
      results: services.redactor.text(JSON.stringify(results)),
    });
  };
  const bytes = (context.log.requestBody?.length ?? 0) + (context.log.responseBody?.length ?? 0);
  const work = services.guardrails.later(run, bytes);
  connection.waitUntil?.(work);
}
