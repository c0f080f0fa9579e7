import { type Endpoint, operationNameOf } from "../endpoint.ts";
import { pathParameters } from "../lib/route-path.ts";

const text = { type: "string" };
const traceId = { type: "string", maxLength: 256 };
const flag = { type: "string", enum: ["true", "false"] };

/** Headers of requests to a provider, by name without `x-gateway-`. */
const requestHeaders: Readonly<Record<string, readonly [description: string, schema: object]>> = {
  provider: ["Slug of a provider, or @slug of a stored one", text],
  "virtual-key": ["Slug of a stored provider", text],
  config: ["Slug of a saved config, or a config as JSON", text],
  "custom-host": ["Base URL in place of the provider's own", text],
  "trace-id": ["Groups requests; generated when absent", traceId],
  "span-id": ["Id of this request's span under the trace", traceId],
  "parent-span-id": ["Id of the span this one belongs to", traceId],
  "span-name": ["Name of this request's span", traceId],
  "session-id": ["Session that the request belongs to, stored with the log row", traceId],
  metadata: ["JSON object of strings, stored with the log row; _user names the end user", text],
  "request-timeout": ["Milliseconds each attempt may take", { type: "integer", minimum: 1 }],
  "forward-headers": ["Names of further headers the provider receives, separated by commas", text],
  "sensitive-headers": ["Names of further headers whose values are hashed in logs, separated by commas", text],
  debug: ["false: request and response bodies are not stored", flag],
  "ignore-service-log": ["true: request and response bodies are not stored", flag],
  "strict-openai-compliance": ["false: responses may have members beyond OpenAI's", flag],
  beta: ["Names of opt-in behaviour, separated by commas", text],
};

/** Components that operations reference. */
export const parameterComponents: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(requestHeaders).map(([name, [description, schema]]) => [
    name,
    { name: `x-gateway-${name}`, in: "header", required: false, description, schema },
  ]),
);

const reference = (name: string) => ({ $ref: `#/components/parameters/${name}` });
const references = Object.keys(requestHeaders).map(reference);

/** Headers of requests to MCP servers, by name without `x-gateway-`. */
const mcpHeaders = [
  "trace-id",
  "span-id",
  "parent-span-id",
  "span-name",
  "session-id",
  "metadata",
  "sensitive-headers",
  "debug",
];

/** References to the headers that an operation reads. */
function headersOf(endpoint: Endpoint): object[] {
  if (endpoint.kind === "mcp") return mcpHeaders.map(reference);
  return operationNameOf(endpoint) === undefined ? [] : references;
}

/** Parameters of an operation: path, query and headers. */
export function parametersOf(endpoint: Endpoint): object[] {
  const inPath = pathParameters(endpoint.path).map((name) => ({ name, in: "path", required: true, schema: text }));
  const rest = { name: "path", in: "path", required: true, description: "Rest of the path, including slashes" };
  return [
    ...inPath,
    ...(endpoint.path.endsWith("*") ? [{ ...rest, schema: text }] : []),
    ...(endpoint.query ?? []).map(({ name, description, isRequired }) => ({
      name,
      description,
      in: "query",
      ...(isRequired && { required: true }),
      schema: text,
    })),
    // headers that say which provider, and how it is asked
    ...headersOf(endpoint),
  ];
}
