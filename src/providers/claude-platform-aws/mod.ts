import * as v from "valibot";
import { claudeBatches } from "../anthropic/batches.ts";
import { claudeFacts } from "../anthropic/facts.ts";
import { claudeClientHeaders, claudeOperations, claudeVersions } from "../anthropic/mod.ts";
import { claudeRecords } from "../anthropic/records.ts";
import { awsEntries, awsRequirements, awsVirtualKeys, createAwsAuthorize, usesApiKey } from "../auth/aws.ts";
import { defineProvider } from "../core/define.ts";

const { chat, models, messages, countTokens, countChat } = claudeOperations("claude-platform-aws", {
  hasSystemTurns: true,
});

const sign = createAwsAuthorize({ provider: "claude-platform-aws", service: "aws-external-anthropic" });
const WorkspaceId = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,128}$/, "must be the id of a workspace"));

/** Anthropic's API on AWS, with API keys or signed requests (https://docs.claude.com/en/api/claude-platform-on-aws). */
export const claudePlatformAws = defineProvider({
  slug: "claude-platform-aws",
  searches: (operation) => operation === "messages",
  settings: {
    prefix: "aws",
    requires: awsRequirements,
    virtualKeys: awsVirtualKeys,
    unprefixed: ["anthropic_aws_workspace_id", "anthropic_version", "anthropic_beta"],
    schema: v.object({
      ...awsEntries,
      anthropic_aws_workspace_id: v.optional(WorkspaceId),
      anthropic_version: v.optional(v.string()),
      anthropic_beta: v.optional(v.string()),
    }),
  },
  baseUrl: ({ region }) => `https://aws-external-anthropic.${region}.api.aws/v1`,
  facts: claudeFacts,
  clientHeaders: claudeClientHeaders,
  nativeGroups: ["legacy_complete"],
  authenticate: (credential, { anthropic_aws_workspace_id: workspaceId, ...settings }) => ({
    ...(usesApiKey(settings, credential) && { "x-api-key": credential }),
    ...(workspaceId !== undefined && { "anthropic-workspace-id": workspaceId }),
  }),
  async authorize(request, settings, tools) {
    const { anthropic_version: version, anthropic_beta: beta } = settings;
    const versions = claudeVersions(request.headers, { version, beta });
    return {
      ...versions,
      ...(await sign({ ...request, headers: { ...request.headers, ...versions } }, settings, tools)),
    };
  },
  operations: { chat, models, messages, countTokens, countChat },
  records: () => claudeRecords,
  batches: claudeBatches,
});
