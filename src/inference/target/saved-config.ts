import type { NamedTarget } from "../../context/call-record.ts";
import type { CallerContext, Services } from "../../context.ts";
import type { StoredConfig } from "../../control/config-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { InvalidRequestError, UnavailableError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { ReadConfigResult } from "../../routing/read-config.ts";

/** The config of a request, and where it comes from. */
export interface RequestConfig {
  node: ConfigNode;
  /** Changes with its content, so that state remembered for the old content does not count. */
  id: string;
  /** Slug of a saved config; null for one in the request. */
  slug: string | null;
  /** Ids of a saved config and its version. */
  saved?: { readonly id: string; readonly versionId: string };
  view: WorkspaceView;
  /** There is no config: the request goes where its headers or its model say, once. */
  isImplied: boolean;
  /** The model of the request names the config: it is not the model of a provider. */
  named?: NamedTarget;
}

/** The config in a text, or an error that lists what is wrong with it. */
export function requireConfig(result: ReadConfigResult | undefined): ConfigNode {
  if (result?.config) return result.config;
  const param = "x-gateway-config";
  const code = "invalid_config";
  if (result === undefined) {
    throw new InvalidRequestError("Invalid config passed. You need to pass a valid json", { param, code });
  }
  const errors = result.problems.map(({ path, message }) => `path: ${path || "config"}, message: ${message}`);
  throw new InvalidRequestError(`Invalid config passed: ${errors.slice(0, 3).join("; ")}`, {
    param,
    code,
    errors: errors.slice(0, 50),
  });
}

/** Saved configs too long to be cached by their text. */
const longConfigs = new WeakMap<StoredConfig, ReadConfigResult | undefined>();

function readSaved(saved: StoredConfig, { routing }: Pick<Services, "routing">): ReadConfigResult | undefined {
  const { content, row } = saved;
  if (content === undefined) {
    throw new UnavailableError(`Cannot use the config ${row.slug}: a credential in it is unavailable`, {
      code: "credential_unavailable",
      retryAfterSeconds: 5,
    });
  }
  if (content.length <= 64 * 1024) return routing.read(content, row.workspaceId);
  if (!longConfigs.has(saved)) longConfigs.set(saved, routing.read(content));
  return longConfigs.get(saved);
}

/** A saved config as the config of a request. */
export function fromSaved(
  saved: StoredConfig,
  view: WorkspaceView,
  services: Pick<Services, "routing">,
): RequestConfig {
  const node = requireConfig(readSaved(saved, services));
  const { id, versionId, slug } = saved.row;
  return { node, id: versionId, slug, saved: { id, versionId }, view, isImplied: false };
}

/** The default config of the request's key or workspace; a name that no longer exists is ignored. */
export function defaultConfig({ principal }: CallerContext, view: WorkspaceView): StoredConfig | undefined {
  const own = principal.defaults.configId;
  const found = own === null ? undefined : view.configs.get(own);
  if (found) return found;
  const { defaults } = view.workspace;
  const name = isObject(defaults) ? defaults.user_api_key_config : undefined;
  return typeof name === "string" ? view.configs.get(name) : undefined;
}

/** Default configs by view, dropped together with the views. */
const implied = new WeakMap<WorkspaceView, RequestConfig>();

/** The config of requests without one: one attempt, at the target the request names. */
export function impliedConfig(view: WorkspaceView, { routing }: Pick<Services, "routing">): RequestConfig {
  const known = implied.get(view);
  if (known) return known;
  const config = { node: routing.plainConfig, id: "", slug: null, view, isImplied: true };
  implied.set(view, config);
  return config;
}
