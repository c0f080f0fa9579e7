import { toCanonical } from "../../cache/canonical.ts";
import type { KeyParts } from "../../cache/response-cache.ts";
import type { CallerContext, Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ConfigNode, InheritedSettings } from "../../routing/config.ts";
import type { TargetGuard } from "../guard/target-guard.ts";
import { sentHeaders } from "../target/target.ts";

/** One call of a target. */
export interface CallOfTarget {
  readonly operation: OperationName;
  readonly node: Pick<ConfigNode, "providerSettings">;
  readonly view: WorkspaceView;
  readonly target: {
    destination: Destination;
    settings: InheritedSettings;
    /** Monotonic time in milliseconds at which the whole request ends. */
    deadline?: number | undefined;
    guard?: TargetGuard | undefined;
  };
}

/** Headers of the gateway that never change a response, or that are part of a key in another form, without prefix. */
const otherHeaders: ReadonlySet<string> = new Set(
  (
    "api-key config provider virtual-key custom-host workspace metadata forward-headers " +
    "trace-id span-id parent-span-id span-name session-id request-timeout retry-count " +
    "cache cache-ttl cache-force-refresh cache-namespace " +
    "debug ignore-service-log override-service-log-usage sensitive-headers fetch-integrated-models " +
    "runtime runtime-version package-version"
  ).split(" "),
);

/** Headers that say where a request belongs, if they are forwarded. */
const traceHeaders: ReadonlySet<string> = new Set(["traceparent", "tracestate", "baggage", "x-request-id"]);

/**
 * The caller's headers that may change a response: those of the gateway, but for those that are known not to, and those
 * that choose a version of a provider's API, which conversions may read.
 */
function ownHeaders({ headers, services }: CallerContext): Record<string, string> {
  const own: Record<string, string> = {};
  const values = headers.values();
  for (const name in values) {
    if (name.endsWith("-beta")) own[name] = values[name] ?? "";
    for (const prefix of services.headerPrefixes) {
      if (!name.startsWith(prefix)) continue;
      const bare = name.slice(prefix.length);
      if (!otherHeaders.has(bare)) own[bare] = values[name] ?? "";
    }
  }
  return own;
}

/** Headers the provider receives, without those of traces. */
function headersOf(target: CallOfTarget["target"], context: CallerContext): Record<string, string> {
  const headers = sentHeaders(target, context);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !traceHeaders.has(name)));
}

/** The guardrails of settings in a workspace as text. */
const identities = new WeakMap<WorkspaceView, WeakMap<InheritedSettings["hooks"], string>>();

/** The guardrails that run on a request and its response: their contents, and the versions of saved ones. */
function guardrailsOf(
  hooks: InheritedSettings["hooks"],
  view: WorkspaceView,
  { guardrails }: Pick<Services, "guardrails">,
): string {
  const ofView = identities.get(view) ?? new WeakMap<InheritedSettings["hooks"], string>();
  const known = ofView.get(hooks);
  if (known !== undefined) return known;
  const { input, output } = view.defaultGuardrails;
  const names = [...new Set([...guardrails.listReferences(hooks), ...input, ...output])];
  const versions = names.map((name) => [name, view.guardrails.get(name)?.row.versionId]);
  const text = toCanonical([hooks, input, output, versions]);
  ofView.set(hooks, text);
  identities.set(view, ofView);
  return text;
}

/** The address a provider is called at. Undefined where its settings are incomplete: the call itself says so. */
function addressOf({ provider, customHost }: Destination, { services }: CallerContext): string | undefined {
  if (customHost !== undefined) return customHost;
  try {
    return provider.baseUrlOf({ path: "", environment: services.authTools.environment });
  } catch {
    return undefined;
  }
}

/**
 * What the response of a call depends on, the tenant aside. The credential is part of it where the caller sent one, and
 * everything of a stored provider.
 *
 * @param namespace Replaces the metadata.
 * @param request The request as it is called.
 */
export function keyPartsOf(
  { operation, node, view, target }: CallOfTarget,
  request: object,
  { namespace, context }: { namespace: string | null; context: CallerContext },
): KeyParts {
  const { destination, settings } = target;
  const { provider, credential, authorization, managed } = destination;
  const { numbers } = context;
  // one entry serves requests with and without a stream
  const { stream: _, stream_options: __, ...asked } = request as Record<string, unknown>;
  return {
    target: [
      operation,
      namespace === null ? ["metadata", context.metadata] : ["namespace", namespace],
      [provider.slug, addressOf(destination, context), managed?.model],
      [credential, authorization, managed?.identity()],
      [node.providerSettings, settings.strict],
      guardrailsOf(settings.hooks, view, context.services),
      ownHeaders(context),
      headersOf(target, context),
    ],
    request: asked,
    restore: numbers && ((text) => numbers.restore(text)),
  };
}
