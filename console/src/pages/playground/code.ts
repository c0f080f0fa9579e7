import type { ModelRequest } from "@/chat/run.ts";
import { isRow, type Row } from "@/lib/read.ts";

export type CodeLanguage = "curl" | "typescript" | "python";

/** Members that the SDK's `create` knows by name; others go into its body beside them. */
const known: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "temperature",
  "max_tokens",
  "top_p",
  "stop",
  "response_format",
  "reasoning_effort",
  "tools",
  "tool_choice",
  "stream",
  "stream_options",
]);

const indent = (code: string, by: number): string => code.replaceAll("\n", `\n${" ".repeat(by)}`);

/** One argument of a POSIX shell. */
function quote(argument: string): string {
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

function toCurl({ path, headers, body }: ModelRequest, origin: string): string {
  const given = Object.entries(headers).map(([name, value]) => `  -H ${quote(`${name}: ${value}`)} \\\n`);
  return `curl ${quote(`${origin}${path}`)} \\
  -H "x-gateway-api-key: $GATEWAY_KEY" \\
${given.join("")}  -H 'content-type: application/json' \\
  -d ${quote(JSON.stringify(body, undefined, 2))}
`;
}

/** A value of JSON as a literal of Python. */
function toPython(value: unknown, depth = 0): string {
  const pad = " ".repeat(4 * (depth + 1));
  const end = `\n${" ".repeat(4 * depth)}`;
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null || value === undefined) return "None";
  if (Array.isArray(value)) {
    return value.length === 0
      ? "[]"
      : `[\n${value.map((one) => `${pad}${toPython(one, depth + 1)},`).join("\n")}${end}]`;
  }
  if (isRow(value)) {
    const members = Object.entries(value).map(
      ([name, one]) => `${pad}${JSON.stringify(name)}: ${toPython(one, depth + 1)},`,
    );
    return members.length === 0 ? "{}" : `{\n${members.join("\n")}${end}}`;
  }
  return JSON.stringify(value);
}

function split(body: Row): { readonly named: Row; readonly others: Row } {
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => known.has(name) === wanted));
  return { named: part(true), others: part(false) };
}

function toPythonCode({ path, headers, body }: ModelRequest, origin: string): string {
  const { named, others } = split(body);
  const isChat = path === "/v1/chat/completions";
  const args = Object.entries(named).map(([name, value]) => `    ${name}=${indent(toPython(value), 4)},\n`);
  const extra = Object.keys(others).length === 0 ? "" : `    extra_body=${indent(toPython(others), 4)},\n`;
  const defaults = Object.keys(headers).length === 0 ? "" : `    default_headers=${indent(toPython(headers), 4)},\n`;
  const call = isChat
    ? `client.chat.completions.create(\n${args.join("")}${extra})`
    : `client.post(\n    ${JSON.stringify(path.replace(/^\/v1/, ""))},\n    body=${indent(toPython(body), 4)},\n    cast_to=object,\n)`;
  const isStream = isChat && body.stream === true;
  return `import os

from openai import OpenAI

client = OpenAI(
    api_key=os.environ["GATEWAY_KEY"],
    base_url="${origin}/v1",
${defaults})

answer = ${call}
${isStream ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="")' : isChat ? "print(answer.choices[0].message.content)" : "print(answer)"}
`;
}

function toTypeScript({ path, headers, body }: ModelRequest, origin: string): string {
  const isChat = path === "/v1/chat/completions";
  const defaults =
    Object.keys(headers).length === 0 ? "" : `  defaultHeaders: ${indent(JSON.stringify(headers, undefined, 2), 2)},\n`;
  const json = JSON.stringify(body, undefined, 2);
  const call = isChat
    ? `client.chat.completions.create(${json})`
    : `client.post(${JSON.stringify(path.replace(/^\/v1/, ""))}, {\n  body: ${indent(json, 2)},\n})`;
  const isStream = isChat && body.stream === true;
  return `import OpenAI from "openai";

const client = new OpenAI({
  apiKey: process.env.GATEWAY_KEY,
  baseURL: "${origin}/v1",
${defaults}});

const answer = await ${call};
${isStream ? 'for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? "");' : isChat ? "console.log(answer.choices[0]?.message.content);" : "console.log(answer);"}
`;
}

/** A request as a program; the key is a variable of its environment. */
export function toCode(language: CodeLanguage, request: ModelRequest, origin: string): string {
  if (language === "curl") return toCurl(request, origin);
  return language === "python" ? toPythonCode(request, origin) : toTypeScript(request, origin);
}
