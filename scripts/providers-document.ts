// Text of docs/providers.md.

import { createTokenCache } from "../src/providers/auth/token-cache.ts";
import { builtInProviders } from "../src/providers/registry.ts";
import type { AuthTools, BoundProvider, Provider } from "../src/providers/types.ts";

/** Stands for the credential. */
const key = "<key>";

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** The provider as it is without settings; undefined where it needs some. */
function bindPlain(provider: Provider): BoundProvider | undefined {
  try {
    return provider.bind(() => null);
  } catch {
    return undefined;
  }
}

function baseAddress(provider: Provider, bound: BoundProvider | undefined): string {
  if (provider.isLocal) return "none: part of the gateway";
  const unknown = "from its settings or the custom host";
  try {
    const url = bound?.baseUrl ?? "";
    const prefix = bound?.pathPrefix ? ` with \`${bound.pathPrefix}\` appended` : "";
    return /^https?:\/\//.test(url) && !url.includes("undefined") ? `\`${url}\`${prefix}` : unknown;
  } catch {
    // it needs settings
    return unknown;
  }
}

/** Tools of a provider that is shown without the world: whoever reaches for more than these fails. */
const noTools = {
  outbound: () => Promise.reject(new Error("The document is made without requests")),
  clock: { now: () => 0, monotonic: () => 0 },
  tokens: createTokenCache({ now: () => 0, monotonic: () => 0 }),
  tenant: [],
  environment: {},
} satisfies AuthTools;

/** Addresses whose hosts take keys in different headers at one provider. */
const addresses = [
  "https://provider.example/",
  "https://resource.openai.azure.com/",
  "https://provider.example/anthropic/v1/messages",
];

/** Headers that carry a plain key, each with its value. */
async function keyHeaders(bound: BoundProvider): Promise<[string, string][]> {
  const own = Object.entries(bound.authenticate(key));
  const request = { method: "POST", headers: {}, body: "{}", credential: key };
  try {
    const calls = addresses.map((url) => bound.authorize?.({ ...request, url }, noTools));
    return [...own, ...(await Promise.all(calls)).flatMap((headers = {}) => Object.entries(headers))];
  } catch {
    return own; // it signs, or asks for a token
  }
}

async function authentication(provider: Provider, bound: BoundProvider | undefined): Promise<string> {
  if (provider.isLocal) return "not at all";
  const ways: string[] = [];
  try {
    const headers = bound ? await keyHeaders(bound) : [];
    const lines = headers.filter(([, value]) => value.includes(key)).map(([name, value]) => `\`${name}: ${value}\``);
    ways.push(...new Set(lines));
  } catch {
    // a credential of this form is not one of the provider's
  }
  if (bound?.authorize) ways.push("a signature or a token that is fetched");
  return ways.length === 0 ? "by its settings" : ways.join(", or ");
}

/** Names of operations, without how they are implemented. */
function operationNames({ operationNames: names }: Provider): string {
  return [...new Set(names.map((name) => (name === "countChat" ? "countTokens" : name)))].join(", ");
}

async function row(provider: Provider): Promise<string> {
  const bound = bindPlain(provider);
  const headers = provider.settingHeaders.map((name) => `\`x-gateway-${name}\``);
  const cells = [
    `\`${provider.slug}\``,
    baseAddress(provider, bound),
    operationNames(provider),
    await authentication(provider, bound),
    headers.join(", "),
  ];
  return `| ${cells.map(cell).join(" | ")} |\n`;
}

/** One row for each provider, by slug. */
export async function providersDocument(): Promise<string> {
  const providers = builtInProviders.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return [
    "<!-- Made by scripts/build.ts from src/providers/registry.ts. Do not edit: run `npm run build`. -->\n\n",
    "# Providers\n\n",
    "Select one with `x-gateway-provider`, in a config, or in an integration. Unified operations: `chat` is `POST /v1/chat/completions`,\n",
    "`complete` is `POST /v1/completions`, `embed` is `POST /v1/embeddings`, `models` is `GET /v1/models`,\n",
    "`rerank` is `POST /v1/rerank`, `moderate` is `POST /v1/moderations`, `ocr` is `POST /v1/ocr`, `generateImage` and `editImage` are\n",
    "`POST /v1/images/generations` and `/v1/images/edits`, `speak`, `transcribe` and `translate` are `POST /v1/audio/speech`,\n",
    "`/v1/audio/transcriptions` and `/v1/audio/translations`, `countTokens` is `POST /v1/messages/count_tokens`, `realtime` the WebSocket\n",
    "`GET /v1/realtime`. `generateContent`, `countContents`, `embedContent` and `batchEmbedContents` are routes of\n",
    "[the Gemini API](gemini.md), `messages` is `POST /v1/messages`, `responses` `POST /v1/responses`, `decide` `POST /v1/decisions`: they are\n",
    "listed where a provider has them natively, and work with every provider with `chat`, or `embed`, except for token counts.\n",
    "Every other path under `/v1` is forwarded to the provider unchanged, below its base address.\n\n",
    "Settings are given in the headers of the last column, or as fields of a config or integration under the same name with underscores.\n",
    "`x-gateway-custom-host` replaces the base address, but not what is appended to it.\n\n",
    "A field of OpenAI's that a provider does not support is dropped and named in `x-gateway-dropped-params`; where the response would then be\n",
    "another one than requested, the request is refused with 400. A field OpenAI does not have is forwarded to the provider\n",
    "(Bedrock: in `additionalModelRequestFields`). `max_completion_tokens` wins over `max_tokens`. Chats of Google's models\n",
    "return audio as samples (`pcm16`), or as a file where `audio.format` is `wav` and the response is not streamed.\n\n",
    "Headers that a provider's client libraries send are forwarded: `anthropic-version` and `anthropic-beta`, `openai-beta`,\n",
    "`x-vertex-ai-llm-request-type` and `x-vertex-ai-llm-shared-request-type`; `modal-key` and `modal-secret` only beside the\n",
    "caller's own credential; `http-referer` and `x-title` to `openrouter`, unless its settings override them.\n\n",
    "| provider | base address | operations | authenticates with | settings |\n|---|---|---|---|---|\n",
    ...(await Promise.all(providers.map(row))),
  ].join("");
}
