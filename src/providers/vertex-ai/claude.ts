import { toClaudeCount } from "../anthropic/count.ts";
import { repairMessages, toHostRequest } from "../anthropic/native.ts";
import type { OperationAdapter } from "../core/types.ts";
import { toGeminiCount } from "../google/count.ts";
import { claudeHost, host } from "./chat.ts";
import { chatPath, googleModelPath, readModel } from "./publishers.ts";
import { locationPath, type VertexSettings } from "./settings.ts";

const isClaude = ({ model }: { model: string }): boolean => readModel(model).dialect === "claude";

/** The Messages API of Claude on Vertex AI (https://docs.claude.com/en/api/claude-on-vertex-ai). */
export function createMessages(settings: VertexSettings): OperationAdapter<"messages"> {
  return {
    serves: isClaude,
    path: ({ model, stream }) => chatPath(model, stream === true, settings),
    toUpstream: (request, options) => toHostRequest(request, claudeHost, options),
    repair: repairMessages,
  };
}

const countPath = (settings: VertexSettings): string =>
  `${locationPath(settings)}/publishers/anthropic/models/count-tokens:rawPredict`;

/** Token counting for Claude: the model goes into the body instead of the path. */
export function createCountTokens(settings: VertexSettings): OperationAdapter<"countTokens"> {
  return {
    serves: isClaude,
    path: () => countPath(settings),
    toUpstream(request, options) {
      const body = toHostRequest(request, claudeHost, options);
      return { ...body, model: readModel(request.model).name };
    },
  };
}

/**
 * Token counting for chats with Claude and Gemini
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.publishers.models/countTokens).
 */
export function createCountChat(settings: VertexSettings): OperationAdapter<"countChat"> {
  const { toUpstream, fromUpstream } = toGeminiCount(host, (request) => readModel(request.model).name);
  return {
    serves: ({ model }) => ["claude", "gemini"].includes(readModel(model).dialect),
    path: ({ model }) =>
      isClaude({ model }) ? countPath(settings) : googleModelPath(readModel(model), "countTokens", settings),
    toUpstream(request, options) {
      const { name } = readModel(request.model);
      return isClaude(request)
        ? toClaudeCount({ ...request, model: name }, options, claudeHost)
        : toUpstream(request, options);
    },
    fromUpstream: (body, request, options) => (isClaude(request) ? undefined : fromUpstream(body, request, options)),
  };
}
