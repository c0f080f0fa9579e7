import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { settingsOf, toRecord } from "../../control/settings.ts";
import type { HookResult } from "../../schemas/hooks.ts";

/** A workspace's settings for the contents of its log rows. */
interface ContentRule {
  isOn: boolean;
  /** Requests may not override it. */
  isEnforced: boolean;
}

/** Rules by view, dropped together with the views. */
const rules = new WeakMap<WorkspaceView, ContentRule>();

function ruleOf(view: WorkspaceView): ContentRule {
  const known = rules.get(view);
  if (known) return known;
  const { organisation } = view;
  const isEnforced = toRecord(organisation.settings).enforce_debug_log_setting === true;
  const rule = { isOn: settingsOf(view).debug_log !== 0, isEnforced };
  rules.set(view, rule);
  return rule;
}

/**
 * What is stored with a row. `all`: headers and bodies. `figures`: headers of the gateway, and the response of a failed
 * request. `none`: nothing of it.
 */
export type LogDepth = "all" | "figures" | "none";

function decide(view: WorkspaceView | undefined, { header }: CallerContext): LogDepth {
  // no setting allows storing them
  if (!view) return "none";
  const { isOn, isEnforced } = ruleOf(view);
  if (isEnforced) return isOn ? "all" : "figures";
  if (header("ignore-service-log")?.toLowerCase() === "true") return "none";
  const asked = header("debug")?.toLowerCase();
  return asked === "true" || (asked !== "false" && isOn) ? "all" : "figures";
}

/**
 * What is stored with the row of a request: by the setting `debug_log`, which the request may override by
 * `x-gateway-debug` unless the organisation enforces it. Synchronous when the workspace is in memory.
 */
export function depthOf(context: CallerContext): LogDepth | Promise<LogDepth> {
  const { control } = context.services;
  const { organisationId, workspaceId } = context.principal;
  if (workspaceId === null) return "none";
  const view = control.directory.workspace({ organisationId, workspaceId });
  if (!(view instanceof Promise)) return decide(view, context);
  return view.then(
    (read) => decide(read, context),
    () => "none",
  );
}

/** Guardrail results without quotes of the contents. */
export function withoutQuotes(hooks: readonly HookResult[]): HookResult[] {
  return hooks.map((hook) => ({
    ...hook,
    feedback: null,
    checks: hook.checks.map((check) => ({ ...check, data: null })),
  }));
}
