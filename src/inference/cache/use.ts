import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { toRecord } from "../../control/settings.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { type CacheSettings, clampCacheAge, type InheritedSettings } from "../../routing/config.ts";
import { isStreamed, operationFacts } from "../facts/operation-facts.ts";

/** How a call of a target uses the cache. */
export interface CacheUse {
  readonly mode: "simple" | "semantic";
  /** How long a response may be reused, in milliseconds. */
  readonly maxAgeMs: number;
  /** Identical calls at the same time share one. */
  readonly join: boolean;
  /** Nothing is read: the call is made, and its response replaces the stored one. */
  readonly isRefresh: boolean;
  /** Name that the caller gave; it replaces the metadata in the key. */
  readonly namespace: string | null;
}

/** Why a call that asks for the cache does not use it. */
interface Unused {
  readonly problem: string;
}

/** Modes that headers may name. */
const headerModes: Readonly<Record<string, CacheSettings["mode"]>> = {
  simple: "simple",
  true: "simple",
  semantic: "semantic",
};

const defaultAgeSeconds = 604_800;

/** The cache that the request's own header asks for; undefined if it has no such header. */
function readHeaderSettings({ header }: CallerContext): CacheSettings | undefined {
  const mode = header("cache")?.trim().toLowerCase();
  if (mode === undefined || mode === "" || mode === "false") return undefined;
  const known = Object.hasOwn(headerModes, mode) ? headerModes[mode] : undefined;
  const problem = known ? undefined : "x-gateway-cache must be simple or semantic";
  return { mode: known ?? "off", maxAgeSeconds: undefined, join: false, problem };
}

/** Directives of `cache-control` (RFC 9111, section 5.2), in lower case. */
function directivesOf({ headers }: CallerContext): string[] {
  return (headers.get("cache-control") ?? "")
    .toLowerCase()
    .split(",")
    .map((part) => part.trim());
}

/** A whole number of seconds; undefined for anything else. */
function secondsOf(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^[0-9]{1,12}$/.test(text.trim()) ? Number(text) : undefined;
}

/** How long a response may be reused: the config decides before headers, and the organisation sets the default and the limit. */
function maxAgeOf(
  { maxAgeSeconds }: CacheSettings,
  directives: readonly string[],
  { view, context }: { view: WorkspaceView; context: CallerContext },
): number {
  const directive = directives.find((one) => one.startsWith("max-age="))?.slice("max-age=".length);
  const asked = maxAgeSeconds ?? secondsOf(context.header("cache-ttl")) ?? secondsOf(directive);
  const ofOrganisation = toRecord(view.organisation.settings).default_cache_ttl;
  const limit = typeof ofOrganisation === "number" ? ofOrganisation : undefined;
  if (asked === undefined) return limit ?? defaultAgeSeconds;
  return Math.min(clampCacheAge(asked), limit ?? Number.POSITIVE_INFINITY);
}

/** Why requests like this one are never cached; undefined where they are. */
function findObstacle(operation: OperationName, request: object, context: CallerContext): string | undefined {
  if (!operationFacts[operation].isCached) return "requests of this type are not cached";
  if (context.connection.replayOf !== undefined) return "a replay asks its provider";
  if (context.connection.apart) return "a copy asks its provider";
  if (context.connection.isEval) return "an eval asks its provider";
  // their events hold parts of images, which no stored response has
  if (operationFacts[operation].media === "images" && isStreamed(operation, request))
    return "streams of images are not cached";
  if (operation !== "responses") return undefined;
  const { background, conversation } = request as Record<string, unknown>; // schemas make requests objects
  if (background === true) return "responses in the background are not cached";
  return conversation === undefined || conversation === null ? undefined : "conversations are not cached";
}

/**
 * How a call uses the cache; undefined where nothing asks for one.
 *
 * @param request The request as it is called.
 */
export function readCacheUse(
  { operation, settings, view }: { operation: OperationName; settings: InheritedSettings; view: WorkspaceView },
  request: object,
  context: CallerContext,
): CacheUse | Unused | undefined {
  const asked = settings.cache ?? readHeaderSettings(context);
  if (!asked) return undefined;
  const directives = directivesOf(context);
  const problem = asked.problem ?? findObstacle(operation, request, context);
  if (problem !== undefined || asked.mode === "off") return { problem: problem ?? "the cache is off" };
  if (directives.includes("no-store")) return { problem: "the request says cache-control: no-store" };
  return {
    mode: asked.mode,
    maxAgeMs: maxAgeOf(asked, directives, { view, context }) * 1_000,
    join: asked.join,
    isRefresh: context.header("cache-force-refresh")?.trim().toLowerCase() === "true",
    namespace: context.header("cache-namespace") || null,
  };
}
