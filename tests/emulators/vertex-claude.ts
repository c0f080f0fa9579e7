import { isObject } from "../../src/lib/json.ts";
import { answer, claudePrefix, claudeRules, refuseClaude } from "./anthropic.ts";
import { type EmulatedRequest, type Emulator, type Members, objectsOf, type Rule, readRequest } from "./emulator.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  vertex: "https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai",
  betas: "https://platform.claude.com/docs/en/api/beta-headers",
  extras: 'https://github.com/anthropics/claude-code/issues ("Extra inputs are not permitted", 2026)',
} as const;

/** Members of Anthropic's own API that Vertex AI does not have. */
const foreign = ["model", "service_tier", "speed", "container", "mcp_servers", "inference_geo", "fallbacks"];

/** Betas that Vertex AI serves. */
const betas = [
  "computer-use-2025-01-24",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "interleaved-thinking-2025-05-14",
  "tool-search-tool-2025-10-19",
  "web-search-2025-03-05",
];

/** Every object of a value, itself included. */
function* objectsWithin(value: unknown): Generator<Members> {
  if (Array.isArray(value)) for (const one of value) yield* objectsWithin(one);
  if (!isObject(value)) return;
  yield value;
  for (const one of Object.values(value)) yield* objectsWithin(one);
}

const vertexRules: readonly Rule[] = [
  {
    id: "vertex-members",
    source: sources.vertex,
    find: ({ body }) => {
      const name = foreign.find((one) => body[one] !== undefined);
      return name && `${name}: Extra inputs are not permitted`;
    },
  },
  {
    id: "vertex-version",
    source: sources.vertex,
    find: ({ body }) =>
      body.anthropic_version === "vertex-2023-10-16" ? undefined : "anthropic_version: Field required",
  },
  {
    id: "vertex-betas",
    source: sources.betas,
    find: ({ body }) => {
      const unknown = (Array.isArray(body.anthropic_beta) ? body.anthropic_beta : []).find(
        (name) => !betas.includes(String(name)),
      );
      return unknown && `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`;
    },
  },
  {
    id: "cache-scope",
    source: sources.extras,
    find: ({ body }) => {
      for (const { cache_control: control } of objectsWithin([body.system, body.tools, body.messages])) {
        if (isObject(control) && control.scope !== undefined)
          return "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted";
      }
      return undefined;
    },
  },
  {
    id: "eager-input-streaming",
    source: sources.extras,
    find: ({ body }) =>
      objectsOf(body.tools).some((tool) => tool.eager_input_streaming !== undefined)
        ? "tools.0.custom.eager_input_streaming: Extra inputs are not permitted"
        : undefined,
  },
  {
    id: "vertex-roles",
    source: `${sources.betas} (the beta of system turns is not among those of Vertex AI)`,
    find: ({ body }) =>
      objectsOf(body.messages).some(({ role }) => role === "system")
        ? 'messages: Unexpected role "system". Allowed roles are "user" or "assistant".'
        : undefined,
  },
];

/** The same request as Anthropic's own API sees it. */
function asAnthropic(request: EmulatedRequest): EmulatedRequest {
  const { anthropic_version: _version, anthropic_beta: _betas, ...body } = request.body;
  return { ...request, body };
}

const rulesOfClaude = claudeRules.map(
  (rule): Rule => ({ ...rule, find: (request, memory) => rule.find(asAnthropic(request), memory) }),
);

/** What Anthropic's SDK for Vertex AI sends, without the members and turns that only betas of Anthropic's own API allow. */
function asSdkSends(request: EmulatedRequest): EmulatedRequest {
  const { model: _, ...body } = request.body;
  const messages = objectsOf(body.messages).filter(({ role }) => role !== "system");
  return { ...request, body: { ...body, messages, anthropic_version: "vertex-2023-10-16" } };
}

/** Claude on Vertex AI. */
export const vertexClaude: Emulator = {
  name: "Claude on Vertex AI",
  native: "messages",
  asSdkSends,
  showsReasoning: () => true,
  rules: [...vertexRules, ...rulesOfClaude],
  serves: ({ host, pathname }) =>
    host.endsWith("aiplatform.googleapis.com") &&
    /\/publishers\/anthropic\/models\/[^:]+:(?:rawP|streamRawP)redict$/.test(pathname),
  read(url, init) {
    const request = readRequest(url, init);
    const [, model = "", action = ""] = /\/models\/([^:]+):(\w+)$/.exec(url.pathname) ?? [];
    return { ...request, model: decodeURIComponent(model), streams: action === "streamRawPredict" };
  },
  prefixOf: claudePrefix,
  refuse: refuseClaude,
  answer,
};
