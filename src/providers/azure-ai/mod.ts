import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { claudeFacts } from "../anthropic/facts.ts";
import { claudeClientHeaders, claudeOperations, claudeVersions } from "../anthropic/mod.ts";
import { authorizeAzure, azureAuthEntries, azureRequirements, unreadAzureMembers } from "../auth/azure.ts";
import { azureNaming } from "../azure-openai/deployment.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { baseAddressSetting, storedSetting } from "../core/settings.ts";
import type { AddressFacts, OperationAdapters, SignableRequest } from "../core/types.ts";
import { inferenceFacts } from "./facts.ts";
import { foundryMedia, inferenceOperations } from "./inference.ts";
import { createOcr } from "./ocr.ts";
import { isClaudeAddress, isOfResource, passPath } from "./passed-path.ts";
import { realtimeBase, realtimeOperation, realtimePath } from "./realtime.ts";
import { createRerank, plainName } from "./rerank.ts";

const claude = claudeOperations("azure-ai");
const param = "x-gateway-azure-foundry-url";

const settings = v.object({
  foundry_url: v.optional(
    baseAddressSetting(
      v.pipe(
        v.string(),
        v.maxLength(2048, "must have at most 2048 characters"),
        v.regex(/^https?:\/\/[^?#]+$/, "must be an address without a query"),
        v.transform((url) => url.replace(/\/+$/, "")),
      ),
    ),
  ),
  api_version: v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9.-]{1,30}$/, "must be a version"))),
  deployment_name: v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,255}$/, "must be a name"))),
  extra_params: v.optional(
    v.picklist(["drop", "pass-through", "error"], "must be drop, pass-through or error"),
    "drop",
  ),
  provider_responses_proxy: v.optional(
    storedSetting(
      v.pipe(
        v.picklist(["true", "false"], "must be true or false"),
        v.transform((value) => value === "true"),
      ),
      v.boolean("must be true or false"),
    ),
  ),
  ...azureAuthEntries,
});
type Settings = v.InferOutput<typeof settings>;

function baseUrlOf(values: Settings, { path }: AddressFacts): string {
  const { foundry_url: url } = values;
  if (url === undefined) {
    throw new InvalidRequestError(`Cannot call azure-ai: set ${param}`, { param, code: "invalid_header" });
  }
  // models of other publishers are beside the model inference API, not below it
  if (isOfResource(path) || path.startsWith("/providers/")) return URL.parse(url)?.origin ?? url;
  if (isClaudeAddress(url)) return url.endsWith("/v1") ? url : `${url}/v1`;
  return path.startsWith(`${realtimePath}?`) || path === realtimePath ? realtimeBase(url, values) : url;
}

/** Azure OpenAI resources expect keys in a different header. */
function keyHeaders({ url }: SignableRequest, key: string): Record<string, string> {
  if (isClaudeAddress(url)) return { "x-api-key": key };
  const host = URL.parse(url)?.hostname ?? "";
  return /\.(?:openai|cognitiveservices)\.azure\.[a-z]+$/.test(host) ? { "api-key": key } : bearer(key);
}

/** Models of Azure AI Foundry (https://learn.microsoft.com/rest/api/aifoundry/modelinference/). */
export const azureAi = defineProvider({
  slug: "azure-ai",
  settings: {
    prefix: "azure",
    unprefixed: ["provider_responses_proxy"],
    configNames: { api_version: ["api_version"], extra_params: ["azure_extra_parameters"] },
    unread: unreadAzureMembers,
    requires: { ...azureRequirements, integrations: ["azure_auth_mode", "azure_foundry_url"] },
    schema: settings,
  },
  baseUrl: baseUrlOf,
  isBaseInfluenced: true,
  passPath,
  models: {
    canonical: plainName,
    inPath: azureNaming.inPath,
    own: ({ deployment_name: deployment }) => [deployment],
  },
  facts: inferenceFacts,
  factsWith: ({ foundry_url: url = "" }) => (isClaudeAddress(url) ? claudeFacts : undefined),
  authenticate: (_, { deployment_name: deployment }): Record<string, string> =>
    deployment === undefined ? {} : { "azureml-model-deployment": deployment },
  clientHeaders: claudeClientHeaders,
  async authorize(request, values, tools) {
    const toKeyHeaders = (key: string) => keyHeaders(request, key);
    const credentials = await authorizeAzure(request, values, { tools, toKeyHeaders });
    return isClaudeAddress(values.foundry_url ?? "") || isClaudeAddress(request.url)
      ? { ...claudeVersions(request.headers, {}), ...credentials }
      : credentials;
  },
  operations: (values): OperationAdapters =>
    isClaudeAddress(values.foundry_url ?? "")
      ? {
          chat: claude.chat,
          messages: claude.messages,
          countTokens: claude.countTokens,
          countChat: claude.countChat,
        }
      : {
          ...inferenceOperations(values),
          ...foundryMedia(values),
          rerank: createRerank(values.foundry_url),
          ocr: createOcr(values.foundry_url),
          realtime: realtimeOperation(values.foundry_url ?? "", values),
        },
  settingOperations: ["messages", "countTokens", "countChat", "responses"],
});
