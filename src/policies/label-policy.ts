import { findUnmet, type LabelRules, type Labels } from "../schemas/labels.ts";
import { type Conditional, ConditionIndex } from "./condition-index.ts";
import type { Subject } from "./conditions.ts";

/** A policy that lets requests reach targets with some labels only. */
export interface LabelPolicy extends Conditional {
  readonly id: string;
  readonly name: string | null;
  readonly requireLabels: LabelRules;
}

/** What policies on labels know of a request: all of it is known before a target is chosen. */
type LabelSubject = Pick<
  Subject,
  "organisationId" | "workspaceId" | "workspaceSlug" | "apiKey" | "endpointType" | "metadata"
>;

/** A label that a target lacks, and the policy that asks for it. */
export interface UnmetPolicy {
  readonly policy: LabelPolicy;
  /** As `region: eu`. */
  readonly label: string;
}

/** The policies on labels of a workspace. */
export class LabelPolicies {
  readonly #index: ConditionIndex<LabelPolicy>;

  constructor(policies: readonly LabelPolicy[]) {
    this.#index = new ConditionIndex(policies);
  }

  /** The policies that apply to a request. */
  of(subject: LabelSubject): readonly LabelPolicy[] {
    // what depends on a target is no condition of these policies
    return this.#index.find({ ...subject, virtualKey: null, provider: "", config: null, prompt: null, models: [] });
  }
}

/** The first policy that a target with these labels does not meet. */
export function findUnmetPolicy(policies: readonly LabelPolicy[], labels: Labels): UnmetPolicy | undefined {
  for (const policy of policies) {
    const label = findUnmet(labels, policy.requireLabels);
    if (label !== undefined) return { policy, label };
  }
  return undefined;
}
