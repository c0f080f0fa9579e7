import { createAddressGuard } from "../lib/address.ts";
import { isObject } from "../lib/json.ts";

/** Providers whose base address ends with the version of their API, `/v1`. */
const versioned = new Set(
  "openai anthropic cerebras groq jina mistral-ai openrouter voyage x-ai nebius nvidia-nim sambanova".split(" "),
);

/** The base address of a provider, of one to which the old gateway adds the version itself. */
export function withVersion(slug: string, base: unknown): unknown {
  if (typeof base !== "string" || !versioned.has(slug)) return base;
  const plain = base.replace(/\/+$/, "");
  return /\/v\d\w*$/.test(plain) ? plain : `${plain}/v1`;
}

/** Whether an address lies in a variable, and must end with the version there. */
export const needsVersion = (slug: string, base: unknown): boolean => isObject(base) && versioned.has(slug);

const guard = createAddressGuard({ trustedHosts: [] });

/** The host of an address that the gateway does not call unless it is trusted; undefined for any other. */
export function privateHostOf(address: unknown): string | undefined {
  const host = typeof address === "string" ? URL.parse(address)?.hostname : undefined;
  // a name without a dot is one of a private network, such as that of Compose
  if (host === undefined || host === "" || (!host.includes(".") && !host.startsWith("["))) return host || undefined;
  try {
    guard.checkTarget(String(address));
    return undefined;
  } catch {
    return host;
  }
}

/** How an integration on AWS authenticates: without a key or a role, by the keys that AWS's own variables have. */
export function awsKindOf(id: unknown, role: unknown, hasKey: boolean): "accessKey" | "assumedRole" | "apiKey" {
  if (id === undefined && role !== undefined) return "assumedRole";
  return id === undefined && hasKey ? "apiKey" : "accessKey";
}
