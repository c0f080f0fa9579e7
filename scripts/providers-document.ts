// Text of docs/providers.md.

import { createTokenCache } from "../src/providers/core/token-cache.ts";
import type { AuthTools, BoundProvider, Provider } from "../src/providers/core/types.ts";
import { builtInProviders } from "../src/providers/registry.ts";

/** Stands for the credential. */
const key = "<key>";

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** The provider without settings; undefined if it requires some. */
function bindPlain(provider: Provider): BoundProvider | undefined {
  try {
    return provider.bind(() => null);
  } catch {
    return undefined;
  }
}

function baseAddress(provider: Provider, bound: BoundProvider | undefined): string {
  if (provider.isLocal) return "none: the gateway itself responds";
  const unknown = "from the settings or the custom host";
  try {
    const url = bound?.baseUrl ?? "";
    const prefix = bound?.pathPrefix ? `, then \`${bound.pathPrefix}\`` : "";
    return /^https?:\/\//.test(url) && !url.includes("undefined") ? `\`${url}\`${prefix}` : unknown;
  } catch {
    // it needs settings
    return unknown;
  }
}

/** Tools without network access: a provider that needs more fails here. */
const noTools = {
  outbound: () => Promise.reject(new Error("The document is made without requests")),
  clock: { now: () => 0, monotonic: () => 0 },
  tokens: createTokenCache({ now: () => 0, monotonic: () => 0 }),
  tenant: [],
  environment: {},
} satisfies AuthTools;

/** URLs at which one provider takes its key in different headers. */
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
    return own; // it signs the request or fetches a token
  }
}

async function authentication(provider: Provider, bound: BoundProvider | undefined): Promise<string> {
  if (provider.isLocal) return "none";
  const ways: string[] = [];
  try {
    const headers = bound ? await keyHeaders(bound) : [];
    const lines = headers.filter(([, value]) => value.includes(key)).map(([name, value]) => `\`${name}: ${value}\``);
    ways.push(...new Set(lines));
  } catch {
    // the provider does not take a plain key
  }
  if (bound?.authorize) ways.push("a signature or a fetched token");
  return ways.length === 0 ? "from the settings" : ways.join(", or ");
}

/** Names of the operations. `countChat` is internal and shown as `countTokens`. */
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

/** Everything above the table. */
const introduction = `# Providers

Find the name, base URL, operations, authentication and settings of every provider. Name a provider in \`x-gateway-provider\`, in a
[config](routing.md), or in an [integration](control-plane.md#first-steps):

\`\`\`sh
curl "$GATEWAY/v1/chat/completions" \\
  -H "x-gateway-api-key: $GATEWAY_KEY" -H "x-gateway-provider: mistral-ai" -H "authorization: Bearer $MISTRAL_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{"model":"mistral-small-latest","messages":[{"role":"user","content":"Hello"}]}'
\`\`\`

The [README](../README.md#variables) sets the variables of the example.

## Operations

| operation | endpoint |
|---|---|
| \`chat\` | \`POST /v1/chat/completions\` |
| \`complete\` | \`POST /v1/completions\` |
| \`embed\` | \`POST /v1/embeddings\` |
| \`models\` | \`GET /v1/models\` |
| \`rerank\` | \`POST /v1/rerank\` |
| \`moderate\` | \`POST /v1/moderations\` |
| \`ocr\` | \`POST /v1/ocr\` |
| \`search\` | \`POST /v1/search\` |
| \`generateImage\`, \`editImage\` | \`POST /v1/images/generations\`, \`/v1/images/edits\` |
| \`speak\`, \`transcribe\`, \`translate\` | \`POST /v1/audio/speech\`, \`/v1/audio/transcriptions\`, \`/v1/audio/translations\` |
| \`realtime\` | \`GET /v1/realtime\`, a WebSocket |
| \`countTokens\` | \`POST /v1/messages/count_tokens\` |
| \`messages\` | \`POST /v1/messages\` |
| \`responses\` | \`POST /v1/responses\` |
| \`decide\` | \`POST /v1/decisions\` |
| \`generateContent\`, \`countContents\`, \`embedContent\`, \`batchEmbedContents\` | routes of [the Gemini API](gemini.md) |

The last four rows are listed only for providers that have these APIs natively. The gateway also serves them with every other provider that has
\`chat\`, or \`embed\` for embeddings. Token counts are not converted this way. Every other path under \`/v1\` is [forwarded](passthrough.md) to the
provider, below its base URL.

## Settings

Send the settings of the last column as headers. In configs and integrations, use the same name with underscores and without \`x-gateway-\`.
\`x-gateway-custom-host\` replaces the base URL, but not the path prefix that the table shows after it.
Every provider also takes [an OAuth client](control-plane.md#oauth-clients-of-providers) in place of its key.

## Request fields and headers

- A field of OpenAI's that a provider does not support is left out and listed in \`x-gateway-dropped-params\`. If the response would then differ from
  what the request asks for, the request is refused with 400.
- What a model takes is [a table of its provider](model-facts.md): an effort becomes the nearest level of the model, and fields that it refuses
  are left out and listed. Models that the tables of \`groq\` and \`cerebras\` do not have get no effort, because most models of these hosts
  refuse it.
- Names of functions that a provider does not take are replaced by short ones. A name of more than 1,024 characters is refused with 400.
- A field that OpenAI does not have is forwarded (Bedrock: in \`additionalModelRequestFields\`).
- \`max_completion_tokens\` takes precedence over \`max_tokens\`.
- Google's models return audio as samples (\`pcm16\`), or as a file if \`audio.format\` is \`wav\` and the request does not stream.
- Gemini gets tool schemas in its subset: references expanded, a type in each schema, alternatives instead of several types. References that recur or
  expand to more than 10,000 schemas are cut off at a depth, and \`x-gateway-dropped-params\` lists \`tools.function.parameters.$ref\`.
- A response of Gemini that ends with \`MALFORMED_FUNCTION_CALL\`, \`UNEXPECTED_TOOL_CALL\`, \`TOO_MANY_TOOL_CALLS\`, \`MALFORMED_RESPONSE\` or
  \`MISSING_THOUGHT_SIGNATURE\` is a 502, which retries and fallbacks see. In a stream that has begun it is an error event.
- Some headers that clients send on their own are forwarded: \`anthropic-version\`, \`anthropic-beta\`, \`openai-beta\`,
  \`x-vertex-ai-llm-request-type\` and \`x-vertex-ai-llm-shared-request-type\`. \`modal-key\` and \`modal-secret\` are forwarded only together with the
  caller's credential, and \`http-referer\` and \`x-title\` only to \`openrouter\`, unless its settings say otherwise.

## All providers

`;

/** One row for each provider, by slug. */
export async function providersDocument(): Promise<string> {
  const providers = builtInProviders.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
  return [
    "<!-- Made by scripts/build.ts from src/providers/registry.ts. Do not edit: run `npm run build`. -->\n\n",
    introduction,
    "| provider | base URL | operations | authentication | settings |\n|---|---|---|---|---|\n",
    ...(await Promise.all(providers.map(row))),
  ].join("");
}
