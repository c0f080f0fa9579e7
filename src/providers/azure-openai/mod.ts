import * as v from "valibot";
import { authorizeAzure, azureAuthEntries, azureRequirements, unreadAzureMembers } from "../auth/azure.ts";
import { defineProvider } from "../core/define.ts";
import type { RealtimeRequest } from "../core/operations.ts";
import type { OperationAdapters } from "../core/types.ts";
import { fitOwnChat } from "../openai/own-chat.ts";
import { hostedMediaOperations } from "../openai-compatible/media.ts";
import { toSessionPath } from "../openai-compatible/realtime.ts";
import { createRequestMap } from "../openai-compatible/request.ts";
import { withStreamUsage } from "../shared/plain.ts";
import {
  azureNaming,
  baseUrlOf,
  type DeploymentSettings,
  deploymentEntries,
  findDeployment,
  fromVirtualKey,
  modelBehind,
} from "./deployment.ts";
import { azureOpenaiFacts } from "./facts.ts";
import { passPath } from "./passed-path.ts";

/** Path of an operation. Dated API versions name the deployment in the path, `v1` names it in the body. */
function pathOf(settings: DeploymentSettings, model: string, suffix: string): string {
  const { name, apiVersion } = findDeployment(settings, model);
  if (apiVersion === "v1" || name === undefined) return `/v1${suffix}`;
  return `/deployments/${encodeURIComponent(name)}${suffix}?api-version=${encodeURIComponent(apiVersion)}`;
}

const toChat = createRequestMap(
  "azure-openai",
  { developer: true, replay: "none", adapt: fitOwnChat },
  { streams: true },
);

/**
 * Path of a session: dated API versions take the deployment as `deployment`, `v1` as `model`
 * (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/realtime-audio-websockets).
 */
function realtimePath(settings: DeploymentSettings, request: RealtimeRequest): string {
  const { name, apiVersion } = findDeployment(settings, request.model ?? "");
  const deployment = name ?? modelOf(settings, request.model ?? "");
  if (apiVersion !== "v1") {
    const own = { "api-version": apiVersion, deployment, model: undefined };
    return toSessionPath("/realtime", own, request);
  }
  const model = deployment === "" ? undefined : deployment;
  return toSessionPath("/v1/realtime", { model, deployment: model }, request);
}

/**
 * Path of the Responses API; no API version names a deployment in it
 * (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses).
 */
function responsesPath(settings: DeploymentSettings, model: string): string {
  const { apiVersion } = findDeployment(settings, model);
  return apiVersion === "v1" ? "/v1/responses" : `/responses?api-version=${encodeURIComponent(apiVersion)}`;
}

/** The model to send in the body for a request's deployment. */
function modelOf(settings: DeploymentSettings, asked: string): string {
  const { name, apiVersion, model } = findDeployment(settings, asked);
  return (apiVersion === "v1" ? (name ?? model) : model) ?? asked;
}

/** First API version with a date that has the Responses API. */
const firstResponses = "2025-03-01";

/** Whether the Responses API exists in a version; names without a date, such as `v1`, are newer. */
const hasResponses = (version: string): boolean => !/^\d{4}-/.test(version) || version >= firstResponses;

function operationsOf(settings: DeploymentSettings): OperationAdapters {
  return {
    ...hostedMediaOperations({
      slug: "azure-openai",
      path: (model, suffix) => pathOf(settings, model, suffix),
      model: (asked) => modelOf(settings, asked),
      speechEvents: true,
    }),
    chat: {
      path: ({ model }) => pathOf(settings, model, "/chat/completions"),
      toUpstream: ({ model, ...request }, options) => ({
        ...toChat({ ...request, model: modelBehind(model, settings) }, options),
        model: modelOf(settings, model),
      }),
    },
    complete: {
      path: ({ model }) => pathOf(settings, model, "/completions"),
      toUpstream: (request) => ({ ...withStreamUsage(request), model: modelOf(settings, request.model) }),
    },
    embed: {
      path: ({ model }) => pathOf(settings, model, "/embeddings"),
      toUpstream: (request) => ({ ...request, model: modelOf(settings, request.model) }),
    },
    moderate: {
      path: ({ model }) => pathOf(settings, model ?? "", "/moderations"),
      toUpstream: ({ model, ...request }) => ({ ...request, model: modelOf(settings, model ?? "") || undefined }),
    },
    realtime: { method: "GET", path: (request) => realtimePath(settings, request) },
    responses: {
      serves: ({ model }) => hasResponses(findDeployment(settings, model).apiVersion),
      path: ({ model }) => responsesPath(settings, model),
      toUpstream: (request) => {
        const { name, model } = findDeployment(settings, request.model);
        return { ...request, model: name ?? model ?? request.model };
      },
    },
  };
}

/** Azure OpenAI (https://learn.microsoft.com/azure/ai-foundry/openai/reference): OpenAI's shapes, called by deployment. */
export const azureOpenai = defineProvider({
  slug: "azure-openai",
  searches: (operation) => operation === "responses",
  settings: {
    prefix: "azure",
    configNames: {
      resource_name: ["resource_name"],
      deployment_id: ["deployment_id"],
      api_version: ["api_version"],
      deployment_config: ["deployments"],
    },
    unread: unreadAzureMembers,
    requires: {
      ...azureRequirements,
      integrations: ["azure_auth_mode", "azure_resource_name", "azure_deployment_config"],
    },
    virtualKeys: {
      azure_resource_name: { field: "resourceName" },
      azure_deployment_config: { field: "deploymentConfig", convert: fromVirtualKey },
    },
    schema: v.object({ ...deploymentEntries, ...azureAuthEntries }),
  },
  baseUrl: baseUrlOf,
  hasLogprobs: true,
  passPath: (asked, settings) => passPath(asked, settings),
  models: {
    inPath: azureNaming.inPath,
    isPathOnly: true,
    canonical: (model, settings) => azureNaming.canonical(model, settings),
    own: (settings) => azureNaming.own(settings),
    behind: (model, settings) => modelBehind(model, settings),
  },
  facts: azureOpenaiFacts,
  isNativeChat: true,
  nativeGroups: ["assistants", "vector_stores", "videos", "realtime_secrets"],
  authenticate: () => ({}),
  authorize: (request, settings, tools) =>
    authorizeAzure(request, settings, { tools, toKeyHeaders: (key) => ({ "api-key": key }) }),
  operations: operationsOf,
  // https://learn.microsoft.com/azure/ai-foundry/openai/how-to/batch
  batches: { endpoints: ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"] },
});
