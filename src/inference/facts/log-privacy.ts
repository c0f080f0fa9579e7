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

function decide(view: WorkspaceView | undefined, { header }: CallerContext): boolean {
  // no setting allows storing them
  if (!view) return false;
  const { isOn, isEnforced } = ruleOf(view);
  if (isEnforced) return isOn;
  if (header("ignore-service-log")?.toLowerCase() === "true") return false;
  const asked = header("debug")?.toLowerCase();
  return asked === "true" || (asked !== "false" && isOn);
}

/**
 * Whether the headers and bodies of a request are stored with its row: by the setting `debug_log`, which the request
 * may override by `x-gateway-debug` unless the organisation enforces it. Synchronous when the workspace is in memory.
 */
export function storesContents(context: CallerContext): boolean | Promise<boolean> {
  const { control } = context.services;
  const { organisationId, workspaceId } = context.principal;
  if (workspaceId === null) return false;
  const view = control.directory.workspace({ organisationId, workspaceId });
  if (!(view instanceof Promise)) return decide(view, context);
  return view.then(
    (read) => decide(read, context),
    () => false,
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
