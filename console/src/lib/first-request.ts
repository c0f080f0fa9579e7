import { shellQuote } from "./request-code.ts";

// The first request of a program: a short chat, and the settings of agents. Names of models come from providers: they are quoted.

export type FirstRequestKind = "curl" | "python" | "typescript" | "anthropic" | "claude" | "codex";

/** What stands for a key that is not at hand. */
export const keyVariable = "$GATEWAY_KEY";

interface FirstRequest {
  readonly origin: string;
  /** The model with its stored provider: `@slug/model`. */
  readonly model: string;
  /** Undefined: the program reads it from its environment. */
  readonly key: string | undefined;
}

const quote = JSON.stringify;

const shellKey = (key: string | undefined): string => (key === undefined ? `"${keyVariable}"` : shellQuote(key));

const pythonKey = (key: string | undefined): string => (key === undefined ? 'os.environ["GATEWAY_KEY"]' : quote(key));

const pythonImports = (key: string | undefined, imported: string): string =>
  `${key === undefined ? "import os\n\n" : ""}from ${imported.toLowerCase()} import ${imported}\n`;

const writers: Readonly<Record<FirstRequestKind, (request: FirstRequest) => string>> = {
  curl: ({ origin, model, key }) => `curl ${shellQuote(`${origin}/v1/chat/completions`)} \\
  -H ${key === undefined ? `"x-gateway-api-key: ${keyVariable}"` : shellQuote(`x-gateway-api-key: ${key}`)} \\
  -H 'content-type: application/json' \\
  -d ${shellQuote(JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }))}`,
  python: ({ origin, model, key }) => `${pythonImports(key, "OpenAI")}
client = OpenAI(base_url=${quote(`${origin}/v1`)}, api_key=${pythonKey(key)})
answer = client.chat.completions.create(
    model=${quote(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
  typescript: ({ origin, model, key }) => `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${quote(`${origin}/v1`)},
  apiKey: ${key === undefined ? "process.env.GATEWAY_KEY" : quote(key)},
});
const answer = await client.chat.completions.create({
  model: ${quote(model)},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
  anthropic: ({ origin, model, key }) => `${pythonImports(key, "Anthropic")}
client = Anthropic(base_url=${quote(origin)}, api_key=${pythonKey(key)})
answer = client.messages.create(
    model=${quote(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`,
  claude: ({ origin, model, key }) => `export ANTHROPIC_BASE_URL=${shellQuote(origin)}
export ANTHROPIC_API_KEY=${shellKey(key)}
export ANTHROPIC_MODEL=${shellQuote(model)}
claude`,
  codex: ({ origin, model, key }) => `# ~/.codex/config.toml
model = ${quote(model)}
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = ${quote(`${origin}/v1`)}
wire_api = "responses"
env_key = "GATEWAY_KEY"

# in the shell
# export GATEWAY_KEY=${shellKey(key)}
# codex`,
};

/** A request to the provider that needs no account. */
export const echoRequest = (origin: string): string => `curl ${origin}/v1/chat/completions \\
  -H "x-gateway-api-key: ${keyVariable}" \\
  -H "x-gateway-provider: echo" \\
  -H "content-type: application/json" \\
  -d '{"model":"echo-1","messages":[{"role":"user","content":"Hello"}]}'`;

/** Adds an integration with that provider. */
export const echoIntegration = (origin: string): string =>
  `curl ${origin}/v1/integrations -H "x-gateway-api-key: ${keyVariable}" \\
  -H "content-type: application/json" -d '{"name": "Echo", "ai_provider_id": "echo"}'`;

/** The first request as a program or as the settings of an agent. */
export const writeFirstRequest = (kind: FirstRequestKind, request: FirstRequest): string => writers[kind](request);
