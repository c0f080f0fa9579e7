// Partners that search the web, and add what they find to the request.

import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { type Body, beforeOnly, type CheckInput } from "../types.ts";
import { needed, optionalText } from "./reading.ts";
import { bearerKey } from "./simple-partners.ts";
import { type AnyPartnerCheck, definePartnerCheck, type Partner } from "./types.ts";

const Hosts = v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(255))), v.maxLength(300)));
const flag = v.optional(v.boolean());
const Name = v.pipe(v.string(), v.maxLength(255));
const Wrap = v.optional(v.pipe(v.string(), v.maxLength(2_000)));
/** Longest text that is added, and longest query. */
const maxAdded = 64 * 1024;
const maxQuery = 2_000;

const exa: Partner = {
  slug: "exa",
  credentials: { apiKey: { secret: "key" } },
  baseUrl: () => "https://api.exa.ai",
  headers: (credentials) => ({ "x-api-key": credentials.apiKey ?? "" }),
};

const tavily: Partner = {
  slug: "tavily",
  credentials: { apiKey: { secret: "key" } },
  baseUrl: () => "https://api.tavily.com",
  headers: bearerKey,
};

/** A system text with more behind it: a string, parts, or nothing yet. */
function extend(given: unknown, added: string): unknown {
  if (typeof given === "string") return given === "" ? added : `${given}\n\n${added}`;
  return Array.isArray(given) ? [...given, { type: "text", text: added }] : added;
}

/** A chat with text behind its first system message, or with one. */
function extendMessages(messages: unknown, added: string): unknown {
  if (!Array.isArray(messages)) return messages;
  const at = messages.findIndex((one) => isObject(one) && (one.role === "system" || one.role === "developer"));
  if (at < 0) return [{ role: "system", content: added }, ...messages];
  return messages.map((one, index) => (index === at ? { ...one, content: extend(one.content, added) } : one));
}

/** The request with text for the model added to its instructions; undefined where it takes none. */
function addContext({ requestType, request: { body } }: CheckInput, added: string): Body | undefined {
  if (requestType === "chatComplete") return { ...body, messages: extendMessages(body.messages, added) };
  if (requestType === "messages") return { ...body, system: extend(body.system, added) };
  if (requestType === "createModelResponse") return { ...body, instructions: extend(body.instructions, added) };
  if (requestType === "complete" && typeof body.prompt === "string")
    return { ...body, prompt: `${added}\n\n${body.prompt}` };
  if (requestType !== "generateContent") return undefined;
  const name = body.system_instruction === undefined ? "systemInstruction" : "system_instruction";
  const given = body[name];
  const parts = isObject(given) && Array.isArray(given.parts) ? given.parts : [];
  return { ...body, [name]: { ...(isObject(given) ? given : {}), parts: [...parts, { text: added }] } };
}

/** What was found, as text for the model. */
function toAdded(results: readonly unknown[], prefix: string, suffix: string): string {
  const found = results.map((one) => {
    const [title, url] = [optionalText(one, "title") ?? "", optionalText(one, "url") ?? ""];
    return `${title}\n${url}\n${optionalText(one, "text") ?? optionalText(one, "content") ?? ""}`.trim();
  });
  return `${prefix}\n${found.join("\n\n").slice(0, maxAdded)}\n${suffix}`.trim();
}

/** The verdict of a search: it always passes. */
function toResult(
  input: CheckInput,
  results: readonly unknown[],
  { prefix, suffix }: { prefix: string; suffix: string },
) {
  const body = results.length > 0 ? addContext(input, toAdded(results, prefix, suffix)) : undefined;
  const sources = results.map((one) => optionalText(one, "url"));
  return { pass: true, data: { count: results.length, sources }, ...(body && { body }) };
}

const [openTag, closeTag] = ["<web_search_context>", "</web_search_context>"];

export const searchPartnerChecks: readonly AnyPartnerCheck[] = [
  definePartnerCheck({
    id: "exa.online",
    partner: exa,
    phases: beforeOnly,
    parameters: {
      prefix: Wrap,
      suffix: Wrap,
      numResults: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)), 5),
      includeDomains: Hosts,
      excludeDomains: Hosts,
    },
    timeoutMs: 10_000,
    onlyAdds: true,
    changes: () => true,
    calls: ({ lastTurn }, { numResults, includeDomains, excludeDomains }) => [
      {
        path: "/search",
        body: {
          query: lastTurn.slice(0, maxQuery),
          numResults,
          useAutoprompt: true,
          includeDomains,
          excludeDomains,
          contents: { text: true },
        },
      },
    ],
    read: ([answer], { input }, { prefix = openTag, suffix = closeTag }) =>
      toResult(input, needed.list(answer, "results"), { prefix, suffix }),
  }),
  definePartnerCheck({
    id: "tavily.online",
    partner: tavily,
    phases: beforeOnly,
    parameters: {
      prefix: Wrap,
      suffix: Wrap,
      maxResults: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(20)), 5),
      searchDepth: v.optional(v.picklist(["advanced", "basic", "fast", "ultra-fast"])),
      chunksPerSource: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5)), 3),
      topic: v.optional(v.picklist(["general", "news", "finance"])),
      timeRange: v.optional(v.picklist(["day", "week", "month", "year", "d", "w", "m", "y"])),
      startDate: v.optional(Name),
      endDate: v.optional(Name),
      includeAnswer: v.optional(v.union([v.boolean(), v.picklist(["basic", "advanced"])])),
      includeRawContent: v.optional(v.union([v.boolean(), v.picklist(["markdown", "text"])])),
      includeImages: flag,
      includeImageDescriptions: flag,
      includeFavicon: flag,
      includeDomains: Hosts,
      excludeDomains: Hosts,
      country: v.optional(Name),
      autoParameters: flag,
      exactMatch: flag,
      includeUsage: flag,
      safeSearch: flag,
    },
    timeoutMs: 30_000,
    onlyAdds: true,
    changes: () => true,
    calls({ lastTurn }, { prefix: _, suffix: __, ...options }) {
      const named = Object.entries(options).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]);
      return [{ path: "/search", body: { query: lastTurn.slice(0, maxQuery), ...Object.fromEntries(named) } }];
    },
    read([answer], { input }, { prefix = openTag, suffix = closeTag }) {
      const said = optionalText(answer, "answer");
      const results = needed.list(answer, "results");
      const all = said === undefined || said === "" ? results : [{ title: "Answer", content: said }, ...results];
      return toResult(input, all, { prefix, suffix });
    },
  }),
];
