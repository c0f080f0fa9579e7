import { openContents } from "../db/stores/log-content.ts";
import { requestTypeOf } from "../inference/facts/request-types.ts";
import type { Outbound } from "../lib/outbound.ts";
import { assembleStream } from "../logs/assemble.ts";
import { createTelemetry, type Telemetry, type TelemetrySettings } from "../observability/telemetry.ts";
import { traceNames } from "../providers/trace-names.ts";

/** What the telemetry of a gateway needs from its host. */
interface TelemetryHost {
  outbound: Outbound;
  warn(message: string, error: unknown): void;
}

/** The telemetry of a gateway, on the thread that writes its log. */
export function createLogTelemetry(settings: TelemetrySettings, { outbound, warn }: TelemetryHost): Telemetry {
  return createTelemetry(settings, {
    outbound,
    warn,
    endpointOf: requestTypeOf,
    openContents,
    providerNames: traceNames,
    assemble: assembleStream,
    now: Date.now,
    random: Math.random,
  });
}
