import * as v from "valibot";
import type { Steps } from "../../lib/steps.ts";
import { afterOnly, type Check, CheckError, type CheckTools } from "../types.ts";

const ValidUrls = v.object({ onlyDNS: v.optional(v.boolean(), false), not: v.optional(v.boolean(), false) });

const timeoutMs = 3_000;
/** Most addresses of one text that are called. */
const maxUrls = 20;
/** Most matches of the address pattern that are examined. */
const maxWritten = 1_000;

/** Matches addresses in a text; trailing brackets and punctuation may belong to the sentence. */
const urlForm = /https?:\/\/[^\s<>"'`\\^{|}\]]+/gi;

/** An address without the punctuation of the sentence around it. */
function trimUrl(written: string): string {
  let end = written.length;
  let closing = written.split(")").length - written.split("(").length;
  for (; end > 0; end--) {
    const last = written[end - 1] ?? "";
    if (last === ")" && closing > 0) closing--;
    else if (!".,;:!?*_".includes(last)) break;
  }
  return written.slice(0, end);
}

/** The distinct addresses of a text without fragments, which are not sent. Stops one above the limit. */
function* readUrls(text: string): Steps<string[]> {
  const written = new Set<string>();
  const found = new Set<string>();
  for (const [match] of text.matchAll(urlForm)) {
    const url = trimUrl(match).replace(/#.*$/s, "");
    if (written.has(url)) continue;
    written.add(url);
    found.add(URL.canParse(url) ? new URL(url).href : url);
    if (found.size > maxUrls || written.size > maxWritten) break;
    yield 1_000 + url.length;
  }
  return [...found];
}

/** Whether the addresses in a response can be reached. */
export function createValidUrlsCheck({ outbound }: CheckTools): Check<v.InferOutput<typeof ValidUrls>> {
  const isValid = async (url: string, onlyDns: boolean): Promise<boolean> => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await outbound(url, { origin: "influenced", method: "HEAD", headers: {}, signal });
      response.body?.cancel().catch(() => {});
      // a name cannot be resolved without a request: any HTTP response proves that it resolves
      return onlyDns || response.ok;
    } catch {
      return false; // an address that refuses or does not respond in time cannot be opened by a reader either
    }
  };
  return {
    id: "default.validUrls",
    phases: afterOnly,
    parameters: ValidUrls,
    async run({ text, mustSeeAll, work }, { onlyDNS, not }) {
      const urls = await work.run(readUrls(text));
      if (urls.length === 0) return { pass: false, data: { explanation: "The text has no addresses", not } };
      const seen = urls.slice(0, maxUrls);
      const isCut = seen.length < urls.length;
      const verdicts = await Promise.all(seen.map((url) => isValid(url, onlyDNS)));
      const invalidUrls = seen.filter((_, index) => !verdicts[index]);
      const areValid = invalidUrls.length === 0;
      if (isCut && areValid && mustSeeAll) throw new CheckError(`Cannot check more than ${maxUrls} addresses`);
      const expected = not ? "expected an invalid one" : "expected all";
      const explanation = `${seen.length - invalidUrls.length} of ${seen.length} addresses are valid, ${expected}`;
      const told = invalidUrls.map((url) => url.slice(0, 200));
      return { pass: areValid !== not, data: { explanation, not, invalidUrls: told, ...(isCut && { isCut }) } };
    },
  };
}
