/** How metrics of requests are labelled and bounded. */
export interface RequestMetricsSettings {
  /** Requests count from the first time somebody reads the metrics: until then they cost nothing. */
  startsWhenRead: boolean;
  /** Most series of one metric; one organisation gets at most half of them. What exceeds them counts in one series. */
  maxSeries: number;
  /** Upper bounds of histograms in seconds, ascending. */
  secondsBuckets: readonly number[];
  /** Upper bounds of histograms in milliseconds, ascending. */
  millisecondsBuckets: readonly number[];
  /** Whether series have the label `model`. */
  hasModel: boolean;
  /** Whether series have the label `config_name`. */
  hasConfigName: boolean;
  /** Whether series have the label `api_key_name`. */
  hasApiKeyName: boolean;
  /** Keys of metadata that become labels `metadata_<key>`. */
  metadataKeys: readonly string[];
  /** Labels that every series has, such as `app`. */
  fixedLabels: Readonly<Record<string, string>>;
}

/** Settings of metrics that the reference documentation of the metrics states. */
export const defaultRequestMetrics: RequestMetricsSettings = {
  startsWhenRead: false,
  maxSeries: 1_000,
  secondsBuckets: [0.1, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 240, 500, 1_000, 3_000],
  millisecondsBuckets: [
    0.1, 1, 2, 5, 10, 30, 50, 75, 100, 150, 200, 350, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 300_000,
    500_000, 10_000_000,
  ],
  hasModel: false,
  hasConfigName: false,
  hasApiKeyName: false,
  metadataKeys: [],
  fixedLabels: { app: "gateway" },
};

/** A server that metrics are pushed to. */
export interface PushSettings {
  /** Address without a path, or with the path below which the server stands. */
  url: string;
  /** Value of `authorization`. */
  authorization: string;
  /** Milliseconds between two pushes. */
  everyMs: number;
  /** The job in the address. */
  job: string;
}

/** Settings of `/metrics`. */
export interface MetricsOptions extends Partial<RequestMetricsSettings> {
  /** Bearer token that may read the metrics, besides admin keys. */
  token?: string;
  /** Everyone may read them. Default false. */
  isOpen?: boolean;
  /** Absent: metrics are not pushed. */
  push?: PushSettings;
}

/** What the process reports about itself. Sizes in bytes. */
export interface ProcessStats {
  residentBytes: number;
  heapUsedBytes: number;
  heapTotalBytes: number;
  cpuUserSeconds: number;
  cpuSystemSeconds: number;
  /** Unix milliseconds. */
  startedAt: number;
}
