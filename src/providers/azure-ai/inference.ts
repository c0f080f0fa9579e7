import { withStreamUsage } from "../shapes/plain.ts";
import type { ConversionOptions, OperationAdapters } from "../types.ts";

/** Settings of the model inference API. */
export interface InferenceSettings {
  api_version?: string | undefined;
  deployment_name?: string | undefined;
  extra_params?: string | undefined;
}

/** Members the API has no counterpart of. */
const unsupported = ["functions", "function_call"] as const;

function withoutUnsupported<Request extends object>(request: Request, options: ConversionOptions): Request {
  const named = unsupported.filter((name) => Object.hasOwn(request, name));
  if (named.length === 0) return request;
  const kept = { ...request };
  for (const name of named) {
    Reflect.deleteProperty(kept, name);
    options.drop(name);
  }
  return kept;
}

/** Operations of the model inference API (https://learn.microsoft.com/rest/api/aifoundry/modelinference/). */
export function inferenceOperations(settings: InferenceSettings) {
  const { api_version: version, deployment_name: deployment, extra_params: extra } = settings;
  const query = version === undefined ? "" : `?api-version=${encodeURIComponent(version)}`;
  const headers = (): Record<string, string> => ({
    ...(extra !== undefined && { "extra-parameters": extra }),
    ...(deployment !== undefined && { "azureml-model-deployment": deployment }),
  });
  return {
    chat: {
      path: () => `/chat/completions${query}`,
      headers,
      toUpstream: (request, options) => withoutUnsupported(withStreamUsage(request), options),
    },
    complete: { path: () => `/completions${query}`, headers, toUpstream: withStreamUsage },
    embed: { path: () => `/embeddings${query}`, headers },
  } satisfies OperationAdapters;
}
