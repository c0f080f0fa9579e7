import { clientScopes, MoveDraft, type Moved, type Reasons } from "./draft.ts";
import { Source } from "./source.ts";

type Fields = Record<string, unknown>;

const periods: Readonly<Record<string, Fields>> = {
  monthly: { periodic_reset: "monthly" },
  weekly: { periodic_reset: "weekly" },
  daily: { periodic_reset_days: 1 },
};

/** Fields of keys that say nothing of what they may do. */
const plainFields = (
  "hash label usage usage_daily usage_weekly usage_monthly byok_usage byok_usage_daily byok_usage_weekly " +
  "byok_usage_monthly created_at updated_at createdAt updatedAt creator_user_id workspace_id"
).split(" ");

const reasons: Reasons = {
  left: {
    include_byok_in_limit: "budgets count what the gateway's provider keys cost: docs/policies.md",
    includeByokInLimit: "budgets count what the gateway's provider keys cost: docs/policies.md",
  },
};

function readKey(draft: MoveDraft, key: Source): void {
  const name = key.text("name") ?? key.text("label") ?? "OpenRouter key";
  key.ignore(...plainFields);
  if (key.flag("disabled") === true) {
    key.skip();
    return void draft.note("left", `${key.path} ${name}`, "is disabled");
  }
  const period = periods[key.text("limit_reset") ?? key.text("limitReset") ?? ""];
  const whole = key.number("limit");
  const rest = key.number("limit_remaining") ?? key.number("limitRemaining");
  const limit = period ? whole : (rest ?? whole);
  if (limit !== undefined && limit <= 0) {
    key.skip();
    return void draft.note("left", `${key.path} ${name}`, "has spent its limit");
  }
  const budget = limit !== undefined && { usage_limits: { type: "cost", credit_limit: limit, ...period } };
  const expires = key.text("expires_at") ?? key.text("expiresAt");
  draft.record("keys", name, { scopes: clientScopes, ...budget, ...(expires && { expires_at: expires }) });
  draft.note("changed", `key ${name}`, "OpenRouter shows a digest alone: clients get a new key");
}

/**
 * OpenRouter behind a gateway, as declared state: every name of a model stays, because the default config leads there.
 *
 * @param value The response of `GET /api/v1/keys` (https://openrouter.ai/docs/api/api-reference/api-keys/list), or its list;
 *   absent: none.
 */
export function moveOpenrouter(value: unknown, workspace: string): Moved {
  const draft = new MoveDraft(workspace);
  const integration = draft.integration("openrouter", { key: { $env: "OPENROUTER_API_KEY" } });
  draft.setDefault({ provider: `@${integration}` });
  draft.note(
    "made",
    "models",
    "every name leads to OpenRouter by the default config, with models and provider of the request",
  );
  const file = new Source(Array.isArray(value) ? { data: value } : value);
  for (const key of file.objects("data")) readKey(draft, key);
  draft.noteUnread(file, reasons);
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

/** Names of other variables that may say how a provider is called. */
const alike =
  /(?:_API_KEY|_API_TOKEN|_BASE_URL|_API_BASE|_ENDPOINT|_ORG_ID|_ORGANIZATION|_PROJECT_ID)$|^(?:AZURE|AWS|GOOGLE|VERTEX)_/;

/** The credentials of a program that calls providers itself, as declared state. */
export function moveEnvironment(environment: Readonly<Record<string, string | undefined>>, workspace: string): Moved {
  const draft = new MoveDraft(workspace);
  const made = new Set<string>();
  const others = new Set(Object.keys(environment).filter((name) => environment[name] && alike.test(name)));
  for (const [variable, provider, address = ""] of known) {
    const isSet = (environment[variable] ?? "") !== "";
    if (!isSet || made.has(provider)) continue;
    made.add(provider);
    for (const name of [variable, address]) others.delete(name);
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
    draft.setDefault({ provider: `@${first}` });
    draft.note(
      "made",
      "models",
      `every name leads to @${first} by the default config, unless a header names another provider`,
    );
  }
  for (const name of others)
    draft.note("left", name, "make an integration, if it is for a provider: docs/providers.md");
  return draft.finish();
}
