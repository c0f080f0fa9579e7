import type { PassedPath, PassedTarget } from "../core/types.ts";
import { addQuery } from "../shared/hosts.ts";
import { type DeploymentSettings, findDeployment, versionOf } from "./deployment.ts";

/** Paths of a deployment (https://learn.microsoft.com/azure/ai-foundry/openai/reference). */
const deploymentPath =
  /^\/(?:chat\/completions|completions|embeddings|images\/(?:generations|edits)|audio\/(?:speech|transcriptions|translations))$/;

/** A path that starts with the host of a resource. */
const hostPath = /^\/(?:https:\/{1,2})?([a-z0-9-]{1,63})(\.openai\.azure\.(?:com|us|cn))(\/openai\/.*)$/;

/** An Azure path without the part the base URL contains. Dated API versions go into the query. */
function toOwnPath(path: string, query: string, settings: DeploymentSettings): PassedTarget {
  if (path.startsWith("/v1/")) return { path: path + query };
  const isDated = new URLSearchParams(query).has("api-version");
  const version = isDated ? undefined : versionOf(settings, undefined);
  return {
    path: path + (version === undefined || version === "v1" ? query : addQuery(query, "api-version", version)),
  };
}

/**
 * The Azure path for one of OpenAI's: below the deployment where a deployment serves it, else beside the deployments.
 */
function toUnifiedPath({ path, query, model = "" }: PassedPath, settings: DeploymentSettings): string {
  if (deploymentPath.test(path)) {
    const { name, apiVersion } = findDeployment(settings, model);
    if (apiVersion === "v1" || name === undefined) return `/v1${path}${query}`;
    return `/deployments/${encodeURIComponent(name)}${path}${addQuery(query, "api-version", apiVersion)}`;
  }
  const version = versionOf(settings, model);
  const isRealtime = path === "/realtime" && settings.deployment_id !== undefined;
  const named = isRealtime ? addQuery(query, "deployment", settings.deployment_id ?? "") : query;
  return version === "v1" ? `/v1${path}${named}` : path + addQuery(named, "api-version", version);
}

/**
 * Upstream path of a passthrough request: Azure's own paths stay unchanged, OpenAI's become Azure's.
 *
 * @throws {InvalidRequestError} If settings it needs are missing.
 */
export function passPath(asked: PassedPath, settings: DeploymentSettings): PassedTarget {
  const { path, query } = asked;
  const [, resource, domain, rest] = hostPath.exec(path) ?? [];
  if (resource !== undefined && domain !== undefined && rest !== undefined) {
    const isOwn = resource === settings.resource_name && domain === ".openai.azure.com";
    const target = toOwnPath(rest.slice("/openai".length), query, settings);
    return isOwn ? target : { ...target, baseUrl: `https://${resource}${domain}/openai` };
  }
  const own = path.replace(/^\/openai(?=\/)/, "");
  if (own !== path || own.startsWith("/deployments/")) return toOwnPath(own, query, settings);
  return { path: toUnifiedPath({ ...asked, path: path.replace(/^\/v1(?=\/)/, "") }, settings) };
}
