import { defaultOtlp, type OtlpSettings } from "../observability/otlp/settings.ts";
import { type Environment, flag, integer, text } from "./read.ts";

/** The first of these variables that is set. */
function first(environment: Environment, ...names: readonly string[]): { name: string; value: string } | undefined {
  for (const name of names) {
    const value = text(environment, name);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** Names and values of `a=b,c=d`, percent-decoded (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). */
function pairs({ name, value }: { name: string; value: string }): [string, string][] {
  return value.split(",").flatMap((item) => {
    if (item.trim() === "") return [];
    const [key = "", ...rest] = item.split("=");
    try {
      if (key.trim() !== "" && rest.length > 0)
        return [[decodeURIComponent(key.trim()), decodeURIComponent(rest.join("=").trim())]];
    } catch {
      // a malformed percent sign
    }
    throw new TypeError(`Cannot use ${name}: it must be a list such as a=b,c=d, with special characters as in URLs`);
  });
}

function headers(environment: Environment): Record<string, string> {
  const found = first(
    environment,
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "EXPERIMENTAL_GEN_AI_OTEL_EXPORTER_OTLP_HEADERS",
  );
  const sent = found ? pairs(found) : [];
  for (const [name, value] of sent) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) continue;
    throw new TypeError(`Cannot use ${found?.name}: a name or value cannot be in a header`);
  }
  return Object.fromEntries(sent.map(([name, value]) => [name.toLowerCase(), value]));
}

function resource(environment: Environment): Record<string, string> {
  const found = first(environment, "OTEL_RESOURCE_ATTRIBUTES", "EXPERIMENTAL_GEN_AI_OTEL_RESOURCE_ATTRIBUTES");
  const attributes = Object.fromEntries(found ? pairs(found) : []);
  const name =
    text(environment, "OTEL_SERVICE_NAME") ?? attributes["service.name"] ?? text(environment, "SERVICE_NAME");
  return { ...attributes, "service.name": name ?? defaultOtlp.resource["service.name"] };
}

/** The address that spans are posted to; undefined without any. */
function address(environment: Environment): string | undefined {
  const whole = first(environment, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  const base = first(
    environment,
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_ENDPOINT",
    "EXPERIMENTAL_GEN_AI_OTEL_EXPORTER_OTLP_ENDPOINT",
  );
  const found = whole ?? base;
  if (!found) return undefined;
  if (!/^https?:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/.test(found.value) || !URL.canParse(found.value)) {
    throw new TypeError(`Cannot use ${found.name}: it must be an address such as http://localhost:4318`);
  }
  return whole ? whole.value : `${found.value.replace(/\/+$/, "")}/v1/traces`;
}

/** One of a few values. */
function oneOf<const Value extends string>(
  found: { name: string; value: string } | undefined,
  values: readonly Value[],
): Value | undefined {
  if (!found) return undefined;
  const known = values.find((value) => value === found.value.toLowerCase());
  if (known !== undefined) return known;
  throw new TypeError(`Cannot use ${found.name}: it must be ${values.join(" or ")}`);
}

/** Whether the operator switched spans off, by any of the variables for it. */
function isOff(environment: Environment): boolean {
  if (flag(environment, "OTEL_SDK_DISABLED")) return true;
  if (oneOf(first(environment, "OTEL_TRACES_EXPORTER"), ["otlp", "none"]) === "none") return true;
  const switches = ["OTEL_PUSH_ENABLED", "EXPERIMENTAL_GEN_AI_OTEL_TRACES_ENABLED"];
  const given = switches.filter((name) => text(environment, name) !== undefined);
  return given.length > 0 && !given.some((name) => flag(environment, name));
}

function capturesContent(environment: Environment): boolean {
  const found = first(environment, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
  const value = oneOf(found, ["true", "false", "no_content", "span_only", "event_only", "span_and_event"]);
  return value === "true" || value === "span_only" || value === "span_and_event";
}

/**
 * Where spans are sent, from the variables of OpenTelemetry
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/); undefined without an address.
 */
export function tracing(environment: Environment): OtlpSettings | undefined {
  const url = address(environment);
  if (isOff(environment)) return undefined;
  if (url === undefined) {
    const asked = ["OTEL_PUSH_ENABLED", "EXPERIMENTAL_GEN_AI_OTEL_TRACES_ENABLED"].find((name) =>
      flag(environment, name),
    );
    if (asked === undefined) return undefined;
    throw new TypeError(`Cannot use ${asked}: OTEL_EXPORTER_OTLP_ENDPOINT must be set too`);
  }
  const protocol = oneOf(first(environment, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"), [
    "http/protobuf",
    "http/json",
  ]);
  const compression = oneOf(
    first(environment, "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"),
    ["none", "gzip"],
  );
  const timeoutMs =
    integer(environment, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT") ?? integer(environment, "OTEL_EXPORTER_OTLP_TIMEOUT");
  const maxWaiting = integer(environment, "OTEL_BSP_MAX_QUEUE_SIZE");
  const maxBatch = integer(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
  const waiting = maxWaiting ?? defaultOtlp.maxWaiting;
  return {
    ...defaultOtlp,
    url,
    headers: headers(environment),
    encoding: protocol === "http/json" ? "json" : "protobuf",
    compression: compression ?? defaultOtlp.compression,
    timeoutMs: timeoutMs ?? defaultOtlp.timeoutMs,
    delayMs: integer(environment, "OTEL_BSP_SCHEDULE_DELAY") ?? defaultOtlp.delayMs,
    maxWaiting: waiting,
    maxBatch: Math.min(waiting, maxBatch ?? defaultOtlp.maxBatch),
    resource: resource(environment),
    capturesContent: capturesContent(environment),
  };
}
