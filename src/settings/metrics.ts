import type { GatewayOptions } from "../gateway/options.ts";
import { toBase64 } from "../lib/base64.ts";
import { defaultRequestMetrics, type MetricsOptions, type PushSettings } from "../observability/settings.ts";
import { type Environment, flag, flagOn, integer, list, text } from "./read.ts";

/** Upper bounds of a histogram. */
function buckets(environment: Environment, name: string): number[] | undefined {
  const bounds = list(environment, name).map(Number);
  if (bounds.length === 0) return undefined;
  const isAscending = bounds.every((bound, index) => bound > (bounds[index - 1] ?? 0) && Number.isFinite(bound));
  if (isAscending && bounds.length <= 100) return bounds;
  throw new TypeError(`Cannot use ${name}: list at most 100 positive numbers in ascending order, such as 1,5,10`);
}

/** Names of labels that series have anyway. */
const ownLabels = new Set(
  "method endpoint code provider source stream cacheStatus payloadSizeRange organisation_id workspace_id model config_name api_key_name le".split(
    " ",
  ),
);

/** Labels that every series has. */
function fixedLabels(environment: Environment): Record<string, string> {
  const labels: Record<string, string> = { app: text(environment, "SERVICE_NAME") ?? "gateway" };
  const env = text(environment, "NODE_ENV");
  if (env !== undefined) labels.env = env;
  for (const pair of list(environment, "PROMETHEUS_EXTRA_LABELS")) {
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(pair) ?? [];
    if (name === undefined || value === undefined || ownLabels.has(name) || /^(?:__|metadata_)/.test(name)) {
      throw new TypeError(
        "Cannot use PROMETHEUS_EXTRA_LABELS: list labels such as region=eu,team=a, with names that metrics do not use",
      );
    }
    labels[name] = value;
  }
  return labels;
}

/** Keys of metadata whose values become labels. */
function metadataKeys(environment: Environment): string[] {
  const keys = list(environment, "PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS");
  if (!flag(environment, "PROMETHEUS_INCLUDE_METADATA_LABELS")) return [];
  const names = new Set(keys.map((key) => key.replaceAll(/[^A-Za-z0-9_]/g, "_")));
  if (names.size === keys.length && keys.length <= 20) return keys;
  throw new TypeError(
    "Cannot use PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS: list at most 20 keys that differ in letters, digits or _",
  );
}

/** The value of `authorization` for user and password, or the value itself with its scheme. */
function toAuthorization(value: string): string {
  if (/^[A-Za-z]+ +\S+$/.test(value)) return value;
  if (/^[^\s:]+:\S+$/.test(value)) return `Basic ${toBase64(new TextEncoder().encode(value))}`;
  throw new TypeError("Cannot use PROMETHEUS_GATEWAY_AUTH: it must be user:password, or a scheme with its credentials");
}

function push(environment: Environment): PushSettings | undefined {
  if (!flag(environment, "PROMETHEUS_PUSH_ENABLED")) return undefined;
  const names = ["PROMETHEUS_GATEWAY_URL", "PROMETHEUS_GATEWAY_AUTH"] as const;
  const [url, auth] = names.map((name) => text(environment, name));
  if (url === undefined || auth === undefined) {
    const missing = names.filter((name) => text(environment, name) === undefined);
    throw new TypeError(`Cannot use PROMETHEUS_PUSH_ENABLED: ${missing.join(" and ")} must be set too`);
  }
  if (!/^https?:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/.test(url) || !URL.canParse(url)) {
    throw new TypeError("Cannot use PROMETHEUS_GATEWAY_URL: it must be an address such as https://push.example.com");
  }
  return {
    url,
    authorization: toAuthorization(auth),
    everyMs: integer(environment, "PROMETHEUS_PUSH_INTERVAL_MS") ?? 15_000,
    job: text(environment, "SERVICE_NAME") ?? "gateway",
  };
}

function token(environment: Environment): string | undefined {
  const value = text(environment, "METRICS_TOKEN");
  if (value === undefined || /^[A-Za-z0-9._~+/=-]{16,512}$/.test(value)) return value;
  throw new TypeError("Cannot use METRICS_TOKEN: it must be 16 or more letters, digits and ._~+/=-");
}

/** Metrics of requests and of the process; false where the operator switched them off. */
export function metrics(environment: Environment): NonNullable<GatewayOptions["metrics"]> {
  const read = token(environment);
  const pushed = push(environment);
  const maxSeries = integer(environment, "PROMETHEUS_MAX_SERIES");
  const settings: MetricsOptions = {
    isOpen: flag(environment, "METRICS_OPEN"),
    maxSeries: maxSeries ?? defaultRequestMetrics.maxSeries,
    secondsBuckets: buckets(environment, "PROMETHEUS_HTTP_DURATION_BUCKETS") ?? defaultRequestMetrics.secondsBuckets,
    millisecondsBuckets:
      buckets(environment, "PROMETHEUS_HISTOGRAM_BUCKETS") ?? defaultRequestMetrics.millisecondsBuckets,
    hasModel: flag(environment, "PROMETHEUS_INCLUDE_MODEL_LABEL"),
    hasConfigName: flag(environment, "PROMETHEUS_INCLUDE_CONFIG_NAME_LABEL"),
    hasApiKeyName: flag(environment, "PROMETHEUS_INCLUDE_API_KEY_NAME_LABEL"),
    metadataKeys: metadataKeys(environment),
    fixedLabels: fixedLabels(environment),
    ...(read !== undefined && { token: read }),
    ...(pushed && { push: pushed }),
  };
  if (flagOn(environment, "ENABLE_PROMETHEUS")) return settings;
  if (pushed) throw new TypeError("Cannot use PROMETHEUS_PUSH_ENABLED: ENABLE_PROMETHEUS is false");
  return false;
}
