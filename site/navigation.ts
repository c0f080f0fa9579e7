/** A page of the site. */
export interface Entry {
  /** File from the repository's folder. */
  readonly path: string;
  /** Title in the navigation. */
  readonly title: string;
}

/** A group of pages, in the order in which the navigation shows them. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Entry[];
}

const page = (path: string, title: string): Entry => ({ path, title });

/** The navigation: every page of `docs/` is in it once. */
export const navigation: readonly Section[] = [
  {
    title: "Start",
    pages: [
      page("README.md", "Start in five minutes"),
      page("docs/concepts.md", "Concepts"),
      page("docs/console.md", "Console"),
      page("docs/glossary.md", "Glossary"),
    ],
  },
  {
    title: "How to",
    pages: [
      page("docs/budget-with-alert.md", "Set a budget with an alert"),
      page("docs/redact-emails.md", "Redact e-mail addresses"),
      page("docs/agents.md", "Connect coding agents"),
      page("docs/clients.md", "Connect clients and SDKs"),
      page("docs/mcp-behind-a-key.md", "Put MCP behind a key"),
      page("docs/semantic-cache.md", "Cache similar questions"),
      page("docs/single-sign-on.md", "Set up single sign-on"),
      page("docs/air-gapped.md", "Run without the internet"),
    ],
  },
  {
    title: "Coding agents",
    pages: [
      page("docs/claude-code.md", "Claude Code"),
      page("docs/codex.md", "Codex"),
      page("docs/gemini-cli.md", "Gemini CLI"),
      page("docs/opencode.md", "opencode"),
      page("docs/aider.md", "aider"),
    ],
  },
  {
    title: "Run it in production",
    pages: [
      page("docs/production.md", "Production"),
      page("docs/install.md", "Install"),
      page("docs/deployments.md", "Deployments"),
      page("docs/configuration.md", "Configuration"),
      page("docs/scaling.md", "Scaling"),
      page("docs/declared-state.md", "Declared state"),
      page("docs/operations.md", "Operations"),
      page("docs/observability.md", "Metrics and traces"),
      page("docs/performance.md", "Performance"),
    ],
  },
  {
    title: "Come from another gateway",
    pages: [
      page("docs/from-litellm.md", "From LiteLLM"),
      page("docs/from-portkey.md", "From Portkey"),
      page("docs/from-bifrost.md", "From Bifrost"),
      page("docs/from-openrouter.md", "From OpenRouter"),
      page("docs/comparison.md", "Comparison"),
    ],
  },
  {
    title: "APIs",
    pages: [
      page("docs/chat.md", "Chat completions"),
      page("docs/messages.md", "Messages"),
      page("docs/responses.md", "Responses"),
      page("docs/gemini.md", "Gemini API"),
      page("docs/embeddings.md", "Embeddings"),
      page("docs/rerank.md", "Rerank"),
      page("docs/search.md", "Web search"),
      page("docs/server-tools.md", "Server tools"),
      page("docs/vector-stores.md", "Vector stores"),
      page("docs/images.md", "Images"),
      page("docs/audio.md", "Audio"),
      page("docs/realtime.md", "Realtime"),
      page("docs/batches.md", "Files and batches"),
      page("docs/decisions.md", "Decisions"),
      page("docs/ocr.md", "OCR"),
      page("docs/moderations.md", "Moderations"),
      page("docs/passthrough.md", "Forwarded requests"),
      page("docs/mcp.md", "MCP servers"),
    ],
  },
  {
    title: "Models and routing",
    pages: [
      page("docs/providers.md", "Providers"),
      page("docs/models.md", "Lists of models"),
      page("docs/model-aliases.md", "Model aliases"),
      page("docs/model-facts.md", "Facts of models"),
      page("docs/routing.md", "Routing"),
      page("docs/cache.md", "Cache"),
      page("docs/prompts.md", "Prompts"),
      page("docs/evals.md", "Evals"),
    ],
  },
  {
    title: "Control",
    pages: [
      page("docs/control-plane.md", "Control plane"),
      page("docs/guardrails.md", "Guardrails"),
      page("docs/policies.md", "Budgets and rate limits"),
      page("docs/costs.md", "Costs"),
      page("docs/logs.md", "Logs"),
      page("docs/analytics.md", "Analytics"),
      page("docs/exports.md", "Exports"),
      page("docs/scim.md", "Provisioning"),
    ],
  },
  {
    title: "Inside",
    pages: [
      page("docs/security.md", "Security model"),
      page("docs/storage.md", "Storage"),
      page("docs/architecture.md", "Architecture"),
      page("CONTRIBUTING.md", "Contributing"),
      page("CHANGELOG.md", "Changelog"),
    ],
  },
];
