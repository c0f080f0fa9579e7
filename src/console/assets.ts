import type { RequestContext } from "../context.ts";
import type { ConsoleAsset } from "../control/console/assets.ts";
import { basePathOf } from "../endpoint/public-origin.ts";
import { NotFoundError } from "../errors.ts";
import { toBase64Url } from "../lib/base64.ts";
import { chooseCoding, compressed } from "../lib/content-coding.ts";
import { randomBytes } from "../lib/hash.ts";
import { html, pageReply } from "../lib/page.ts";
import { hasEncodedSlash } from "../lib/path.ts";
import type { Reply } from "../lib/reply.ts";
import { requireConsole } from "./session.ts";

const indexName = "index.html";

/** What the build writes where a page names the nonce of its style elements. */
const noncePlaceholder = "__CSP_NONCE__";

/** What the build writes where a page names the path below which the gateway is. */
const basePlaceholder = "__BASE_PATH__";

/** Names of files: no segment begins with a dot. */
const nameForm = /^(?:[A-Za-z0-9_-][A-Za-z0-9._-]*\/)*[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Headers of every file: it runs nothing but scripts of the console, and no other site can use it. */
function safetyHeaders(nonce?: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? "" : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
  };
}

/** Whether the client has a file already (RFC 9110, section 13.1.2). */
function isHeld(held: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, "");
  return (held ?? "").split(",").some((tag) => opaque(tag) === opaque(etag) || tag.trim() === "*");
}

function assetReply(asset: ConsoleAsset, { headers: asked }: RequestContext, cacheControl: string): Reply {
  const headers: Record<string, string> = {
    ...safetyHeaders(),
    "cache-control": cacheControl,
    etag: asset.etag,
    vary: "accept-encoding",
  };
  if (isHeld(asked.get("if-none-match"), asset.etag)) return { status: 304, headers, body: null };
  headers["content-type"] = asset.contentType;
  const packed = chooseCoding(asked.get("accept-encoding"), asset.packed);
  if (packed) headers["content-encoding"] = packed.name;
  return { status: 200, headers, body: (packed ?? asset).bytes };
}

const decoder = new TextDecoder();

/** The page that loads the console: with a new nonce where it asks for one, so that no stored copy serves. */
async function indexReply(index: ConsoleAsset, context: RequestContext): Promise<Reply> {
  const base = basePathOf(context);
  // the build names the files of the page by paths beside it, but pages stand at several depths
  const text = decoder
    .decode(index.bytes)
    .replaceAll(basePlaceholder, base)
    .replaceAll(/(?<= (?:src|href)=")\.\//g, `${base}/console/`);
  if (!text.includes(noncePlaceholder)) return assetReply(index, context, "no-cache");
  const nonce = toBase64Url(randomBytes(16));
  const headers = { ...safetyHeaders(nonce), "content-type": index.contentType };
  const page = { status: 200, headers, body: text.replaceAll(noncePlaceholder, nonce) };
  return compressed(page, context.headers.get("accept-encoding"), context.services.contentCodings);
}

/** The page in place of a console that was not built. */
function unbuiltReply(context: RequestContext): Reply {
  const content = html`<p>The console of this gateway was not built.</p>
<p>Run <code>npm start</code> in the folder of the gateway, which builds it, or <code>npm run console:build</code> and load this page again.</p>
<p>The API works without it: see <a href="${basePathOf(context)}/openapi.json">/openapi.json</a>.</p>`;
  return pageReply("The console is not built", content, { status: 503 });
}

/** Serves a file of the console; paths of its pages get the page that loads it. */
export async function serveConsole(context: RequestContext): Promise<Reply> {
  const { assets } = requireConsole(context);
  const name = context.params.path ?? "";
  const isPage = !/\.[A-Za-z0-9]+$/.test(name);
  if (!isPage && name !== indexName) {
    const isName = nameForm.test(name) && !hasEncodedSlash(context.url.pathname);
    const asset = isName ? await assets.find(name) : undefined;
    // files below `assets` have a digest of their content in their names
    const lasting = name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    if (asset) return assetReply(asset, context, lasting);
    throw new NotFoundError("Not Found: the console has no such file", { code: "not_found" });
  }
  const index = await assets.find(indexName);
  return index ? indexReply(index, context) : unbuiltReply(context);
}
