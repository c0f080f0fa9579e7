import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { scimEndpoints } from "../../src/admin/scim/endpoints.ts";
import type { Endpoint } from "../../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../../src/inference/routes/endpoints.ts";
import { sample } from "../support/sample.ts";
import { type Body, formBodies, headerCases, jsonBodies, largestJson } from "./bodies.ts";
import { configCases } from "./configs.ts";

/** One request of the program. */
export interface Case {
  name: string;
  method: string;
  path: string;
  key: "workspace" | "admin" | "scim";
  headers: Readonly<Record<string, string>>;
  /** Of configs: whether it is refused. */
  isRefused?: boolean;
  body(): Body | undefined;
}

const endpoints: readonly Endpoint[] = [
  ...inferenceEndpoints,
  ...adminEndpoints,
  ...scimEndpoints,
  ...passthroughEndpoints,
];
const megabyte = 2 ** 20;

/** A path of a row, with a value for each parameter. */
const pathOf = ({ path }: Endpoint): string => path.replace(/\/:\w+\+?/g, "/gpt-5.1").replace(/\*$/, "anything/else");
const isAdmin = (endpoint: Endpoint): boolean => "handleAdmin" in endpoint || "handleScim" in endpoint;
const takesBody = ({ method }: Endpoint): boolean => method !== "GET" && method !== "DELETE";

/** Providers whose conversions rows go through; the first one takes most rows as they are. */
const providersOf = (path: string): readonly string[] =>
  /chat\/completions$|messages$|responses$|generateContent$/.test(path)
    ? ["openai", "anthropic", "google", "cohere"]
    : ["openai"];

/** Rows that every kind of body is tried on, at full length. */
const wholeRows = new Set(["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"]);

/** The row every kind of body is tried on, in any case. */
const sampledRow = "/v1/chat/completions";

/** Kinds of body that are tried on a row: all, or one of them in turn. */
function kindsOf(kinds: readonly string[], index: number, isAll: boolean): readonly string[] {
  return isAll ? kinds : [kinds[index % kinds.length] ?? ""];
}

function rowCases(endpoint: Endpoint, index: number, isWhole: boolean): Case[] {
  const path = pathOf(endpoint);
  const { method } = endpoint;
  const isForm = "handleForm" in endpoint || /\/files$|\/parts$|variations$/.test(path);
  const makers = isForm ? formBodies : jsonBodies;
  const isMain = wholeRows.has(endpoint.path) || endpoint.path.endsWith(":generateContent");
  const isSample = endpoint.path === sampledRow;
  const most = isWhole && isMain ? largestJson - 4_096 : isSample || isWhole ? 4 * megabyte : megabyte / 2;
  const limit = isAdmin(endpoint) ? megabyte - 4_096 : most;
  const key = "handleScim" in endpoint ? "scim" : isAdmin(endpoint) ? "admin" : "workspace";
  // the first provider takes all kinds, the others the ones their conversions walk
  const providers = isWhole || isSample ? providersOf(path) : providersOf(path).slice(0, 1);
  return providers.flatMap((provider, place) => {
    const names = Object.keys(makers).filter((name) => place === 0 || (isWhole && isMain) || name.startsWith("many "));
    return kindsOf(names, index, isWhole || isSample).map((kind) => ({
      name: `${method} ${endpoint.path} by ${provider}: ${kind}`,
      method,
      path,
      key,
      headers: { "x-gateway-provider": provider },
      body: () => makers[kind]?.(limit),
    }));
  });
}

const hello = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
const chat = { method: "POST", path: "/v1/chat/completions", key: "workspace" } as const;

function ofJson(value: object): Body {
  const json = JSON.stringify(value);
  return { json, bytes: new TextEncoder().encode(json), headers: { "content-type": "application/json" } };
}

/**
 * All cases, or enough of them for every row and every kind of body to be there.
 *
 * @param isWhole Every kind of body on every row, at full length.
 */
export function listCases(isWhole: boolean): Case[] {
  const rows = endpoints.filter(takesBody).flatMap((endpoint, index) => rowCases(endpoint, index, isWhole));
  const headers = Object.entries(headerCases).map(([kind, make]): Case => {
    return {
      ...chat,
      name: `headers: ${kind}`,
      headers: { "x-gateway-provider": "echo", ...make() },
      body: () => ofJson(hello),
    };
  });
  const configs = Object.entries(configCases).map(([kind, make]): Case => {
    const { config, text, isRefused = false } = make();
    const body = { ...hello, user: text, messages: [{ role: "user", content: text }] };
    const header = { "x-gateway-config": JSON.stringify(config) };
    return { ...chat, name: `config: ${kind}`, headers: header, isRefused, body: () => ofJson(body) };
  });
  return isWhole ? [...rows, ...headers, ...configs] : [rows, headers, configs].flatMap((cases) => sample(cases, 4));
}
