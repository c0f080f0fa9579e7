import type { ConfigNode } from "./config.ts";
import type { ConfigProblem } from "./problem.ts";

/** Beginnings of members that belong to one provider. */
const providerPrefixes = [
  ...["openai_", "azure_", "aws_", "amz_", "amzn_", "vertex_", "anthropic_", "google_", "cohere_", "oracle_"],
  ...["stability_", "snowflake_", "fireworks_", "huggingface_", "workers_ai_", "databricks_", "modal_", "mistral_"],
  ...["ollama_", "echo_"],
];
/** Members of providers that begin otherwise. */
const providerMembers = new Set(["resource_name", "deployment_id", "api_version", "deployments", "oauth", "region"]);

/** Whether a member of a node belongs to one provider. */
export function isProviderMember(name: string): boolean {
  return providerMembers.has(name) || providerPrefixes.some((prefix) => name.startsWith(prefix));
}

/** Members each of which is enough for a node whose provider comes from the request. */
const settingsMembers = [
  ...["cache", "retry", "request_timeout", "total_timeout", "stream_idle_timeout", "forward_headers", "passthrough"],
  ...["override_params", "default_params", "drop_params", "prompt_id", "strict_open_ai_compliance"],
  ...["fetch_integrated_models", "before_request_hooks", "after_request_hooks", "input_guardrails"],
  ...["output_guardrails", "input_mutators", "output_mutators", "metadata"],
];

/** Authentication modes that bring their own credential. */
const keylessModes: Readonly<Record<string, readonly string[]>> = {
  aws_auth_type: ["assumedRole", "serviceRole"],
  azure_auth_mode: ["entra", "managed", "workload", "entraFederated"],
};

type Members = Readonly<Record<string, unknown>>;

function has(members: Members, ...names: string[]): boolean {
  return names.every((name) => members[name] !== undefined && members[name] !== null && members[name] !== "");
}

function hasCloudCredential(members: Members): boolean {
  const keyless = Object.entries(keylessModes).some(([name, modes]) => modes.includes(String(members[name])));
  if (keyless || has(members, "aws_access_key_id", "aws_secret_access_key") || has(members, "oauth")) return true;
  return (
    has(members, "vertex_region") && (has(members, "vertex_service_account_json") || has(members, "vertex_project_id"))
  );
}

/** What the reader knows of providers. */
export interface KnownProviders {
  has(slug: string): boolean;
  needsNoKey(slug: string): boolean;
}

function findProviderProblem(node: ConfigNode, members: Members, known: KnownProviders): ConfigProblem | undefined {
  const { provider = "" } = node;
  if (provider.startsWith("@")) return undefined;
  if (!known.has(provider)) return { path: "provider", message: `Invalid provider passed: ${provider}` };
  if (provider === "vertex-ai" && !hasCloudCredential(members) && node.apiKey === undefined) {
    return { path: "vertex_region", message: "must be given, with vertex_project_id or vertex_service_account_json" };
  }
  const isServed = known.needsNoKey(provider) || has(members, "api_key") || has(members, "custom_host");
  if (isServed || hasCloudCredential(members)) return undefined;
  return { path: "api_key", message: `must be given for ${provider}; or name a stored provider as @slug` };
}

function findGroupProblem({ strategy, targets, passthrough }: ConfigNode, members: Members): ConfigProblem | undefined {
  if (members.strategy === undefined) return { path: "strategy", message: "must be given where there are targets" };
  if (members.targets === undefined) return { path: "targets", message: "must be given where there is a strategy" };
  if (passthrough) return { path: "passthrough", message: "cannot stand beside targets" };
  if (strategy?.mode === "loadbalance" && targets.length > 0 && targets.every(({ weight }) => weight === 0)) {
    return { path: "targets", message: "must have a target with weight" };
  }
  if (strategy?.mode !== "conditional") return undefined;
  const names = new Set(targets.map(({ name }) => name));
  if (strategy.default !== undefined && !names.has(strategy.default)) {
    return { path: "strategy.default", message: `Invalid target name found in the query router: ${strategy.default}` };
  }
  const index = strategy.conditions.findIndex(({ then }) => !names.has(then));
  const missing = strategy.conditions[index];
  if (!missing) return undefined;
  return {
    path: `strategy.conditions[${index}].then`,
    message: `Invalid target name found in the query router: ${missing.then}`,
  };
}

/** What makes a node unusable as a whole: nothing says where its call goes, or its strategy and targets do not fit. */
export function findNodeProblem(node: ConfigNode, members: Members, known: KnownProviders): ConfigProblem | undefined {
  if (members.strategy !== undefined || members.targets !== undefined) return findGroupProblem(node, members);
  if (node.provider !== undefined) return findProviderProblem(node, members, known);
  const isEnough = has(members, "virtual_key") || settingsMembers.some((name) => has(members, name));
  if (isEnough || hasCloudCredential(members)) return undefined;
  return { path: "", message: "must have a provider, a virtual key, or a strategy with targets" };
}
