import type { PlanNode } from "../../src/routing/plan.ts";
import type { Json } from "./routing.ts";

// An independent, plain evaluator of configs as they are written.

/** A group as it is written. */
export interface Group {
  mode: string;
  targets: readonly Json[];
  conditions: readonly { query: Json; then: string }[];
  default: string | undefined;
  cb_config: Json | undefined;
}

/** A group as it is written, undefined for a leaf. */
export function groupOf(node: Json): Group | undefined {
  if (!node.strategy) return undefined;
  // the configs of these tests have this shape
  return { conditions: [], ...node.strategy, targets: node.targets } as unknown as Group;
}

const weightOf = (node: Json): number => (node.weight === undefined ? 1 : Number(node.weight));

/** Whether one of the four queries of the generated configs holds. */
function isTrue(query: Json, { tier, size }: Json): boolean {
  const written = JSON.stringify(query);
  if (written.includes("$or")) return size === 0 || tier === "paid";
  if (written.includes("$gte")) return size !== undefined && Number(size) >= 2;
  if (written.includes("$ne")) return tier !== undefined && tier !== "free";
  return tier === "free";
}

/** Index of the target conditions lead to. */
function chosenIndex({ conditions, targets, default: otherwise }: Group, metadata: Json): number {
  const name = conditions.find(({ query }) => isTrue(query, metadata))?.then ?? otherwise;
  return targets.findIndex((target) => target.name === name);
}

/** Indexes of the targets one request may be given, of which one or all are used. */
function possibleIndexes(group: Group, metadata: Json): number[] {
  const all = [...group.targets.keys()];
  if (group.mode === "single") return [0];
  if (group.mode === "conditional") return [chosenIndex(group, metadata)].filter((index) => index >= 0);
  return group.mode === "fallback" ? all : all.filter((index) => weightOf(group.targets[index] ?? {}) > 0);
}

/** Whether a node may lead to no target. */
export function canFail(node: Json, metadata: Json): boolean {
  const group = groupOf(node);
  if (!group) return false;
  const below = possibleIndexes(group, metadata).map((index) => canFail(group.targets[index] ?? {}, metadata));
  return group.mode === "fallback" ? below.every(Boolean) : below.length === 0 || below.some(Boolean);
}

/** Whether a plan is one the config allows. */
export function isAllowed(plan: PlanNode, node: Json, path: string, metadata: Json): boolean {
  const group = groupOf(node);
  if (!group) return plan.kind === "attempt" && plan.attempt.node.path === path;
  const matches = (child: PlanNode, index: number) =>
    isAllowed(child, group.targets[index] ?? {}, `${path}.targets[${index}]`, metadata);
  const indexes = possibleIndexes(group, metadata);
  if (group.mode !== "fallback") return indexes.some((index) => matches(plan, index));
  if (plan.kind !== "fallback") return false;
  const children = [...plan.children];
  for (const index of indexes) {
    const [next] = children;
    if (next && matches(next, index)) children.shift();
    else if (!canFail(group.targets[index] ?? {}, metadata)) return false;
  }
  return children.length === 0;
}

/** The nodes from the root to a label. */
export function nodesTo(root: Json, label: string): Json[] {
  const nodes = [root];
  for (const [, index] of label.matchAll(/\[(\d+)\]/g)) {
    nodes.push(groupOf(nodes.at(-1) ?? {})?.targets[Number(index)] ?? {});
  }
  return nodes;
}

/** Wire names of settings, by the name they get. */
const scalars = {
  promptCache: "prompt_cache",
  requestTimeoutMs: "request_timeout",
  totalTimeoutMs: "total_timeout",
  streamIdleTimeoutMs: "stream_idle_timeout",
  customHost: "custom_host",
  forwardHeaders: "forward_headers",
  strict: "strict_open_ai_compliance",
  requires: "requires",
};
const phases = [
  ["before_request_hooks", "input_guardrails", "input_mutators"],
  ["after_request_hooks", "output_guardrails", "output_mutators"],
];

