import { isRow, type Row, readPath, readText } from "../../lib/read.ts";

// The request of a log row as code. The key is a placeholder: the log does not have it.

export type CodeKind = "curl" | "typescript" | "python";

interface Sent {
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  /** Headers for the gateway, apart from the key. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: unknown;
}

/** Headers that say who calls or what the client is; the code of a row sets its own. */
const left = /^(x-gateway-)?(api-key|trace-id|virtual-key-id|csrf)$/;

/** What is masked cannot be sent again. */
const isMasked = (value: string): boolean => value.startsWith("hmac:") || value.includes("[masked]");

function readSent(row: Row, origin: string): Sent {
  const gateway = readPath(row, "request.gatewayHeaders");
  const headers = isRow(gateway)
    ? Object.entries(gateway)
        .map(([name, value]) => [`x-gateway-${name}`, String(value)] as const)
        .filter(([name, value]) => !left.test(name) && !isMasked(value))
    : [];
  return {
    origin,
    path: readText(row, "path"),
    method: readText(row, "method") || "POST",
    headers,
    body: readPath(row, "request.body"),
  };
}

/** A text in single quotes for a POSIX shell. */
const shellQuote = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;

function toCurl({ origin, path, method, headers, body }: Sent): string {
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

const indent = (value: string, by: string): string => value.replaceAll("\n", `\n${by}`);

function toTypeScript({ origin, path, headers, body }: Sent): string {
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
console.log(answer);
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

function toPython({ origin, path, headers, body }: Sent): string {
  const method = methods[path];
  const literal = toPythonValue(body ?? {});
  const send =
    method === undefined
      ? `client.post(${JSON.stringify(path.replace(/^\/v1/, ""))}, body=body, cast_to=object)`
      : `client.${method}(**body)`;
  return `import os

from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(`${origin}/v1`)},
    api_key=os.environ["GATEWAY_API_KEY"],
    default_headers=${toPythonValue(Object.fromEntries(headers), "    ")},
)

body = ${literal}

answer = ${send}
print(answer)
`;
}

const writers: Readonly<Record<CodeKind, (sent: Sent) => string>> = {
  curl: toCurl,
  typescript: toTypeScript,
  python: toPython,
};

/**
 * The request of a row as code that sends it again.
 *
 * @param origin Address of the gateway.
 */
export function toCode(kind: CodeKind, row: Row, origin: string): string {
  return writers[kind](readSent(row, origin));
}
