import type { Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { GatewayError } from "../../errors.ts";
import type { ExactNumbers } from "../../lib/exact-numbers.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { Plan } from "../../routing/plan.ts";
import { numbersOfConfig } from "../../routing/state.ts";
import { autoGroupsOf } from "../choice/auto.ts";
import { choiceLeaves } from "../choice/model-fit.ts";
import { checkLeaves, listLeaves } from "../target/config-target.ts";
import { nameTarget } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { asksForLabels } from "../target/target-labels.ts";

/** Which steps the requests of a config need in a workspace. All others leave a request as it is. */
interface ConfigSteps {
  /** Another target can be called in place of one whose model lacks what a request needs. */
  readonly fits: boolean;
  /** A group goes by what is in the request. */
  readonly decides: boolean;
  /** The config, or a policy of the workspace, asks for labels of targets. */
  readonly labels: boolean;
  /** A target has guardrails. */
  readonly guards: boolean;
  /** Numbers of the config that lose precision, which are sent too. */
  readonly numbers: ExactNumbers | undefined;
  /** The plan that is the same for every request; undefined before it is made, and where requests have different ones. */
  plan: Plan | undefined;
}

type StepServices = Pick<Services, "addressGuard" | "guardrails">;

/** Steps by view and config, neither of which ever changes. */
const known = new WeakMap<WorkspaceView, WeakMap<ConfigNode, ConfigSteps>>();

/** @throws {GatewayError} 400 for a config that cannot be used, naming what led to it. */
function checkTargets(config: RequestConfig, services: StepServices): void {
  try {
    checkLeaves(config, services);
  } catch (error) {
    if (error instanceof GatewayError) nameTarget(error, config);
    throw error;
  }
}

function findSteps(config: RequestConfig, services: StepServices): ConfigSteps {
  const { node, view } = config;
  checkTargets(config, services);
  return {
    fits: choiceLeaves(node).length > 0,
    decides: autoGroupsOf(node).length > 0,
    labels: view.labelPolicies !== undefined || asksForLabels(node),
    guards: listLeaves(node).some(({ merged }) => services.guardrails.of(merged.hooks, view) !== undefined),
    numbers: numbersOfConfig(node),
    plan: undefined,
  };
}

/**
 * Which steps a request of this config needs, decided once.
 *
 * @throws {GatewayError} 400 for a config that cannot be used.
 */
export function stepsOf(config: RequestConfig, services: StepServices): ConfigSteps {
  const { node, view } = config;
  const ofView = known.get(view) ?? new WeakMap<ConfigNode, ConfigSteps>();
  const found = ofView.get(node);
  if (found) return found;
  const made = findSteps(config, services);
  ofView.set(node, made);
  known.set(view, ofView);
  return made;
}
