import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { authorizeByOauth } from "../core/oauth-client.ts";
import { addressSetting, secretSetting } from "../core/settings.ts";
import type { OperationAdapters } from "../core/types.ts";
import { encodeWhereAsked } from "../shared/embeddings.ts";
import { withStreamUsage } from "../shared/plain.ts";
import { chatOperation } from "./chat.ts";

/** The first label of a workspace on the public cloud, or the full host of any workspace. */
const workspaceForm =
  /^[a-z0-9-]{1,63}(?:(?:\.[a-z0-9-]{1,63})?\.(?:cloud\.databricks\.com|azuredatabricks\.net|gcp\.databricks\.com))?$/;

const settings = v.object({
  workspace: v.optional(
    addressSetting(v.pipe(v.string(), v.regex(workspaceForm, "must be the label or the host of a workspace"))),
  ),
  serving_endpoint_name: v.optional(
    v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, "must be the name of a serving endpoint")),
  ),
  client_id: v.optional(v.string()),
  client_secret: v.optional(secretSetting(v.string())),
});
type Settings = v.InferOutput<typeof settings>;

function baseUrlOf({ workspace }: Settings): string {
  const param = "x-gateway-databricks-workspace";
  if (!workspace) {
    throw new InvalidRequestError(`Cannot call databricks: set ${param}`, { param, code: "invalid_header" });
  }
  return `https://${workspace.includes(".") ? workspace : `${workspace}.cloud.databricks.com`}`;
}

/**
 * Whether a model is one of OpenAI's; only these support the Responses API
 * (https://docs.databricks.com/aws/en/generative-ai/foundation-models/openai-responses).
 */
const isOfOpenai = ({ model }: { model: string }): boolean => /(?:^|[.-])gpt-/.test(model);

/** All operations use one path when an endpoint is set. */
function operationsOf({ serving_endpoint_name: endpoint }: Settings) {
  const pathOf = (suffix: string) =>
    endpoint === undefined
      ? `/ai-gateway/mlflow/v1${suffix}`
      : `/serving-endpoints/${encodeURIComponent(endpoint)}/invocations`;
  return {
    chat: chatOperation(pathOf("/chat/completions")),
    complete: { path: () => pathOf("/completions"), toUpstream: withStreamUsage },
    embed: { path: () => pathOf("/embeddings"), fromUpstream: encodeWhereAsked },
    responses: { path: () => pathOf("/responses"), serves: isOfOpenai },
  } satisfies OperationAdapters;
}

/**
 * Databricks (https://docs.databricks.com/machine-learning/model-serving/query-chat-models), with personal tokens or
 * machine-to-machine OAuth.
 */
export const databricks = defineProvider({
  slug: "databricks",
  settings: {
    prefix: "databricks",
    requires: { integrations: [], credentials: [["databricks_client_id", "databricks_client_secret"]] },
    schema: settings,
  },
  baseUrl: baseUrlOf,
  authenticate: bearer,
  async authorize({ credential }, values, tools) {
    const { client_id: id, client_secret: secret } = values;
    if (!id || !secret) return bearer(credential);
    const client = { client_id: id, client_secret: secret, scope: "all-apis" };
    return authorizeByOauth({ ...client, token_url: `${baseUrlOf(values)}/oidc/v1/token` }, tools, "fixed");
  },
  models: { own: ({ serving_endpoint_name: endpoint }) => [endpoint] },
  operations: operationsOf,
});
