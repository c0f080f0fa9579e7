import { BoundedMap } from "../lib/bounded-map.ts";
import type { Queue } from "../schemas/queues.ts";
import type { AppliedLimit } from "./applied.ts";
import { type Conditional, ConditionIndex, looksAtModel } from "./condition-index.ts";
import { type BucketNamer, createBucketNamer, type GroupBy, metadataPrefix, type Subject } from "./conditions.ts";
import type { Limit } from "./limit-store.ts";

/** A policy as requests meet it. */
export interface ActivePolicy extends Conditional {
  readonly id: string;
  readonly name: string | null;
  readonly kind: "usage" | "rate";
  readonly limit: Limit;
  readonly groupBy: GroupBy;
  /** Requests wait for room in it. Absent: they are refused. */
  readonly queue?: Queue;
}

const codes = { usage: "usage_limits_policy_exhaust_error", rate: "rate_limits_policy_exhaust_error" };

/** Requests whose limits are remembered, the longest description of one, and most limits. */
const remembered = { requests: 1_000, length: 1_024, limits: 32 };

/** A text in a description. Different lists have different descriptions. */
const describeText = (text: string | null): string => (text === null ? "-" : `${text.length}:${text}`);

function describeModels({ virtualKey, models }: Subject): string {
  // with a stored provider they are also compared with its name
  let description = describeText(virtualKey);
  if (models === undefined) return `${description}?`;
  for (const spellings of models) {
    description += "[";
    for (const text of spellings) description += describeText(text);
  }
  return `${description}]`;
}

/** What is compared of a request for each key but those of metadata. Requests of one workspace share the others. */
const compared: Readonly<Record<string, (subject: Subject) => string>> = {
  api_key: ({ apiKey }) => describeText(apiKey),
  virtual_key: ({ virtualKey }) => describeText(virtualKey),
  provider: ({ provider }) => describeText(provider),
  config: ({ config }) => describeText(config),
  prompt: ({ prompt }) => describeText(prompt),
  endpoint_type: ({ endpointType }) => describeText(endpointType),
  mcp_server: ({ tool }) => (tool ? `${tool.server.map(describeText).join("")}]` : "-"),
  mcp_tool: ({ tool }) => (tool ? `${tool.name.map(describeText).join("")}]` : "-"),
  user_id: ({ tool }) => describeText(tool?.userId ?? null),
  model: describeModels,
};

/** Describes requests so that those with the same description meet the same policies in the same buckets. */
function createDescriber(keys: ReadonlySet<string>): (subject: Subject) => string {
  const readers = Object.entries(compared).flatMap(([key, read]) => (keys.has(key) ? [read] : []));
  const names = new Set(
    [...keys].flatMap((key) => (key.startsWith(metadataPrefix) ? key.slice(metadataPrefix.length) : [])),
  );
  return (subject) => {
    const { metadata } = subject;
    let description = "";
    for (const read of readers) description += read(subject);
    if (names.size > 0) {
      for (const name of Object.keys(metadata)) {
        if (names.has(name)) description += describeText(name) + describeText(metadata[name] ?? null);
      }
    }
    return description;
  };
}

/** A policy, and how its buckets are named. */
interface NamedPolicy extends Conditional {
  readonly policy: ActivePolicy;
  readonly nameOf: BucketNamer;
}

/** The policies of a workspace. */
export class PolicySet {
  /** Whether a policy applies, or counts, by the model of a request. */
  readonly looksAtModels: boolean;
  readonly #index: ConditionIndex<NamedPolicy>;
  readonly #describe: (subject: Subject) => string;
  /** Limits of requests by their description: most requests of a workspace are like earlier ones. */
  readonly #known = new BoundedMap<string, readonly AppliedLimit[]>(remembered.requests);

  constructor(policies: readonly ActivePolicy[]) {
    this.#index = new ConditionIndex(
      policies.map((policy) => ({
        policy,
        conditions: policy.conditions,
        groupBy: policy.groupBy,
        nameOf: createBucketNamer(policy.groupBy),
      })),
    );
    this.looksAtModels = this.#index.looksAtModels;
    const keys = policies.flatMap(({ conditions, groupBy }) => [...conditions, ...groupBy].map(({ key }) => key));
    this.#describe = createDescriber(new Set(keys));
  }

  /** Whether a policy that may apply to a request applies, or counts, by its model. */
  dependOnModel(subject: Subject): boolean {
    return this.#index.find(subject).some(looksAtModel);
  }

  /** The limits of the policies that apply to a request of the workspace. */
  limitsOf(subject: Subject): readonly AppliedLimit[] {
    const description = this.#describe(subject);
    const known = this.#known.get(description);
    if (known) return known;
    const found: AppliedLimit[] = [];
    for (const { policy, nameOf } of this.#index.find(subject)) {
      const bucket = nameOf(subject);
      if (bucket === undefined) continue;
      const { id, name, kind, limit, queue } = policy;
      const holder = `policy ${id} for ${bucket}`;
      const applied = { limit, bucket, kind, holder, code: codes[kind], policy: { id, name } };
      found.push(queue ? { ...applied, queue } : applied);
    }
    const isShort = description.length <= remembered.length && found.length <= remembered.limits;
    if (isShort) this.#known.set(description, found);
    return found;
  }
}
