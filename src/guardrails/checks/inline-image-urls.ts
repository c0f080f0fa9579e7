import * as v from "valibot";
import { inlineImages, listImageAddresses } from "../../schemas/image-addresses.ts";
import { timeoutOf } from "../call.ts";
import { type FetchedImages, fetchImages, maxImages } from "../fetch-images.ts";
import { type Body, beforeOnly, type Check, CheckError, type CheckOutcome, type CheckTools } from "../types.ts";

/** Largest limit for one image, and for all images of a request together, in bytes. */
const maxImageBytes = 50 * 1024 * 1024;
const maxTotalBytes = 64 * 1024 * 1024;
/** Longest address that a result shows, in characters. */
const maxShownUrl = 200;

const InlineImageUrls = v.object({
  providers: v.nullish(v.array(v.string())),
  maxSizeBytes: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxImageBytes)), 20 * 1024 * 1024),
  timeoutMs: timeoutOf(30_000),
  /** Read by this check itself: when off, fetched images are used although others failed. */
  failOnError: v.nullish(v.boolean(), false),
});
type InlineImageUrls = v.InferOutput<typeof InlineImageUrls>;

function toShown(url: string): string {
  return url.replace(/[?#].*$/s, "").slice(0, maxShownUrl);
}

function toOutcome(body: Body, { images, failures }: FetchedImages, failOnError: boolean): CheckOutcome {
  const shown = failures.slice(0, maxImages).map(({ url, reason }) => ({ url: toShown(url), reason }));
  const explanation = `${images.size} of ${images.size + failures.length} images were inlined`;
  const data = { explanation, inlined: images.size, failures: shown };
  const problem = "Cannot fetch all images of the request";
  if (failures.length > 0 && failOnError) throw new CheckError(problem, { data });
  return {
    pass: true,
    data,
    ...(failures.length > 0 && { error: problem }),
    ...(images.size > 0 && { body: inlineImages(body, (url) => images.get(url)) }),
  };
}

/** Replaces image addresses in a request by the images, for providers that do not fetch them. */
export function createInlineImageUrlsCheck(tools: CheckTools): Check<InlineImageUrls> {
  return {
    id: "default.inlineImageUrls",
    phases: beforeOnly,
    parameters: InlineImageUrls,
    changes: () => true,
    async run({ requestType, provider, request }, parameters) {
      const { providers, failOnError, maxSizeBytes: maxBytes, timeoutMs } = parameters;
      const isMeant = requestType === "chatComplete" || requestType === "messages";
      if (!isMeant || (providers && providers.length > 0 && !providers.includes(provider))) {
        return { pass: true, data: { explanation: "Images of this request are not inlined" } };
      }
      const urls = [...listImageAddresses(request.body).keys()];
      const fetched = await fetchImages(tools, urls, { maxBytes, maxTotalBytes, timeoutMs });
      return toOutcome(request.body, fetched, failOnError);
    },
  };
}
