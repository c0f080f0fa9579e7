/** How spans are sent to a collector (OTLP over HTTP). Times in milliseconds. */
export interface OtlpSettings {
  /** Address that spans are posted to. */
  url: string;
  /** Headers of each request, with names in lower case. */
  headers: Readonly<Record<string, string>>;
  encoding: "json" | "protobuf";
  compression: "none" | "gzip";
  /** Longest time of one request. */
  timeoutMs: number;
  /** Longest time a finished request waits for others. */
  delayMs: number;
  /** Most finished requests that wait. */
  maxWaiting: number;
  /** Most finished requests that are sent together. */
  maxBatch: number;
  /** Pause before the first retry. It doubles with each further one. */
  retryMs: number;
  /** Attributes of the resource, `service.name` among them. */
  resource: Readonly<Record<string, string>>;
  /** Whether spans contain messages. */
  capturesContent: boolean;
}

/** Defaults of the settings that have one, as the specification of OpenTelemetry states them. */
export const defaultOtlp = {
  headers: {},
  encoding: "protobuf",
  compression: "none",
  timeoutMs: 10_000,
  delayMs: 5_000,
  maxWaiting: 2_048,
  maxBatch: 512,
  retryMs: 1_000,
  resource: { "service.name": "gateway" },
  capturesContent: false,
} as const satisfies Omit<OtlpSettings, "url">;
