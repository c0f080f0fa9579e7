import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { bearer } from "../auth/headers.ts";
import type { SettingsDefinition } from "../settings.ts";
import { defineProvider, type OperationAdapters, type OperationName, type Provider } from "../types.ts";

/** Operations in OpenAI's shapes: requests and answers are the gateway's own. */
const operations = {
  chat: { path: () => "/chat/completions", toUpstream: withStreamUsage },
  complete: { path: () => "/completions", toUpstream: withStreamUsage },
  embed: { path: () => "/embeddings" },
  models: { method: "GET", path: () => "/models", fromUpstream: (body) => v.parse(ModelList, body) },
} satisfies OperationAdapters;

/** Streams are always asked for their usage: money is counted from it. Who did not ask does not see it. */
export function withStreamUsage<
  Request extends { stream?: boolean | null | undefined; stream_options?: object | null | undefined },
>(request: Request): Request {
  if (request.stream !== true) return request;
  return { ...request, stream_options: { ...request.stream_options, include_usage: true } };
}

/** What differs between providers that speak OpenAI's shapes. */
export interface OpenaiCompatibleOptions<Settings> {
  slug: string;
  baseUrl: string | ((settings: Settings) => string);
  settings: SettingsDefinition<Settings>;
  /** Default: the credential as a bearer token. */
  authenticate?: (credential: string | undefined, settings: Settings) => Record<string, string>;
  /** Default: all of them. */
  operations?: readonly OperationName[];
}

/** Declares a provider that speaks OpenAI's shapes (https://platform.openai.com/docs/api-reference). */
export function openaiCompatible<Settings>(options: OpenaiCompatibleOptions<Settings>): Provider {
  const offered = options.operations ?? (Object.keys(operations) as OperationName[]); // keys of the constant above
  return defineProvider({
    slug: options.slug,
    baseUrl: options.baseUrl,
    settings: options.settings,
    authenticate: options.authenticate ?? bearer,
    operations: Object.fromEntries(Object.entries(operations).filter(([name]) => offered.some((one) => one === name))),
  });
}
