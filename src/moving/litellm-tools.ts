import type { MoveDraft } from "./draft.ts";
import { variable } from "./litellm-place.ts";
import type { Source } from "./source.ts";

// Form: https://docs.litellm.ai/docs/mcp

/** Header of a credential, and what stands before it. */
const schemes: Readonly<Record<string, readonly [header: string, before: string]>> = {
  api_key: ["x-api-key", ""],
  bearer_token: ["authorization", "Bearer "],
  basic: ["authorization", "Basic "],
  authorization: ["authorization", ""],
};

/** Headers of a server. A variable stands for a whole value. */
function readHeaders(draft: MoveDraft, server: Source, name: string): Record<string, unknown> {
  const stated = server.object("static_headers");
  const headers = Object.fromEntries(
    stated.names.map((header) => [header, draft.secret(stated.take(header), variable, `${name}_${header}`)]),
  );
  const [header, before] = schemes[server.text("auth_type") ?? ""] ?? [];
  const secret = server.text("auth_value") ?? server.text("authentication_token");
  if (header === undefined || before === undefined || secret === undefined) return headers;
  const named = variable.exec(secret)?.[1];
  if (named !== undefined && before !== "")
    draft.note("changed", `${server.path}.auth_type`, `the value of ${named} must begin with "${before}"`);
  const value = named === undefined ? before + secret : secret;
  return { ...headers, [header]: draft.secret(value, variable, `${name}_TOKEN`) };
}

/** Servers of tools. */
export function readLitellmTools(draft: MoveDraft, servers: Source): void {
  for (const [name, server] of servers.records) {
    const url = server.text("url");
    const stated = server.text("transport");
    const transport = stated ?? (url !== undefined && /\/sse\/?$/.test(url) ? "sse" : "http");
    const auth = server.has("auth_type") ? String(server.take("auth_type")) : "none";
    if (auth !== "none" && !Object.hasOwn(schemes, auth))
      draft.note("left", `${server.path}.auth_type`, `${auth}: set auth_type of the MCP integration: docs/mcp.md`);
    draft.toolServer(server, { name, url, transport, headers: readHeaders(draft, server, name) });
    server.ignore("description", "spec_version");
  }
}
