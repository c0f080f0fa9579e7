import { isObject } from "../lib/json.ts";
import { type AutoClassifier, findClassifierProblems } from "./auto-classifier.ts";
import type { ConfigNode } from "./config.ts";
import type { ConfigProblem } from "./problem.ts";

/** Whether a field of a node is a setting of one provider. */
export function isProviderMember(name: string, known: KnownProviders): boolean {
  return name === "oauth" || known.hasSetting(name);
}

/** Fields each of which makes a node complete: its credential or provider comes from elsewhere. */
const enoughMembers = [
  "cache",
  "retry",
  "request_timeout",
  "forward_headers",
  "default_params",
  "drop_params",
  "passthrough",
  "prompt_id",
  "before_request_hooks",
  "after_request_hooks",
  "input_guardrails",
  "output_guardrails",
  "input_mutators",
  "output_mutators",
];
/** Fields each of which makes a node complete whose provider comes from the request. */
const settingsMembers = [
  ...enoughMembers,
  "total_timeout",
  "stream_idle_timeout",
  "override_params",
  "strict_open_ai_compliance",
  "fetch_integrated_models",
  "metadata",
  "prompt_cache",
  "require_labels",
  "shadow",
];
/** Fields that cannot be combined with `passthrough` at the root. */
const exclusiveMembers = ["override_params", "input_guardrails", "output_guardrails"];

type Members = Readonly<Record<string, unknown>>;

function has(members: Members, ...names: string[]): boolean {
  return names.every((name) => members[name] !== undefined && members[name] !== null && members[name] !== "");
}

function hasAny(members: Members, names: readonly string[]): boolean {
  return names.some((name) => has(members, name));
}

/** What the reader knows of providers. */
export interface KnownProviders {
  has(slug: string): boolean;
  needsNoKey(slug: string): boolean;
  /** Whether a member of a config is a setting of a provider. */
  hasSetting(member: string): boolean;
  /** Whether settings among the members authenticate calls in place of a key. */
  hasCredential(members: Members): boolean;
  /** Lists of settings of which a provider needs one where there is no key; undefined where it needs none. */
  neededCredentials(slug: string): readonly (readonly string[])[] | undefined;
}

/** What is missing where none of these lists of settings is there. */
function findMissing(lists: readonly (readonly string[])[], members: Members): ConfigProblem | undefined {
  if (lists.some((names) => has(members, ...names))) return undefined;
  const [path = ""] = lists[0] ?? [];
  const others = lists.map((names) => names.filter((name) => name !== path).join(" and "));
  return { path, message: `must be given, with ${others.join(" or ")}` };
}

/** Whether a node brings its own credential. */
function hasOwnCredential(members: Members, known: KnownProviders): boolean {
  return has(members, "oauth") || known.hasCredential(members);
}

function findProviderProblem(provider: string, members: Members, known: KnownProviders): ConfigProblem | undefined {
  if (/^@[^/]/.test(provider)) return undefined;
  if (!known.has(provider)) return { path: "provider", message: `Invalid provider passed: ${provider}` };
  if (hasAny(members, ["virtual_key", "api_key"])) return undefined;
  const needed = has(members, "oauth") ? undefined : known.neededCredentials(provider);
  const missing = needed && findMissing(needed, members);
  if (missing) return missing;
  const isServed = known.needsNoKey(provider) || hasAny(members, ["custom_host", ...enoughMembers]);
  if (isServed || hasOwnCredential(members, known)) return undefined;
  return { path: "api_key", message: `must be given for ${provider}, or name a stored provider as @slug` };
}

function findNameProblems(node: ConfigNode, strategy: Members): ConfigProblem[] {
  const { targets } = node;
  const names = new Set(targets.map(({ name }) => name));
  const member = node.strategy?.mode === "auto" ? "rules" : "conditions";
  const conditions: readonly unknown[] = Array.isArray(strategy[member]) ? strategy[member] : [];
  const places = conditions.map((condition, index): readonly [string, unknown] => [
    `strategy.${member}[${index}].then`,
    isObject(condition) ? condition.then : undefined,
  ]);
  return [...places, ["strategy.default", strategy.default] as const].flatMap(([path, name]) => {
    if (typeof name !== "string" || name === "" || names.has(name.normalize("NFC"))) return [];
    return [{ path, message: `Invalid target name found in the query router: ${name.slice(0, 256)}` }];
  });
}

