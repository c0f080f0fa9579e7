import { isObject, nonEmptyString } from "../lib/json.ts";

type Members = Record<string, unknown>;

const signatureIn = (content: unknown): string | undefined =>
  isObject(content) ? nonEmptyString(content.thought_signature) : undefined;

/**
 * The signature of a call in `extra_content`, which is below the name of its vendor
 * (https://ai.google.dev/gemini-api/docs/thought-signatures#openai).
 */
export function readExtraSignature({ extra_content: extra }: Members): string | undefined {
  return isObject(extra) ? Object.values(extra).map(signatureIn).find(Boolean) : undefined;
}

/** A call without such a signature, which other hosts may refuse; the same call where it has none. */
export function withoutExtraSignature(call: Members): Members {
  if (readExtraSignature(call) === undefined) return call;
  const { extra_content: extra, ...rest } = call;
  const others = Object.entries(isObject(extra) ? extra : {}).filter(
    ([, content]) => signatureIn(content) === undefined,
  );
  return others.length > 0 ? { ...rest, extra_content: Object.fromEntries(others) } : rest;
}