/** Undefined for an object without members. */
const optional = (members: Json): Json | undefined => (Object.keys(members).length > 0 ? members : undefined);

/** Settings a leaf must have, found by looking upwards for each of them. */
export function expectedSettings(nodes: readonly Json[]): Json {
  const upwards = [...nodes].reverse();
  const nearest = (...names: string[]) => upwards.find((node) => names.some((name) => node[name] !== undefined)) ?? {};
  const merged = (name: string) => {
    const all: Json = {};
    for (const node of nodes) for (const [key, value] of Object.entries(node[name] ?? {})) all[key] = value;
    return all;
  };
  const { retry } = nearest("retry") as { retry?: Json };
  const { cache } = nearest("cache") as { cache?: Json };
  const hooks: Json = {};
  for (const names of phases) {
    const node = nearest(...names);
    for (const name of names) if (node[name] !== undefined) hooks[name] = node[name];
  }
  return {
    retry: retry && {
      attempts: retry.attempts,
      onStatusCodes: retry.on_status_codes,
      useRetryAfter: retry.use_retry_after_headers,
    },
    cache: cache && { mode: cache.mode, maxAgeSeconds: cache.max_age, join: false, problem: undefined },
    ...Object.fromEntries(Object.entries(scalars).map(([name, written]) => [name, nearest(written)[written]])),
    labels: optional(merged("labels")),
    metadata: optional(merged("metadata")),
    requireLabels: optional(merged("require_labels")),
    hooks,
    overrideParams: merged("override_params"),
    defaultParams: merged("default_params"),
    dropParams: [...new Set(nodes.flatMap((node) => (node.drop_params as string[] | undefined) ?? []))].sort(),
  };
}

/** The threshold of a leaf's circuit breaker: that of the nearest group, unless a condition cuts it off. */
export function expectedThreshold(nodes: readonly Json[]): unknown {
  let threshold: unknown;
  for (const node of nodes.slice(0, -1)) {
    const group = groupOf(node);
    threshold = group?.mode === "conditional" ? undefined : (group?.cb_config?.failure_threshold ?? threshold);
  }
  return threshold;
}

/** Whether the circuits of all calls below a node are open. */
export function isFullyOpen(nodes: readonly Json[], path: string, open: ReadonlySet<string>): boolean {
  const node = nodes.at(-1) ?? {};
  const group = groupOf(node);
  if (!group) return open.has(path) && expectedThreshold(nodes) !== undefined;
  if (group.mode === "conditional") return false;
  return [...group.targets.entries()]
    .filter(([, target]) => group.mode !== "loadbalance" || weightOf(target) > 0)
    .every(([index, target]) => isFullyOpen([...nodes, target], `${path}.targets[${index}]`, open));
}

/** Labels of all leaves. */
export function leavesOf(node: Json, path = "config"): string[] {
  const group = groupOf(node);
  return group ? group.targets.flatMap((target, index) => leavesOf(target, `${path}.targets[${index}]`)) : [path];
}

/** Probability of each leaf to be called first. */
export function sharesOf(node: Json, path: string, metadata: Json): [string, number][] {
  const group = groupOf(node);
  if (!group) return [[path, 1]];
  const indexes = possibleIndexes(group, metadata);
  const chosen = group.mode === "loadbalance" ? indexes : indexes.slice(0, 1);
  const weight = (index: number) => (group.mode === "loadbalance" ? weightOf(group.targets[index] ?? {}) : 1);
  const total = chosen.reduce((sum, index) => sum + weight(index), 0);
  return chosen.flatMap((index) =>
    sharesOf(group.targets[index] ?? {}, `${path}.targets[${index}]`, metadata).map(
      ([label, share]): [string, number] => [label, (share * weight(index)) / total],
    ),
  );
}
