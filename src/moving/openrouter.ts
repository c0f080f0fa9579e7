import { isObject, stringOf } from "../lib/json.ts";
import { clientScopes, MoveDraft, type Moved, numberOf, objectsOf } from "./draft.ts";

type Fields = Record<string, unknown>;

/** Makes a config of a provider the default of the workspace: it takes every name of a model. */
function setDefault(draft: MoveDraft, provider: string): void {
  const slug = `pc-${provider}`;
  draft.config(slug, { name: "Default", config: { provider: `@${provider}` } });
  draft.field("defaults", { user_api_key_config: slug });
}

const periods: Readonly<Record<string, Fields>> = {
  monthly: { periodic_reset: "monthly" },
  weekly: { periodic_reset: "weekly" },
  daily: { periodic_reset_days: 1 },
};

/**
 * OpenRouter behind a gateway, as declared state: every name of a model stays, because the default config leads there.
 *
 * @param file The response of `GET /api/v1/keys` (https://openrouter.ai/docs/api/api-reference/api-keys/list); absent: none.
 */
export function moveOpenrouter(file: unknown, workspace: string): Moved {
  const draft = new MoveDraft(workspace);
  const integration = draft.integration("openrouter", { key: { $env: "OPENROUTER_API_KEY" } });
  setDefault(draft, integration);
  draft.note(
    "made",
    "models",
    "every name leads to OpenRouter by the default config, with models and provider of the request",
  );
  for (const key of objectsOf(isObject(file) ? file.data : file)) {
    const name = stringOf(key.name) ?? stringOf(key.label) ?? "OpenRouter key";
    if (key.disabled === true) draft.note("left", `key ${name}`, "is disabled");
    else {
      const period = periods[String(key.limit_reset ?? key.limitReset ?? "")];
      const whole = numberOf(key.limit);
      const limit = period ? whole : (numberOf(key.limit_remaining ?? key.limitRemaining) ?? whole);
      const budget = limit !== undefined &&
        limit > 0 && { usage_limits: { type: "cost", credit_limit: limit, ...period } };
      draft.record("keys", name, { scopes: clientScopes, ...budget });
      draft.note("changed", `key ${name}`, "OpenRouter shows a digest alone: clients get a new key");
    }
  }
  draft.note("left", "presets", "save a config or a prompt for each: names with @preset/ cannot be aliases");
  return draft.finish();
}

/** Variables that SDKs read, the provider that each is for, and the variable of another address. */
const known: readonly [variable: string, provider: string, address?: string][] = [
  ["OPENAI_API_KEY", "openai", "OPENAI_BASE_URL"],
  ["ANTHROPIC_API_KEY", "anthropic", "ANTHROPIC_BASE_URL"],
  ["GEMINI_API_KEY", "google"],
  ["GOOGLE_API_KEY", "google"],
  ["MISTRAL_API_KEY", "mistral-ai"],
  ["GROQ_API_KEY", "groq"],
  ["COHERE_API_KEY", "cohere"],
  ["CO_API_KEY", "cohere"],
  ["DEEPSEEK_API_KEY", "deepseek"],
  ["XAI_API_KEY", "x-ai"],
  ["OPENROUTER_API_KEY", "openrouter"],
  ["TOGETHER_API_KEY", "together-ai"],
  ["FIREWORKS_API_KEY", "fireworks-ai"],
  ["PERPLEXITY_API_KEY", "perplexity-ai"],
  ["VOYAGE_API_KEY", "voyage"],
  ["CEREBRAS_API_KEY", "cerebras"],
];

/** The credentials of a program that calls providers itself, as declared state. */
export function moveEnvironment(environment: Readonly<Record<string, string | undefined>>, workspace: string): Moved {
  const draft = new MoveDraft(workspace);
  const made = new Set<string>();
  for (const [variable, provider, address = ""] of known) {
    const isSet = (environment[variable] ?? "") !== "";
    if (!isSet || made.has(provider)) continue;
    made.add(provider);
    const host = environment[address] ? { configurations: { custom_host: { $env: address } } } : {};
    const slug = draft.integration(provider, { key: { $env: variable }, ...host });
    const how =
      made.size === 1
        ? "the provider of all names"
        : `the provider @${slug}: clients send x-gateway-provider: @${slug}`;
    draft.note("made", variable, how);
  }
  const [first] = made;
  if (first === undefined) draft.note("left", "environment", "has no key of a known provider");
  else {
    setDefault(draft, first);
    draft.note(
      "made",
      "models",
      `every name leads to @${first} by the default config, unless a header names another provider`,
    );
  }
  return draft.finish();
}
