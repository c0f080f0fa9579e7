import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { addressSetting, hostLabel, storedSetting } from "../core/settings.ts";

/** A name that becomes one segment of a path. */
const segment = v.pipe(
  v.string("must be a string"),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, "must be letters, digits, dots, hyphens or underscores"),
);
const version = v.pipe(
  v.string("must be a string"),
  v.regex(/^[A-Za-z0-9.-]{1,30}$/, "must be a version such as 2024-10-21, or v1"),
);

/** Deployments as routing configs define them, under the field names of integrations. */
function toOwnNames(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((one: unknown) => {
    if (!isObject(one)) return one;
    const { deployment_id: name, api_version: apiVersion, ...rest } = one;
    return {
      ...(name !== undefined && { azure_deployment_name: name }),
      ...(apiVersion !== undefined && { azure_api_version: apiVersion }),
      ...rest,
    };
  });
}

/** Deployments of an integration, as JSON text. */
const DeploymentConfig = v.pipe(
  v.string(),
  v.transform((text) => toOwnNames(parseJson(text))),
  v.array(
    v.object({
      alias: v.nullish(v.string()),
      azure_deployment_name: segment,
      azure_api_version: version,
      azure_model_slug: v.nullish(v.string()),
      is_default: v.nullish(v.boolean()),
    }),
    "must be a list of deployments",
  ),
);

const Alias = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.maxLength(255, "must have at most 255 characters"),
);

/** Deployments as integrations write them. */
const StoredDeployments = v.pipe(
  v.array(
    v.looseObject(
      {
        alias: v.nullish(Alias),
        azure_api_version: version,
        azure_deployment_name: segment,
        azure_model_slug: Alias,
        is_default: v.nullish(v.boolean("must be true or false")),
      },
      "must be an object with its members",
    ),
    "must be a list",
  ),
  v.minLength(1, "must have at least 1 entry"),
  v.maxLength(100, "must have at most 100 entries"),
);

const VirtualKeyDeployments = v.array(
  v.object({
    apiVersion: v.string(),
    deploymentName: v.string(),
    alias: v.nullish(v.string()),
    is_default: v.nullish(v.boolean()),
  }),
);

/** Deployments as integrations have them, from those of a virtual key. */
export function fromVirtualKey(value: unknown): unknown {
  return v.parse(VirtualKeyDeployments, value).map(({ alias, apiVersion, deploymentName, is_default }) => ({
    alias: alias ?? deploymentName,
    azure_api_version: apiVersion,
    azure_deployment_name: deploymentName,
    azure_model_slug: alias ?? deploymentName,
    is_default: is_default ?? false,
  }));
}

/** Settings that say which deployment is called. */
export const deploymentEntries = {
  resource_name: v.optional(addressSetting(hostLabel("must be 1 to 63 lower-case letters, digits or hyphens"))),
  deployment_id: v.optional(segment),
  api_version: v.optional(version),
  model_name: v.optional(v.string()),
  deployment_config: v.optional(storedSetting(DeploymentConfig, StoredDeployments)),
};
export type DeploymentSettings = v.InferOutput<v.ObjectSchema<typeof deploymentEntries, undefined>>;

/** A deployment of a model, and how to call it. */
interface Deployment {
  /** Undefined when the body selects the deployment. */
  name: string | undefined;
  apiVersion: string;
  /** The model to send in the body; undefined to send the request's own. */
  model: string | undefined;
}

function requireText(value: string | undefined, name: string): string {
  if (value) return value;
  const param = `x-gateway-azure-${name}`;
  throw new InvalidRequestError(`Cannot call azure-openai: set ${param}`, { param, code: "invalid_header" });
}

/**
 * The deployment that serves a model: the one whose alias is the model, else the default deployment.
 *
 * @throws {InvalidRequestError} If no deployment matches, or its version is missing.
 */
export function findDeployment(settings: DeploymentSettings, model: string): Deployment {
  const { deployment_config: several } = settings;
  if (settings.deployment_id === undefined && several !== undefined) {
    const one = several.find(({ alias }) => alias === model) ?? several.find(({ is_default }) => is_default === true);
    if (!one) {
      throw new InvalidRequestError("No azure alias passed/default config found", {
        param: "model",
        code: "invalid_deployment",
      });
    }
    const { azure_deployment_name: name, azure_api_version: apiVersion, azure_model_slug: slug } = one;
    return { name, apiVersion, model: settings.model_name ?? slug ?? undefined };
  }
  const apiVersion = requireText(settings.api_version, "api-version");
  const name = apiVersion === "v1" ? settings.deployment_id : requireText(settings.deployment_id, "deployment-id");
  return { name, apiVersion, model: settings.model_name };
}

/**
 * The canonical model of a name: the alias of the deployment with that alias, model or deployment name. Azure ignores
 * case in names.
 */
function canonicalModel(model: string, { deployment_config: several = [] }: DeploymentSettings): string {
  const wanted = model.toLowerCase();
  const isWanted = (name: string | null | undefined) => name?.toLowerCase() === wanted;
  const ofModel = several.filter(({ azure_model_slug: slug }) => isWanted(slug));
  const found =
    several.find(({ alias }) => isWanted(alias)) ??
    several.find(({ azure_deployment_name: name }) => isWanted(name)) ??
    // a model with several deployments does not identify one of them
    (ofModel.length === 1 ? ofModel[0] : undefined);
  return found ? found.alias || found.azure_model_slug || found.azure_deployment_name : model;
}

/** The model of the deployment that serves a request, where the settings name it; else the name that was asked for. */
export function modelBehind(asked: string, settings: DeploymentSettings): string {
  const { deployment_id: id, deployment_config: several, model_name: named } = settings;
  if (named) return named;
  if (id !== undefined || several === undefined) return asked;
  const one = several.find(({ alias }) => alias === asked) ?? several.find(({ is_default }) => is_default === true);
  return one?.azure_model_slug || one?.azure_deployment_name || asked;
}

/** How models are named here. */
export const azureNaming = {
  canonical: canonicalModel,
  inPath: (path: string) => /(?:^|\/)deployments\/([^/]+)/i.exec(path)?.[1],
  own: ({ deployment_id: deployment, model_name: model }: DeploymentSettings) => [deployment, model],
};

/**
 * API version for paths without a deployment.
 *
 * @throws {InvalidRequestError} If it is missing.
 */
export function versionOf(settings: DeploymentSettings, model: string | undefined): string {
  const { api_version: version, deployment_config: several } = settings;
  if (version === undefined && several !== undefined) return findDeployment(settings, model ?? "").apiVersion;
  return requireText(version, "api-version");
}

/** Base URL of a resource (https://learn.microsoft.com/azure/ai-foundry/openai/reference). */
export function baseUrlOf({ resource_name: resource }: DeploymentSettings): string {
  return `https://${requireText(resource, "resource-name")}.openai.azure.com/openai`;
}
