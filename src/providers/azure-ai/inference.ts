import type { ResponsesRequest } from "../../schemas/responses.ts";
import type { OperationAdapters } from "../core/types.ts";
import { hostedMediaOperations } from "../openai-compatible/media.ts";
import { createRequestMap } from "../openai-compatible/request.ts";
import { correctCalls } from "../shared/call-corrector.ts";
import { encodeWhereAsked } from "../shared/embeddings.ts";
import { withStreamUsage } from "../shared/plain.ts";

/** Settings of the model inference API. */
export interface InferenceSettings {
  deployment_name?: string | undefined;
  api_version?: string | undefined;
  extra_params?: string | undefined;
  provider_responses_proxy?: boolean | undefined;
}

/** Responses input items with a role need the type `message`. */
function withItemTypes(request: ResponsesRequest): ResponsesRequest {
  const { input } = request;
  if (!Array.isArray(input)) return request;
  const typed = input.map((item) => (typeof item.role === "string" ? { type: "message", ...item } : item));
  return { ...request, input: typed };
}

/** Fields without a counterpart in the API are dropped or rejected. */
const toChat = createRequestMap("azure-ai", { unsupported: ["functions", "function_call"] }, { streams: true });

function partsOf(settings: InferenceSettings) {
  const { api_version: version, deployment_name: deployment, extra_params: extra } = settings;
  const query = version === undefined ? "" : `?api-version=${encodeURIComponent(version)}`;
  const headers = (): Record<string, string> => ({
    ...(extra !== undefined && { "extra-parameters": extra }),
    ...(deployment !== undefined && { "azureml-model-deployment": deployment }),
  });
  return { query, headers };
}

/** Image and audio operations in OpenAI's shapes (https://learn.microsoft.com/azure/ai-foundry/openai/reference). */
export function foundryMedia(settings: InferenceSettings): OperationAdapters {
  const { query, headers } = partsOf(settings);
  return hostedMediaOperations({ slug: "azure-ai", path: (_model, suffix) => suffix + query, headers });
}

/** Operations of the model inference API (https://learn.microsoft.com/rest/api/aifoundry/modelinference/). */
export function inferenceOperations(settings: InferenceSettings): OperationAdapters {
  const { query, headers } = partsOf(settings);
  return {
    chat: {
      path: () => `/chat/completions${query}`,
      headers,
      toUpstream: toChat,
      chunkCorrector: correctCalls,
    },
    complete: { path: () => `/completions${query}`, headers, toUpstream: withStreamUsage },
    embed: { path: () => `/embeddings${query}`, headers, fromUpstream: encodeWhereAsked },
    ...(settings.provider_responses_proxy === true && {
      responses: { path: () => `/responses${query}`, headers, toUpstream: withItemTypes },
    }),
  };
}
