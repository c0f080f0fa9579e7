import * as v from "valibot";
import type { Steps } from "../../lib/steps.ts";
import { afterOnly, type Check, CheckError, type CheckTools } from "../types.ts";

const ValidUrls = v.object({ onlyDNS: v.optional(v.boolean(), false), not: v.optional(v.boolean(), false) });

const timeoutMs = 3_000;
/** Most addresses of one text that are called. */
const maxUrls = 20;
/** Most ways of writing them that are looked at. */
const maxWritten = 1_000;

/** What in a text looks like an address; brackets and marks behind it may belong to the sentence. */
const urlForm = /https?:\/\/[^\s<>"'`\\^{|}\]]+/gi;

/** An address without what belongs to the sentence around it. */
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

/** The addresses of a text, each once, without fragments: those are not sent. One more than are called is enough. */
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

/** Whether the addresses in an answer can be reached. */
export function createValidUrlsCheck({ outbound }: CheckTools): Check<v.InferOutput<typeof ValidUrls>> {
  const isValid = async (url: string, onlyDns: boolean): Promise<boolean> => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await outbound(url, { origin: "influenced", method: "HEAD", headers: {}, signal });
      response.body?.cancel().catch(() => {});
      // there is no way to resolve a name alone: one whose host answers HTTP, whatever it says, has been resolved
      return onlyDns || response.ok;
    } catch {
      return false; // an address that is refused, or does not answer in time, is none a reader can open
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
      const wanted = not ? "wanted is that one is not" : "wanted are all";
      const explanation = `${seen.length - invalidUrls.length} of ${seen.length} addresses are valid, ${wanted}`;
      const told = invalidUrls.map((url) => url.slice(0, 200));
      return { pass: areValid !== not, data: { explanation, not, invalidUrls: told, ...(isCut && { isCut }) } };
    },
  };
}
