import * as v from "valibot";
import { isObject } from "../lib/json.ts";
import { shiftDecimal } from "../pricing/decimals.ts";
import { MessagesModel, Model } from "../schemas/models.ts";

/** A model as a gateway lists it. */
type Listed = v.InferOutput<typeof Model>;

/** Where a gateway serves, and what it said of models. */
interface Source {
  /** Address without a trailing slash. */
  readonly url: string;
  readonly answer: unknown;
}

/** An agent, the form of the list that its settings are made of, and how they are written. */
interface Agent {
  /** Its settings are those of one model. */
  readonly needsModel: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  write(source: Source): string;
}

/** Environment variable with the key, in all settings. */
const keyVariable = "GATEWAY_API_KEY";
/** Output limit of opencode for a model without one, in tokens: it takes a window only beside an output limit. */
const opencodeOutput = 32_000;
/** Decimal places from dollars per token to dollars per million tokens. */
const perMillion = 6;

const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Settings of Codex: TOML, whose strings are those of JSON. */
function writeCodex({ url, answer }: Source): string {
  const { id, context_length: window } = v.parse(Model, answer);
  return `model = ${JSON.stringify(id)}
model_provider = "gateway"
${window == null ? "" : `model_context_window = ${window}\n`}
[model_providers.gateway]
name = "gateway"
base_url = ${JSON.stringify(`${url}/v1`)}
wire_api = "responses"
env_key = "${keyVariable}"`;
}

/** Settings of Claude Code: variables of the shell. It uses the window for names that it does not know. */
function writeClaudeCode({ url, answer }: Source): string {
  const { id, description, max_input_tokens: window, max_tokens: output } = v.parse(MessagesModel, answer);
  const settings = {
    ANTHROPIC_BASE_URL: shellQuote(url),
    ANTHROPIC_API_KEY: `"$${keyVariable}"`,
    ANTHROPIC_MODEL: shellQuote(id),
    ANTHROPIC_CUSTOM_MODEL_OPTION: shellQuote(id),
    ...(description != null && { ANTHROPIC_CUSTOM_MODEL_OPTION_DESCRIPTION: shellQuote(description) }),
    ...(window !== null && { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(window) }),
    ...(output !== null && { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(output) }),
  };
  return Object.entries(settings)
    .map(([name, value]) => `export ${name}=${value}`)
    .join("\n");
}

/** Dollars per million tokens. */
function priceOf(perToken: string | null | undefined): number | undefined {
  return perToken == null ? undefined : shiftDecimal(Number(perToken), perMillion);
}

/** What opencode shows of a model and does with it (https://opencode.ai/docs/models, https://models.dev). */
function toOpencodeModel({ context_length: window, top_provider: top, ...model }: Listed) {
  const { architecture, pricing, supported_parameters: fields } = model;
  const { input_modalities: input, output_modalities: output } = architecture ?? {};
  const named = (modalities: readonly string[]) => modalities.map((one) => (one === "file" ? "pdf" : one));
  const most = top?.max_completion_tokens ?? Math.min(window ?? opencodeOutput, opencodeOutput);
  const [prompt, completion] = [priceOf(pricing?.prompt), priceOf(pricing?.completion)];
  const [read, write] = [priceOf(pricing?.input_cache_read), priceOf(pricing?.input_cache_write)];
  return {
    name: model.name ?? model.id,
    ...(fields && { reasoning: fields.includes("reasoning"), tool_call: fields.includes("tools") }),
    ...(input && { attachment: input.some((one) => one !== "text") }),
    ...(input && output && { modalities: { input: named(input), output: named(output) } }),
    ...(window != null && { limit: { context: window, output: most } }),
    ...(prompt !== undefined &&
      completion !== undefined && {
        cost: {
          input: prompt,
          output: completion,
          ...(read !== undefined && { cache_read: read }),
          ...(write !== undefined && { cache_write: write }),
        },
      }),
  };
}

/** Settings of opencode: JSON with the models that write text. */
function writeOpencode({ url, answer }: Source): string {
  const models = v.parse(v.array(Model), isObject(answer) && Array.isArray(answer.data) ? answer.data : [answer]);
  const chats = models.filter(({ architecture }) => architecture?.output_modalities?.includes("text") ?? true);
  const gateway = {
    npm: "@ai-sdk/openai-compatible",
    name: "gateway",
    options: { baseURL: `${url}/v1`, apiKey: `{env:${keyVariable}}` },
    models: Object.fromEntries(chats.map((model) => [model.id, toOpencodeModel(model)])),
  };
  return JSON.stringify({ $schema: "https://opencode.ai/config.json", provider: { gateway } }, undefined, 2);
}

/** Coding agents that do not ask a gateway for windows and prices: their settings say them. */
export const agents: Readonly<Record<string, Agent>> = {
  "claude-code": { needsModel: true, headers: { "anthropic-version": "2023-06-01" }, write: writeClaudeCode },
  codex: { needsModel: true, write: writeCodex },
  opencode: { needsModel: false, write: writeOpencode },
};
