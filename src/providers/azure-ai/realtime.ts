import type { OperationAdapter } from "../core/types.ts";
import { toSessionPath } from "../openai-compatible/realtime.ts";
import type { InferenceSettings } from "./inference.ts";

/** Path of sessions below the base URL that `realtimeBase` returns. */
export const realtimePath = "/realtime";

const openaiV1 = /\/openai\/v1$/;
const deploymentForm = /\/openai\/deployments\/([^/]+)/;

/** Base URL of a Foundry resource's OpenAI API, which includes sessions, from any of the resource's URLs. */
export function realtimeBase(url: string, { api_version: version }: InferenceSettings): string {
  if (openaiV1.test(url)) return url;
  // unchanged, so that the URL check sees what the caller wrote
  const origin = /^https?:\/\/[^/]+/.exec(url)?.[0] ?? url;
  return version === undefined || version === "v1" ? `${origin}/openai/v1` : `${origin}/openai`;
}

/** Realtime sessions (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/realtime-audio-websockets). */
export function realtimeOperation(url: string, settings: InferenceSettings): OperationAdapter<"realtime"> {
  const { api_version: version, deployment_name: named } = settings;
  const deployment = named ?? deploymentForm.exec(url)?.[1];
  const isDated = version !== undefined && version !== "v1" && !openaiV1.test(url);
  return {
    method: "GET",
    path(request) {
      const name = deployment ?? request.model;
      const own = isDated
        ? { "api-version": version, deployment: name, model: undefined }
        : { model: name, deployment: name };
      return toSessionPath(realtimePath, own, request);
    },
  };
}
