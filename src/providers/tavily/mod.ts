import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { countOf, hostsOf, text, toSearchAnswer, unknownMembers } from "../shared/search.ts";

const Reply = v.looseObject({
  results: v.array(v.looseObject({ title: text, url: text, content: text, published_date: text })),
});

/** Tavily names countries by their English names in lower case. */
function countryName(code: string): string | undefined {
  return new Intl.DisplayNames(["en"], { type: "region", fallback: "none" }).of(code.toUpperCase())?.toLowerCase();
}

/** Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search). Its models are its depths: `basic`, `advanced`. */
export const tavily = defineProvider({
  slug: "tavily",
  settings: { prefix: "tavily", schema: v.object({}) },
  baseUrl: "https://api.tavily.com",
  authenticate: bearer,
  operations: {
    search: {
      path: () => "/search",
      toUpstream(request, { drop }) {
        const { allowed, blocked } = hostsOf(request);
        const country = request.country == null ? undefined : countryName(request.country);
        if (request.country != null && country === undefined) drop("country");
        return {
          ...unknownMembers(request),
          query: request.query,
          search_depth: request.model,
          max_results: countOf(request),
          ...(allowed.length > 0 && { include_domains: allowed }),
          ...(blocked.length > 0 && { exclude_domains: blocked }),
          ...(country !== undefined && { country }),
        };
      },
      fromUpstream(body, request, options) {
        const pages = v.parse(Reply, body).results;
        const found = pages.map((page) => ({ ...page, snippet: page.content, date: page.published_date }));
        return toSearchAnswer(found, request, options);
      },
    },
  },
});
