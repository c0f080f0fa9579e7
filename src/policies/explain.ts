import { ConditionIndex } from "./condition-index.ts";
import { bucketOf, type Condition, firstValue, type Subject } from "./conditions.ts";

/** Whether a policy applies to a request, and why. */
export interface Verdict {
  readonly applies: boolean;
  readonly why: string;
  /** What the request counts in; null where the policy does not apply. */
  readonly bucket: string | null;
}

const holds = (condition: Condition, subject: Subject): boolean =>
  new ConditionIndex([{ conditions: [condition] }]).find(subject).length > 0;

/** Why a condition does not hold; undefined where it does. */
function findProblem(condition: Condition, subject: Subject): string | undefined {
  if (holds(condition, subject)) return undefined;
  const { key, excludes } = condition;
  const value = firstValue(key, subject);
  if (value === undefined) return `The request has no value for the condition ${key}`;
  const isExcluded = excludes != null && holds({ ...condition, excludes: null }, subject);
  if (isExcluded) return `The condition ${key} excludes ${value}`;
  return `The condition ${key} asks for another value than ${value}`;
}

/** Whether a policy applies to a request. The reason names the first condition that fails. */
export function explainPolicy(
  policy: { readonly conditions: readonly Condition[]; readonly groupBy: readonly { readonly key: string }[] },
  subject: Subject,
): Verdict {
  const no = (why: string): Verdict => ({ applies: false, why, bucket: null });
  for (const condition of policy.conditions) {
    const problem = findProblem(condition, subject);
    if (problem !== undefined) return no(problem);
  }
  const bucket = bucketOf(policy.groupBy, subject);
  if (bucket !== undefined) return { applies: true, why: "All conditions hold", bucket };
  const missing = policy.groupBy.find((group) => firstValue(group.key, subject) === undefined);
  return no(`The request has no value for ${missing?.key}, by which the policy groups`);
}
