import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import { countOf, hostsOf, text, toSearchAnswer, unknownMembers } from "../shared/search.ts";

/** Characters of the text of a page. */
const maxCharacters = 3_000;

const Reply = v.looseObject({
  results: v.array(v.looseObject({ title: text, url: text, text, publishedDate: text })),
  costDollars: v.nullish(v.looseObject({ total: v.nullish(v.number()) })),
});

/** Exa (https://docs.exa.ai/reference/search). Its models are its types of search: `auto`, `lite`, `fast`, `neural`, `deep`, `deep-reasoning`. */
export const exa = defineProvider({
  slug: "exa",
  settings: { prefix: "exa", schema: v.object({}) },
  baseUrl: "https://api.exa.ai",
  authenticate: keyHeader("x-api-key"),
  charges: [{ path: ["cost"] }],
  operations: {
    search: {
      path: () => "/search",
      toUpstream(request) {
        const { allowed, blocked } = hostsOf(request);
        return {
          contents: { text: { maxCharacters } },
          ...unknownMembers(request),
          query: request.query,
          type: request.model,
          numResults: countOf(request),
          ...(allowed.length > 0 && { includeDomains: allowed }),
          ...(blocked.length > 0 && { excludeDomains: blocked }),
          ...(request.country != null && { userLocation: request.country.toUpperCase() }),
        };
      },
      fromUpstream(body, request, options) {
        const { results, costDollars } = v.parse(Reply, body);
        const pages = results.map((page) => ({ ...page, snippet: page.text, date: page.publishedDate }));
        const cost = costDollars?.total;
        return { ...toSearchAnswer(pages, request, options), ...(cost != null && { usage: { cost } }) };
      },
    },
  },
});
