import * as v from "valibot";
import { claudeClientHeaders, claudeOperations, claudeVersions } from "../anthropic/mod.ts";
import { defineProvider } from "../types.ts";

const { chat, models } = claudeOperations("claude-platform-aws");

const HostLabel = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,63}$/, "must be lower-case letters, digits and hyphens"));
const WorkspaceId = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,128}$/, "must be the id of a workspace"));

/** Anthropic's API on AWS, with API keys (https://docs.claude.com/en/api/claude-platform-on-aws). */
export const claudePlatformAws = defineProvider({
  slug: "claude-platform-aws",
  settings: {
    prefix: "aws",
    unprefixed: ["anthropic_aws_workspace_id", "anthropic_version", "anthropic_beta"],
    schema: v.object({
      region: v.optional(HostLabel, "us-east-1"),
      anthropic_aws_workspace_id: v.optional(WorkspaceId),
      anthropic_version: v.optional(v.string()),
      anthropic_beta: v.optional(v.string()),
    }),
  },
  baseUrl: ({ region }) => `https://aws-external-anthropic.${region}.api.aws/v1`,
  clientHeaders: claudeClientHeaders,
  authenticate: (credential, { anthropic_aws_workspace_id: workspaceId }) => ({
    ...(credential !== undefined && { "x-api-key": credential }),
    ...(workspaceId !== undefined && { "anthropic-workspace-id": workspaceId }),
  }),
  authorize: async ({ headers }, { anthropic_version: version, anthropic_beta: beta }) =>
    claudeVersions(headers, { version, beta }),
  operations: { chat, models },
});
