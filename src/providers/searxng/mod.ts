import * as v from "valibot";
import type { SearchRequest } from "../../schemas/search.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { hostRequired } from "../shared/hosts.ts";
import { queryWithHosts, text, toSearchAnswer } from "../shared/search.ts";

const Reply = v.looseObject({
  results: v.array(v.looseObject({ title: text, url: text, content: text, publishedDate: text })),
});

function toPath(request: SearchRequest): string {
  const query = new URLSearchParams({ q: queryWithHosts(request), format: "json", categories: request.model });
  return `/search?${query}`;
}

/**
 * SearXNG on the operator's own host, which must allow the format `json`
 * (https://docs.searxng.org/dev/search_api.html). Its models are its categories: `general`, `news`, `science`.
 */
export const searxng = defineProvider({
  slug: "searxng",
  keyless: true,
  free: true,
  settings: { prefix: "searxng", schema: v.object({}) },
  baseUrl: hostRequired("searxng"),
  authenticate: bearer,
  operations: {
    search: {
      method: "GET",
      path: toPath,
      fromUpstream(body, request, { drop, ...options }) {
        if (request.country != null) drop("country");
        const pages = v.parse(Reply, body).results;
        const found = pages.map((page) => ({ ...page, snippet: page.content, date: page.publishedDate }));
        return toSearchAnswer(found, request, options);
      },
    },
  },
});
