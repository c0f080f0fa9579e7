import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer, keyHeader } from "../core/headers.ts";
import type { Provider } from "../core/types.ts";
import { hostRequired } from "../shared/hosts.ts";

/** A provider without unified operations: its base URL and how it takes the credential. */
interface ProxiedProvider {
  slug: string;
  /** Absent for servers of the caller. */
  baseUrl?: string;
  /** Default: the credential as a bearer token. */
  authenticate?: (credential: string | undefined) => Record<string, string>;
}

const rows: readonly ProxiedProvider[] = [
  // https://replicate.com/docs/reference/http
  { slug: "replicate", baseUrl: "https://api.replicate.com/v1" },
  // https://docs.meshy.ai/en/api/quick-start
  { slug: "meshy", baseUrl: "https://api.meshy.ai/openapi" },
  // https://platform.tripo3d.ai/docs/general
  { slug: "tripo3d", baseUrl: "https://api.tripo3d.ai/v2/openapi" },
  // https://milvus.io/api-reference/restful/v2.4.x/About.md
  { slug: "milvus" },
  // https://api.qdrant.tech/api-reference
  { slug: "qdrant", authenticate: keyHeader("api-key") },
  // https://elevenlabs.io/docs/api-reference/authentication
  { slug: "elevenlabs", baseUrl: "https://api.elevenlabs.io/v1", authenticate: keyHeader("xi-api-key") },
  // https://developers.deepgram.com/docs/authenticating
  { slug: "deepgram", baseUrl: "https://api.deepgram.com/v1", authenticate: keyHeader("authorization", "Token ") },
];

function defineProxied({ slug, baseUrl, authenticate = bearer }: ProxiedProvider): Provider {
  return defineProvider({
    slug,
    settings: { prefix: slug, schema: v.object({}) },
    baseUrl: baseUrl ?? hostRequired(slug),
    authenticate,
    operations: {},
  });
}

/**
 * Any server the caller names: paths, headers and bodies are forwarded unchanged, including the caller's own
 * authorization.
 */
const passthrough = defineProvider({
  slug: "passthrough",
  settings: { prefix: "passthrough", schema: v.object({}) },
  isRaw: true,
  baseUrl: hostRequired("passthrough"),
  authenticate: () => ({}),
  operations: {},
});

/** Providers without unified operations: their native paths are proxied with the credential added. */
export const proxiedProviders: readonly Provider[] = [...rows.map(defineProxied), passthrough];
