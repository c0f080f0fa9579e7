import * as v from "valibot";
import { authorizeAzure, azureAuthEntries } from "../auth/azure.ts";
import { withStreamUsage } from "../shapes/plain.ts";
import { defineProvider, type OperationAdapters } from "../types.ts";
import { baseUrlOf, type DeploymentSettings, deploymentEntries, findDeployment } from "./deployment.ts";

/** Path of an operation: dated versions name the deployment there, `v1` in the body. */
function pathOf(settings: DeploymentSettings, model: string, suffix: string): string {
  const { name, apiVersion } = findDeployment(settings, model);
  if (apiVersion === "v1" || name === undefined) return `/v1${suffix}`;
  return `/deployments/${encodeURIComponent(name)}${suffix}?api-version=${encodeURIComponent(apiVersion)}`;
}

/** The request with the model its deployment wants to read. */
function withModel<Request extends { model: string }>(settings: DeploymentSettings, request: Request): Request {
  const { name, apiVersion, model } = findDeployment(settings, request.model);
  const wanted = apiVersion === "v1" ? (name ?? model) : model;
  return wanted === undefined || wanted === request.model ? request : { ...request, model: wanted };
}

function operationsOf(settings: DeploymentSettings) {
  return {
    chat: {
      path: ({ model }) => pathOf(settings, model, "/chat/completions"),
      toUpstream: (request) => withModel(settings, withStreamUsage(request)),
    },
    complete: {
      path: ({ model }) => pathOf(settings, model, "/completions"),
      toUpstream: (request) => withModel(settings, withStreamUsage(request)),
    },
    embed: {
      path: ({ model }) => pathOf(settings, model, "/embeddings"),
      toUpstream: (request) => withModel(settings, request),
    },
  } satisfies OperationAdapters;
}

/** Azure OpenAI (https://learn.microsoft.com/azure/ai-foundry/openai/reference): OpenAI's shapes, called by deployment. */
export const azureOpenai = defineProvider({
  slug: "azure-openai",
  settings: { prefix: "azure", schema: v.object({ ...deploymentEntries, ...azureAuthEntries }) },
  baseUrl: baseUrlOf,
  authenticate: () => ({}),
  authorize: (request, settings, tools) =>
    authorizeAzure(request, settings, { tools, toKeyHeaders: (key) => ({ "api-key": key }) }),
  operations: operationsOf,
  operationNames: ["chat", "complete", "embed"],
});
