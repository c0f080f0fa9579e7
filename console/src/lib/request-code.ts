import { isJsonObject, type JsonObject } from "./json.ts";

// A request as a program. The key is a variable of its environment.

export type CodeKind = "curl" | "typescript" | "python";

/** A request to the gateway. */
export interface SentRequest {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  /** Headers for the gateway, apart from the key. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: unknown;
}

/** A text in single quotes for a POSIX shell. */
export const shellQuote = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;

function toCurl({ origin, path, method, headers, body }: SentRequest): string {
  const lines = [`curl -X ${method} ${shellQuote(origin + path)}`, '-H "x-gateway-api-key: $GATEWAY_API_KEY"'];
  for (const [name, value] of headers) lines.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  if (body !== null && body !== undefined) {
    lines.push("-H 'content-type: application/json'", `-d ${shellQuote(JSON.stringify(body))}`);
  }
  return lines.join(" \\\n  ");
}

/** Methods of OpenAI's SDKs by the path of their route. */
const methods: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "chat.completions.create",
  "/v1/completions": "completions.create",
  "/v1/responses": "responses.create",
  "/v1/embeddings": "embeddings.create",
  "/v1/moderations": "moderations.create",
  "/v1/images/generations": "images.generate",
};

/** Members that the chat method of the SDKs knows by name. */
const known: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "temperature",
  "max_tokens",
  "max_completion_tokens",
  "top_p",
  "stop",
  "seed",
  "n",
  "user",
  "metadata",
  "response_format",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "stream",
  "stream_options",
]);

/** Whether the answer of a request arrives in pieces of a chat. */
function isChatStream({ path, body }: SentRequest): boolean {
  return path === "/v1/chat/completions" && isJsonObject(body) && body.stream === true;
}

/** Members of a chat that Python's SDK takes only apart from the others. */
function extrasOf({ path, body }: SentRequest): JsonObject {
  if (path !== "/v1/chat/completions" || !isJsonObject(body)) return {};
  return Object.fromEntries(Object.entries(body).filter(([name]) => !known.has(name)));
}

const indent = (value: string, by: string): string => value.replaceAll("\n", `\n${by}`);

function toTypeScript(sent: SentRequest): string {
  const { origin, path, headers, body } = sent;
  const shared = Object.fromEntries(headers);
  const json = JSON.stringify(body ?? {}, undefined, 2);
  const method = methods[path];
  const send =
    method === undefined
      ? `await client.post(${JSON.stringify(path.replace(/^\/v1/, ""))}, { body: ${json} })`
      : `await client.${method}(${json})`;
  return `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(`${origin}/v1`)},
  apiKey: process.env.GATEWAY_API_KEY,
  defaultHeaders: ${indent(JSON.stringify(shared, undefined, 2), "  ")},
});

const answer = ${send};
${isChatStream(sent) ? 'for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? "");' : "console.log(answer);"}
`;
}

/** A JSON value as a literal of Python. */
function toPythonValue(value: unknown, by = ""): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${by}    `;
  const items = Array.isArray(value)
    ? value.map((item) => toPythonValue(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${toPythonValue(item, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${inner}${item},`).join("\n")}\n${by}${close}`;
}

function toPython(sent: SentRequest): string {
  const { origin, path, headers, body } = sent;
  const method = methods[path];
  const extras = extrasOf(sent);
  const named = isJsonObject(body)
    ? Object.fromEntries(Object.entries(body).filter(([name]) => !(name in extras)))
    : body;
  const literal = toPythonValue(named ?? {});
  const extra = Object.keys(extras).length === 0 ? "" : `, extra_body=${toPythonValue(extras)}`;
  const send =
    method === undefined
      ? `client.post(${JSON.stringify(path.replace(/^\/v1/, ""))}, body=body, cast_to=object)`
      : `client.${method}(**body${extra})`;
  return `import os

from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(`${origin}/v1`)},
    api_key=os.environ["GATEWAY_API_KEY"],
    default_headers=${toPythonValue(Object.fromEntries(headers), "    ")},
)

body = ${literal}

answer = ${send}
${isChatStream(sent) ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")' : "print(answer)"}
`;
}

const writers: Readonly<Record<CodeKind, (sent: SentRequest) => string>> = {
  curl: toCurl,
  typescript: toTypeScript,
  python: toPython,
};

/** A request as a program in a language. */
export function writeCode(kind: CodeKind, sent: SentRequest): string {
  return writers[kind](sent);
}
