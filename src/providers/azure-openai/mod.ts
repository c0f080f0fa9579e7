import * as v from "valibot";
import { authorizeAzure, azureAuthEntries } from "../auth/azure.ts";
import { hostedMediaOperations, mediaOperations } from "../openai-compatible/media.ts";
import { createRequestMap } from "../openai-compatible/request.ts";
import { withStreamUsage } from "../shapes/plain.ts";
import { defineProvider, type OperationAdapters } from "../types.ts";
import { baseUrlOf, type DeploymentSettings, deploymentEntries, findDeployment } from "./deployment.ts";

/** Path of an operation: dated versions name the deployment there, `v1` in the body. */
function pathOf(settings: DeploymentSettings, model: string, suffix: string): string {
  const { name, apiVersion } = findDeployment(settings, model);
  if (apiVersion === "v1" || name === undefined) return `/v1${suffix}`;
  return `/deployments/${encodeURIComponent(name)}${suffix}?api-version=${encodeURIComponent(apiVersion)}`;
}

const toChat = createRequestMap("azure-openai", { developer: true }, { streams: true });

/** The model the deployment of a request wants to read. */
function modelOf(settings: DeploymentSettings, asked: string): string {
  const { name, apiVersion, model } = findDeployment(settings, asked);
  return (apiVersion === "v1" ? (name ?? model) : model) ?? asked;
}

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
      toUpstream: (request, options) => ({ ...toChat(request, options), model: modelOf(settings, request.model) }),
    },
    complete: {
      path: ({ model }) => pathOf(settings, model, "/completions"),
      toUpstream: (request) => ({ ...withStreamUsage(request), model: modelOf(settings, request.model) }),
    },
    embed: {
      path: ({ model }) => pathOf(settings, model, "/embeddings"),
      toUpstream: (request) => ({ ...request, model: modelOf(settings, request.model) }),
    },
  };
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
  operationNames: ["chat", "complete", "embed", ...mediaOperations],
});
