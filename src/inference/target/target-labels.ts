import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { InvalidRequestError, PermissionError } from "../../errors.ts";
import { findUnmetPolicy, type LabelPolicy, type UnmetPolicy } from "../../policies/label-policy.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { RefusalOf } from "../../routing/plan.ts";
import { findUnmet, type Labels } from "../../schemas/labels.ts";
import { requestTypeOf } from "../facts/request-types.ts";
import { isFromRequest, storedNameOf } from "./config-target.ts";
import type { RequestConfig } from "./saved-config.ts";
import { namedInHeaders } from "./target.ts";

const noPolicies: readonly LabelPolicy[] = [];

/** The policies on labels that apply to a request. */
function policiesOf({ labelPolicies, workspace }: WorkspaceView, context: CallerContext): readonly LabelPolicy[] {
  if (!labelPolicies) return noPolicies;
  const { principal, metadata, log } = context;
  return labelPolicies.of({
    organisationId: principal.organisationId,
    workspaceId: workspace.id,
    workspaceSlug: workspace.slug,
    apiKey: principal.keyId,
    endpointType: requestTypeOf(log.operation),
    metadata,
  });
}

function refusePolicy({ policy, label }: UnmetPolicy, place: string): PermissionError {
  const named = policy.name === null ? policy.id : `${policy.id} (${policy.name})`;
  return new PermissionError(`Cannot call ${place}: the policy ${named} asks for targets with the label ${label}`, {
    code: "label_policy_denied",
  });
}

/** The labels of the target that is called: those of its integration come before those of its saved config. */
export function labelsOfCall({ stored, targetLabels }: CallerContext["log"]): Labels | undefined {
  const ofIntegration = stored?.labels;
  return ofIntegration && targetLabels ? { ...targetLabels, ...ofIntegration } : (ofIntegration ?? targetLabels);
}

const noLabels: Labels = {};

/** @throws {PermissionError} 403 `label_policy_denied`: a policy forbids targets without some label. */
export function requireLabels(view: WorkspaceView, context: CallerContext): void {
  const policies = policiesOf(view, context);
  if (policies.length === 0) return;
  const { log } = context;
  const unmet = findUnmetPolicy(policies, labelsOfCall(log) ?? noLabels);
  if (unmet) throw refusePolicy(unmet, log.stored ? `@${log.stored.slug}` : (log.provider ?? "this provider"));
}

/** The stored provider that a target leads to, by the view; undefined where it names a provider itself. */
function storedOf(node: ConfigNode, { view }: RequestConfig, asked: unknown, context: CallerContext) {
  const { overrideParams, defaultParams } = node.merged;
  const model = overrideParams.model ?? asked ?? defaultParams.model;
  const inModel = typeof model === "string" ? readStoredName(model) : undefined;
  const ofRequest = () => namedInHeaders(context) ?? (context.header("provider") === null ? inModel : undefined);
  const name = isFromRequest(node) ? ofRequest() : storedNameOf(node);
  return name && view.providers.get(name.slug);
}

/** Whether a node or one below it asks for labels. */
export function asksForLabels({ merged, targets }: ConfigNode): boolean {
  return merged.requireLabels !== undefined || targets.some(asksForLabels);
}

/**
 * What refuses targets of a config by their labels; undefined where neither the config nor a policy asks for labels. A policy
 * does not believe the labels of a config in the request: its caller wrote them.
 *
 * @param asked The model that the request names.
 */
export function readLabelRefusal(config: RequestConfig, asked: unknown, context: CallerContext): RefusalOf | undefined {
  const policies = policiesOf(config.view, context);
  if (policies.length === 0 && !asksForLabels(config.node)) return undefined;
  return (leaf) => {
    const stored = storedOf(leaf, config, asked, context)?.integration.labels ?? noLabels;
    const labels = { ...leaf.merged.labels, ...stored };
    const unmet = findUnmetPolicy(policies, config.slug === null ? stored : labels);
    if (unmet) return refusePolicy(unmet, leaf.path);
    const label = leaf.merged.requireLabels && findUnmet(labels, leaf.merged.requireLabels);
    if (label === undefined) return undefined;
    return new InvalidRequestError(`Cannot call ${leaf.path}: the config asks for targets with the label ${label}`, {
      code: "no_target_with_labels",
      param: "x-gateway-config",
    });
  };
}
