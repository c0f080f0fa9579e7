import * as v from "valibot";
import type { SearchRequest } from "../../schemas/search.ts";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import { countOf, queryWithHosts, text, toSearchAnswer } from "../shared/search.ts";

const Reply = v.looseObject({
  web: v.nullish(
    v.looseObject({
      results: v.nullish(
        v.array(
          v.looseObject({
            title: text,
            url: text,
            description: text,
            page_age: text,
            extra_snippets: v.nullish(v.array(v.string())),
          }),
        ),
      ),
    }),
  ),
});

function toPath(request: SearchRequest): string {
  const query = new URLSearchParams({
    q: queryWithHosts(request),
    count: String(countOf(request)),
    text_decorations: "false",
    ...(request.country != null && { country: request.country.toUpperCase() }),
  });
  return `/res/v1/web/search?${query}`;
}

/** Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search/get-started). Its model is `web`. */
export const brave = defineProvider({
  slug: "brave",
  settings: { prefix: "brave", schema: v.object({}) },
  baseUrl: "https://api.search.brave.com",
  authenticate: keyHeader("x-subscription-token"),
  operations: {
    search: {
      method: "GET",
      path: toPath,
      fromUpstream(body, request, options) {
        const found = v.parse(Reply, body).web?.results ?? [];
        const pages = found.map((page) => ({
          ...page,
          snippet: [page.description ?? "", ...(page.extra_snippets ?? [])].join("\n"),
          date: page.page_age,
        }));
        return toSearchAnswer(pages, request, options);
      },
    },
  },
});