/** What is wrong with the targets of a group that goes by what is in the request: each is a tier. */
function findTierProblems(targets: readonly ConfigNode[], classifier: AutoClassifier | undefined): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (targets.length < 2)
    problems.push({ path: "targets", message: "must have at least two targets, the smallest first" });
  for (const [index, { name }] of targets.entries()) {
    const path = `targets[${index}].name`;
    if (name === undefined || name === "")
      problems.push({ path, message: "must be given: rules and log rows name it" });
    else if (targets.findIndex((one) => one.name === name) < index)
      problems.push({ path, message: "must differ from the others" });
  }
  const names = new Set(targets.map(({ name }) => name));
  return classifier ? [...problems, ...findClassifierProblems(classifier, names)] : problems;
}

/** Whether a target names the provider that it calls. */
function namesProvider({ passthrough, provider, virtualKey, overrideParams: { model } }: ConfigNode): boolean {
  if (passthrough) return false;
  return provider !== undefined || virtualKey !== undefined || (typeof model === "string" && /^@/.test(model));
}

/** Targets below a node whose check would call the provider of some request. */
function findCheckProblems({ strategy, targets, path }: ConfigNode): ConfigProblem[] {
  const health = strategy?.mode === "loadbalance" ? strategy.balance?.health : undefined;
  if (!health || !("model" in health.ask)) return [];
  return targets.flatMap(listCalls).flatMap((leaf) => {
    const place = `${leaf.path.slice(path.length + 1)}.provider`;
    return namesProvider(leaf) ? [] : [{ path: place, message: "must be given: checks use no provider of a request" }];
  });
}

const listCalls = (node: ConfigNode): ConfigNode[] => (node.strategy ? node.targets.flatMap(listCalls) : [node]);

function findGroupProblems(node: ConfigNode, members: Members): ConfigProblem[] {
  const { strategy, targets, passthrough } = node;
  const problems: ConfigProblem[] = [];
  if (members.strategy === undefined) {
    problems.push({ path: "strategy", message: "must be given where there are targets" });
  }
  if (members.targets === undefined) {
    problems.push({ path: "targets", message: "must be given where there is a strategy" });
  }
  if (passthrough) problems.push({ path: "passthrough", message: "cannot be combined with targets" });
  if (strategy?.mode === "loadbalance" && targets.length > 0 && targets.every(({ weight }) => weight === 0)) {
    problems.push({ path: "targets", message: "must have a target with weight" });
  }
  problems.push(...findCheckProblems(node));
  if (strategy?.mode === "auto") problems.push(...findTierProblems(targets, strategy.classifier));
  const isNamed = strategy?.mode === "conditional" || strategy?.mode === "auto";
  if (!isNamed || targets.length === 0 || !isObject(members.strategy)) return problems;
  return [...problems, ...findNameProblems(node, members.strategy)];
}

/**
 * Why a node is unusable: its destination is missing, or its strategy and targets do not fit together.
 *
 * @param members By snake_case name, as written; of invalid ones only the name matters.
 */
export function findNodeProblems(node: ConfigNode, members: Members, known: KnownProviders): ConfigProblem[] {
  const isRoot = node.path === "config";
  const excluded = isRoot && node.passthrough ? exclusiveMembers.filter((name) => has(members, name)) : [];
  const problems = excluded.map((path) => ({ path, message: "cannot be combined with passthrough" }));
  if (members.strategy !== undefined || members.targets !== undefined) {
    return [...problems, ...findGroupProblems(node, members)];
  }
  if (node.provider !== undefined)
    return [...problems, findProviderProblem(node.provider, members, known) ?? []].flat();
  if (hasAny(members, ["provider", "virtual_key", ...settingsMembers]) || hasOwnCredential(members, known))
    return problems;
  return [{ path: "", message: "must have a provider, a virtual key, or a strategy with targets" }];
}

/** Targets of copies whose provider would be that of the request: the credential of its caller is not sent elsewhere. */
export function findShadowProblems(node: ConfigNode): ConfigProblem[] {
  if (node.strategy) return node.targets.flatMap(findShadowProblems);
  const path = node.path.replace(/^config\./, "");
  if (node.passthrough) return [{ path: `${path}.passthrough`, message: "cannot be used for copies: name a provider" }];
  if (node.promptId !== undefined) {
    return [{ path: `${path}.prompt_id`, message: "cannot be used for copies: they have the text of the original" }];
  }
  return namesProvider(node)
    ? []
    : [{ path: `${path}.provider`, message: "must be given: copies do not use that of the request" }];
}
