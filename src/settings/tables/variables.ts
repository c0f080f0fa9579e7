/** An environment variable, or several that are described together. */
export interface Variable {
  readonly name: string | readonly string[];
  /** Its default, as documentation shows it: Markdown. */
  readonly default: string;
  /** Bounds of a whole number; absent for other values. */
  readonly least?: number;
  readonly most?: number;
  /** Which of the names have secret values: all, or those listed. Each is also read from a file, by its name with `_FILE`. */
  readonly secret?: true | readonly string[];
  /** Markdown. */
  readonly meaning: string;
}

/** The names of a row whose values are secret. */
export function secretNamesOf({ name, secret = [] }: Variable): readonly string[] {
  return secret === true ? [name].flat() : secret;
}

/** The variable that names a file with the value of another variable. */
export const fileVariableOf = (name: string): string => `${name}_FILE`;

/**
 * All environment variables, by the section of docs/configuration.md that describes them. Its tables, the command `variables`
 * and the bounds of whole numbers follow from these rows.
 */
export const variables = {
  server: [
    { name: "HOST", default: "`127.0.0.1`", meaning: "address to listen on" },
    { name: "PORT", default: "`8787`", least: 0, most: 65_535, meaning: "port; 0 takes any free port" },
    {
      name: "HEALTH_PORT",
      default: "none",
      least: 0,
      most: 65_535,
      meaning:
        "further port for [probes](operations.md#overload), which answers `/health` and `/ready` at once however busy the process is. Always HTTP; 0 takes any free port",
    },
    {
      name: ["TLS_CERT", "TLS_KEY"],
      default: "none",
      meaning:
        "files in PEM form: the certificate with those between it and its authority, and its key. With them, every port serves [TLS](production.md#tls-without-a-proxy)",
    },
    {
      name: "TLS_CLIENT_CA",
      default: "none",
      meaning: "file with certificates in PEM form. Only clients with a certificate of these authorities can connect",
    },
    {
      name: "DRAIN_SECONDS",
      default: "`30`",
      least: 0,
      most: 3_600,
      meaning: "time that running requests get after SIGTERM",
    },
    {
      name: "LOG_LEVEL",
      default: "`info`",
      meaning: "lines of the [process log](operations.md#process-log) that are written: `error`, `warn` or `info`",
    },
    {
      name: "LOG_FORMAT",
      default: "`text`",
      meaning: "form of its lines: `text`, or `json` for an object on each line",
    },
    {
      name: "BASE_PATH",
      default: "none",
      meaning:
        "path below which [a proxy has the gateway](production.md#below-a-path), such as `/gateway`. Requests may come with it or without. It begins every address that the gateway names",
    },
    { name: "SERVER_MODE", default: "`unified`", meaning: "which parts the process serves: see below" },
    { name: "CONSOLE", default: "`true`", meaning: "`false`: the [console](console.md) is not served" },
    {
      name: "MCP_PORT",
      default: "`8788`",
      least: 0,
      most: 65_535,
      meaning: "port of MCP in the modes `mcp` and `all`",
    },
  ],
  data: [
    {
      name: "DATABASE_URL",
      default: "`file:data/gateway.db`",
      meaning:
        "also `:memory:`, `libsql://…`, `http(s)://…`. A file is created with mode 0600, in a folder with mode 0700",
    },
    { name: "DATABASE_AUTH_TOKEN", secret: true, default: "none", meaning: "for remote databases" },
    {
      name: "WORKERS",
      default: "`1`",
      least: 1,
      most: 1_000,
      meaning:
        "processes that serve, on Linux. From 2 on, the gateway starts so many, which [serve the port together](production.md#all-processors); `auto` starts one for each processor. Gateways on one database file need it too: otherwise the second one ends at its start",
    },
    {
      name: "GATEWAY_MASTER_KEYS",
      default: "none",
      meaning: "`v2:<base64url of 32 bytes>,v1:<…>`. The first key encrypts",
    },
    {
      name: "GATEWAY_MASTER_KEYS_FILE",
      default: "`master.keys` beside the database file; `data/master.keys` for remote databases",
      meaning:
        "a file with the same content that only its owner can read. If the variable is not set and the database is a file, the first start creates it. An existing database without the file uses `data/master.keys`",
    },
    {
      name: "REDIS_URL",
      secret: true,
      default: "none",
      meaning:
        "Redis in which all processes [share the counters of limits](policies.md#several-processes): `redis://user:password@host:6379`, with TLS `rediss://…`",
    },
    {
      name: "LIMITS_STRICT",
      default: "`false`",
      meaning:
        "requests with limits are refused with 503 while Redis, or the database that processes share, is away, and what requests used survives a killed process: [strict limits](policies.md#strict-limits)",
    },
    {
      name: "LIMITS_JOURNAL_FILE",
      default: "beside the database file, with `-limits` behind its name; `data/limits` for remote databases",
      meaning:
        "beginning of the names of files in which strict limits [note what requests used](policies.md#strict-limits). They must be on a local disk, which only processes of one machine share",
    },
    {
      name: "REDIS_TIMEOUT_MS",
      default: "`100`",
      least: 10,
      most: 10_000,
      meaning: "time a request waits for Redis, 10 to 10,000. Raise it if Redis is far away",
    },
    {
      name: "LOG_RETENTION_DAYS",
      default: "`30`",
      least: 1,
      most: 36_500,
      meaning: "days after which log rows are removed",
    },
    {
      name: "LOG_BODY_RETENTION_DAYS",
      default: "as the rows",
      least: 1,
      most: 36_500,
      meaning: "days after which headers and bodies are removed, at most `LOG_RETENTION_DAYS`",
    },
    {
      name: "ROLLUP_RETENTION_DAYS",
      default: "`400`",
      least: 1,
      most: 36_500,
      meaning:
        "days for which [statistics](analytics.md) count requests and feedback, at least `LOG_RETENTION_DAYS`. Older figures, and the metadata and users in them, are gone within a day",
    },
    {
      name: "LOG_STORE",
      default: "none",
      meaning:
        "moves headers and bodies of log rows to an [object store](logs.md#contents-in-an-object-store): `s3` for Amazon S3, `s3_custom` for another S3-compatible store",
    },
    {
      name: ["LOG_STORE_GENERATIONS_BUCKET", "LOG_STORE_ACCESS_KEY", "LOG_STORE_SECRET_KEY"],
      secret: ["LOG_STORE_ACCESS_KEY", "LOG_STORE_SECRET_KEY"],
      default: "none",
      meaning: "required with `LOG_STORE`. A prefix of object names may follow the bucket: `logs/gateway`",
    },
    {
      name: ["LOG_STORE_REGION", "LOG_STORE_BASEPATH"],
      default: "`us-east-1`, that of Amazon S3",
      meaning: "region of the signatures; URL of the store, required for `s3_custom`",
    },
    {
      name: "LOG_SPILL_BYTES",
      default: "`268435456`",
      least: 0,
      most: 10_000_000_000_000,
      meaning:
        "size of the file in which log rows wait [while the database is away](logs.md#when-the-database-is-away): at least 1,048,576. `0`: no file",
    },
    {
      name: "LOG_SPILL_FILE",
      default: "beside the database file, with `-spill` behind its name; `data/log-spill.db` for remote databases",
      meaning: "path of that file. It must be on a local disk",
    },
    {
      name: "SNAPSHOT_MAX_AGE_HOURS",
      default: "`24`",
      least: 0,
      most: 8_760,
      meaning:
        "how old the [last known state](scaling.md#start-without-the-database) of a database on another machine may be for a start or a look-up while that is away. `0`: none is stored",
    },
    {
      name: "SNAPSHOT_FILE",
      default: "beside the file of `LOG_SPILL_FILE`, with the name `snapshot`",
      meaning: "path of that state. It must be on a disk that outlives the process",
    },
    {
      name: "RESPONSES_RETENTION_DAYS",
      default: "`30`",
      least: 1,
      most: 36_500,
      meaning: "days after which [stored responses](responses.md#stored-responses) are removed",
    },
  ],
  cache: [
    {
      name: "CACHE_MEMORY_MB",
      default: "`128`",
      least: 1,
      most: 65_536,
      meaning:
        "memory by which [cached responses](cache.md) let each process grow, 1 to 65,536. About 14 KB of it are needed for a response of 1 KB",
    },
    {
      name: "SEMANTIC_CACHE_PROVIDER",
      default: "none",
      meaning: "slug of the stored provider that makes embeddings for [semantic caches](cache.md#similar-questions)",
    },
    { name: "SEMANTIC_CACHE_MODEL", default: "`text-embedding-3-small`", meaning: "its model" },
    {
      name: "SEMANTIC_CACHE_DIMENSIONS",
      default: "`256` for models that shorten their vectors, else as the model",
      least: 1,
      most: 16_384,
      meaning: "numbers of a vector, 1 to 16,384",
    },
    {
      name: "SEMANTIC_CACHE_SIMILARITY_THRESHOLD",
      default: "`0.95`",
      meaning: "smallest cosine, 0 to 1, at which two questions count as one",
    },
    {
      name: "SEMANTIC_CACHE_MEMORY_MB",
      default: "`256`",
      least: 1,
      most: 1_048_576,
      meaning: "memory for vectors in each process, 1 to 1,048,576",
    },
    {
      name: "CACHE_DATABASE_MB",
      default: "`1024`",
      least: 1,
      most: 1_048_576,
      meaning: "database space for cached responses, 1 to 1,048,576. With `REDIS_URL`, they are in Redis",
    },
  ],
  models: [
    {
      name: "MODEL_FACTS_FILE",
      default: "none",
      meaning:
        "JSON file that says [what models take](model-facts.md#models-that-are-newer-than-the-release) which are newer than the release. It is read at start",
    },
  ],
  "first-start": [
    {
      name: "GATEWAY_FILE",
      default: "none",
      meaning:
        "file with the [declared state](declared-state.md#a-gateway-that-is-its-file) of the gateway, YAML or JSON. It is applied at each start, and the control plane refuses to change what it declares",
    },
    {
      name: "BOOTSTRAP_ADMIN_KEY",
      secret: true,
      default: "random",
      meaning: "admin key of the organisation: 16 or more letters, digits and `._~+/=-`",
    },
    { name: "BOOTSTRAP_WORKSPACE_KEY", secret: true, default: "random", meaning: "workspace key, for inference" },
  ],
  "keys-and-headers": [
    { name: "API_KEY_PREFIX", default: "`gk`", meaning: "prefix of new keys, and of the keys the gateway accepts" },
    {
      name: "AUTH_FAILURES_PER_MINUTE",
      default: "`300`",
      least: 1,
      most: 1_000_000,
      meaning:
        "wrong keys per minute from one address, or from one IPv6 /64 network. Further wrong keys get 429. Valid keys are not affected",
    },
    {
      name: "TRUSTED_PROXIES",
      default: "none",
      meaning:
        "comma-separated addresses and ranges of your own proxies, such as `10.0.0.0/8`. Only from these the gateway takes the client address from `x-forwarded-for`, for audit rows and failure limits. It uses the right-most address that is not one of your proxies. Their `x-forwarded-proto` decides whether the cookie of the [console](console.md) is for TLS only, and their `x-forwarded-prefix` names the path that they [took off](production.md#below-a-path)",
    },
    {
      name: "GATEWAY_HEADER_ALIASES",
      default: "none",
      meaning:
        "further header prefixes read like `x-gateway-`, such as `x-acme-`. Responses then have the headers under all prefixes",
    },
    { name: "ORGANISATION_HEADERS_TO_MASK", default: "none", meaning: "names of headers whose values the log hides" },
    { name: "SERVER_TIMING", default: "`false`", meaning: "adds `server-timing` to responses" },
  ],
  "tokens-of-identity-providers": [
    { name: "JWT_ENABLED", default: "`true`", meaning: "`false`: tokens are refused like wrong keys" },
    {
      name: "JWT_CLOCK_SKEW_SECONDS",
      default: "`5`",
      least: 0,
      most: 60,
      meaning: "tolerated clock difference, at most 60",
    },
    {
      name: "ORGANISATIONS_TO_SYNC",
      default: "all",
      meaning:
        "ids of the organisations whose tokens are accepted. A single id is also the organisation of tokens that name none",
    },
    {
      name: "GATEWAY_CLIENT_AUTH",
      secret: true,
      default: "none",
      meaning:
        "credential of the deployment that this gateway is. Without it, the default deployment of the organisation decides which workspaces and subjects tokens may use",
    },
    {
      name: "JWT_LOCAL_AUTH_DEFAULT_SCOPES",
      default: "none",
      meaning: "scopes that every token has in addition to its own",
    },
  ],
  limits: [
    { name: "MAX_JSON_PAYLOAD_SIZE_IN_MB", default: "`25`", least: 1, most: 512, meaning: "body of a JSON endpoint" },
    {
      name: "MAX_HELD_BODIES_IN_MB",
      default: "`512`",
      least: 1,
      most: 1_048_576,
      meaning: "bodies in memory at the same time. One organisation gets at most half",
    },
    {
      name: "MAX_HELD_BODIES_PER_KEY_IN_MB",
      default: "`128`",
      least: 1,
      most: 1_048_576,
      meaning: "bodies in memory at the same time for one key",
    },
    {
      name: "MAX_FORM_SIZE_IN_MB",
      default: "`100`",
      least: 1,
      most: 1_024,
      meaning: "form of `/v1/images/edits` and `/v1/audio/…`, in MiB. Larger forms get 413",
    },
    {
      name: "MAX_UPLOAD_SIZE_IN_MB",
      default: "`512`",
      least: 1,
      most: 102_400,
      meaning: "body of a forwarded request",
    },
    {
      name: "MAX_CONCURRENT_REQUESTS",
      default: "`4000`",
      least: 1,
      most: 1_000_000,
      meaning:
        "concurrent requests of the process. The last eighth is for workspaces with less than 1/32 of the total, and half of that eighth for organisations with at most half",
    },
    {
      name: "MAX_CONCURRENT_PER_WORKSPACE",
      default: "half of it",
      least: 1,
      most: 1_000_000,
      meaning: "concurrent requests of a workspace, and of an organisation's own keys. At most half of the total",
    },
    {
      name: "MAX_CONCURRENT_PER_KEY",
      default: "`1000`",
      least: 1,
      most: 1_000_000,
      meaning: "concurrent requests of a key",
    },
    {
      name: "MAX_WAITING_REQUESTS",
      default: "`1000`",
      least: 1,
      most: 1_000_000,
      meaning:
        "requests of the process that [wait for room in rate limits](policies.md#wait-instead-of-429). An organisation has at most half",
    },
    {
      name: "MAX_WAITING_SIZE_IN_MB",
      default: "`64`",
      least: 1,
      most: 102_400,
      meaning: "their bodies together. An organisation has at most half",
    },
    {
      name: "SHED_MEMORY_MB",
      default: "85 % of the memory that the gateway may use",
      least: 0,
      most: 10_000_000,
      meaning:
        "memory from which on [further requests get 503](operations.md#overload), of all `WORKERS` together: each has an equal part. Streams that clients do not read count. `0`: no mark",
    },
    {
      name: "SHED_LAG_MS",
      default: "`1000`",
      least: 0,
      most: 60_000,
      meaning: "milliseconds by which the event loop is late, from which on further requests get 503. `0`: no mark",
    },
    {
      name: "READY_REQUIRES",
      default: "none",
      meaning:
        "what must be there for `/ready` to return 200, separated by commas: `database`, `redis`, `limits` (counted exactly), `log` (requests are not refused for it)",
    },
    {
      name: "REQUEST_TIMEOUT",
      default: "`300000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "milliseconds to the first byte, if the request sets no timeout",
    },
    {
      name: "STREAM_IDLE_TIMEOUT_MS",
      default: "`300000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "time without data inside a stream",
    },
    {
      name: "STREAM_KEEP_ALIVE_MS",
      default: "`15000`",
      least: 0,
      most: 2_147_483_647,
      meaning:
        "time without data after which the client of an event stream gets a comment (`: keep-alive`), or a `ping` event in `/v1/messages`. Also for MCP. `0` turns them off",
    },
    {
      name: "STREAM_TOTAL_TIMEOUT_MS",
      default: "`1800000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "duration of a stream",
    },
    {
      name: "REALTIME_CONNECT_TIMEOUT_MS",
      default: "`10000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "time until the provider opens a [realtime session](realtime.md)",
    },
    {
      name: "REALTIME_IDLE_TIMEOUT_MS",
      default: "`900000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "time without a message in both directions",
    },
    {
      name: "REALTIME_TOTAL_TIMEOUT_MS",
      default: "`7200000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "duration of a realtime session",
    },
    {
      name: "REALTIME_ORIGINS",
      default: "none",
      meaning: "comma-separated web origins, such as `https://app.example.com`, whose pages may open realtime sessions",
    },
    {
      name: "CORS_ORIGINS",
      default: "none",
      meaning:
        "comma-separated web origins, such as `https://app.example.com`, whose pages may [call the inference API](production.md#calls-from-web-pages)",
    },
    { name: "MAX_ROOT_CONFIG_TARGETS", default: "`100`", meaning: "targets of a [routing config](routing.md)" },
    { name: "MAX_CONDITIONAL_ROOT_CONFIG_TARGETS", default: "`1000`", meaning: "targets of a conditional config" },
    { name: "MAX_NESTED_CONFIG_TARGETS", default: "`50`", meaning: "targets below one target of a config, in total" },
    {
      name: "BLOCK_INLINE_CONFIG",
      default: "`false`",
      meaning: "requests may use only saved configs and stored providers",
    },
    {
      name: ["GUARDRAIL_PROVIDER", "GUARDRAIL_MODEL"],
      default: "–",
      meaning:
        "the model that [checks of guardrails](guardrails.md#checks-that-ask-a-model) ask unless they name one: the slug of a stored provider, and its model",
    },
  ],
  "mcp-servers": [
    {
      name: "MCP_GATEWAY_BASE_URL",
      default: "address of the request",
      meaning:
        "public address of the gateway without a path, such as `https://gateway.example.com`. Set it if the gateway is behind a proxy",
    },
    {
      name: "MCP_REQUEST_TIMEOUT_MS",
      default: "`60000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "duration of a call, its stream included",
    },
    {
      name: "MCP_STREAM_IDLE_TIMEOUT_MS",
      default: "`300000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "time without data inside a stream",
    },
    { name: "MCP_MAX_BODY_IN_MB", default: "`4`", least: 1, most: 100, meaning: "body of a request" },
    { name: "MCP_MAX_RESULT_IN_MB", default: "`1`", least: 1, most: 100, meaning: "result of a call" },
    {
      name: "MCP_MAX_STREAMS",
      default: "`1024`",
      least: 1,
      most: 1_000_000,
      meaning: "streams on which callers listen, in the process",
    },
    {
      name: "MCP_MAX_STREAMS_PER_CALLER",
      default: "`16`",
      least: 1,
      most: 1_000_000,
      meaning: "streams on which one caller listens",
    },
    {
      name: "JWT_PRIVATE_KEY",
      secret: true,
      default: "made at the first use",
      meaning:
        "RSA key that signs [statements about callers](mcp.md#identity-of-callers) for upstream servers: PKCS #8 in PEM form, line ends may be written as `\\n`",
    },
    { name: "MCP_ORIGINS", default: "none", meaning: "comma-separated web origins whose pages may call" },
    {
      name: "MCP_HOSTS",
      default: "every name; on a loopback address only names of loopback",
      meaning:
        "comma-separated names, without port, that a `Host` header may have. Names of loopback and that of `MCP_GATEWAY_BASE_URL` are added",
    },
    {
      name: "MCP_POOL_ENABLED",
      default: "`true`",
      meaning: "`false`: the gateway begins a new session for each call that it translates",
    },
    {
      name: "MCP_POOL_MAX_IDLE_MS",
      default: "`300000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "time after the end of the last call at which such a session ends",
    },
    {
      name: "MCP_POOL_MAX_LIFETIME_MS",
      default: "`600000`",
      least: 1,
      most: 2_147_483_647,
      meaning: "life of such a session. Calls that run in it are not cut: it ends with the last of them",
    },
    {
      name: "MCP_POOL_CLEANUP_INTERVAL_MS",
      default: "`60000`",
      least: 1_000,
      most: 2_147_483_647,
      meaning: "time between two looks for sessions that are over, at least 1,000",
    },
    {
      name: "MCP_POOL_MAX_CONNECTIONS",
      default: "`1000`",
      least: 1,
      most: 100_000,
      meaning: "such sessions of the process that are used again. Beyond it, a session serves one call",
    },
    {
      name: "MCP_POOL_TOKEN_EXPIRY_BUFFER_MS",
      default: "`60000`",
      least: 0,
      most: 3_600_000,
      meaning: "time before its end at which a credential for a server counts as expired",
    },
  ],
  alerts: [
    {
      name: "ALERT_WEBHOOK_URL",
      default: "none",
      meaning: "URL of a webhook for alerts of all organisations without their own. It may be private",
    },
    { name: "ALERT_WEBHOOK_SECRET", secret: true, default: "none", meaning: "signs what is sent to this webhook" },
    {
      name: "SMTP_URL",
      secret: true,
      default: "none",
      meaning:
        "mail server, such as `smtp://user:password@mail.example.com:587` (STARTTLS) or `smtps://…` (TLS from the start). The default ports are 587 and 465. Write special characters of the password as `%40`",
    },
    {
      name: "ALERT_EMAIL_FROM",
      default: "none",
      meaning: "sender, such as `Gateway <gateway@example.com>`. Required with `SMTP_URL`",
    },
  ],
  metrics: [
    { name: "ENABLE_PROMETHEUS", default: "`true`", meaning: "`false`: there is no `/metrics`" },
    {
      name: "FORWARD_TRACEPARENT",
      default: "`child`",
      meaning:
        "how `traceparent` goes to providers and MCP servers: with the gateway's span as parent, or `unchanged` ([trace context](observability.md#trace-context))",
    },
    {
      name: "METRICS_TOKEN",
      secret: true,
      default: "none",
      meaning: "bearer token that may read `/metrics`: 16 or more letters, digits and `._~+/=-`",
    },
    { name: "METRICS_OPEN", default: "`false`", meaning: "`true`: everyone may read `/metrics`" },
    {
      name: "PROMETHEUS_MAX_SERIES",
      default: "`1000`",
      least: 10,
      most: 100_000,
      meaning: "most series of a metric, 10 to 100,000",
    },
    { name: "PROMETHEUS_INCLUDE_MODEL_LABEL", default: "`false`", meaning: "label `model`" },
    {
      name: "PROMETHEUS_INCLUDE_CONFIG_NAME_LABEL",
      default: "`false`",
      meaning: "label `config_name`: slug of the saved config, `N/A` for an inline one",
    },
    {
      name: "PROMETHEUS_INCLUDE_API_KEY_NAME_LABEL",
      default: "`false`",
      meaning: "label `api_key_name`: id of the key",
    },
    {
      name: "PROMETHEUS_INCLUDE_METADATA_LABELS",
      default: "`false`",
      meaning: "labels `metadata_<key>` for the next variable",
    },
    {
      name: "PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS",
      default: "none",
      meaning: "comma-separated keys of metadata, at most 20",
    },
    { name: "PROMETHEUS_EXTRA_LABELS", default: "none", meaning: "labels that all series have: `region=eu,team=a`" },
    {
      name: "PROMETHEUS_HISTOGRAM_BUCKETS",
      default: "22 bounds from 0.1 to 10000000",
      meaning: "upper bounds of histograms in milliseconds: `10,100,1000`. Fewer bounds make scrapes smaller",
    },
    {
      name: "PROMETHEUS_HTTP_DURATION_BUCKETS",
      default: "19 bounds from 0.1 to 3000",
      meaning: "upper bounds of histograms in seconds",
    },
    { name: ["SERVICE_NAME", "NODE_ENV"], default: "`gateway`, none", meaning: "labels `app` and `env`" },
    { name: "PROMETHEUS_PUSH_ENABLED", default: "`false`", meaning: "pushes metrics to a Pushgateway" },
    {
      name: "PROMETHEUS_GATEWAY_URL",
      default: "none",
      meaning: "its address, such as `https://push.example.com`. Required to push. It may be private",
    },
    {
      name: "PROMETHEUS_GATEWAY_AUTH",
      secret: true,
      default: "none",
      meaning: "`user:password`, or the value of `authorization` with its scheme. Required to push",
    },
    {
      name: "PROMETHEUS_PUSH_INTERVAL_MS",
      default: "`15000`",
      least: 1_000,
      most: 3_600_000,
      meaning: "time between two pushes, 1,000 to 3,600,000",
    },
  ],
  traces: [
    {
      name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
      default: "none",
      meaning: "address that spans are posted to. It may be private",
    },
    {
      name: ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_ENDPOINT", "EXPERIMENTAL_GEN_AI_OTEL_EXPORTER_OTLP_ENDPOINT"],
      default: "none",
      meaning: "the same without its path `/v1/traces`. Without an address, no spans are sent",
    },
    {
      name: [
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "EXPERIMENTAL_GEN_AI_OTEL_EXPORTER_OTLP_HEADERS",
      ],
      secret: true,
      default: "none",
      meaning: "headers of each request: `authorization=Bearer%20…,x-team=a`",
    },
    {
      name: ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"],
      default: "`http/protobuf`",
      meaning: "also `http/json`",
    },
    {
      name: ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"],
      default: "`none`",
      meaning: "also `gzip`",
    },
    {
      name: ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"],
      default: "`10000`",
      least: 1,
      most: 600_000,
      meaning: "milliseconds for one request to the collector",
    },
    {
      name: "OTEL_SERVICE_NAME",
      default: "`service.name` of the attributes, `SERVICE_NAME`, `gateway`",
      meaning: "name of the service",
    },
    {
      name: ["OTEL_RESOURCE_ATTRIBUTES", "EXPERIMENTAL_GEN_AI_OTEL_RESOURCE_ATTRIBUTES"],
      default: "none",
      meaning: "attributes of the resource: `deployment.environment.name=production`",
    },
    {
      name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
      default: "`false`",
      meaning: "`true`, `span_only` or `span_and_event`: spans contain messages",
    },
    {
      name: "OTEL_BSP_SCHEDULE_DELAY",
      default: "`5000`",
      least: 1,
      most: 600_000,
      meaning: "milliseconds that a finished request waits for others",
    },
    {
      name: "OTEL_BSP_MAX_QUEUE_SIZE",
      default: "`2048`",
      least: 1,
      most: 100_000,
      meaning: "finished requests that wait. Further ones are dropped",
    },
    {
      name: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
      default: "`512`",
      least: 1,
      most: 10_000,
      meaning: "finished requests that are sent together",
    },
    {
      name: ["OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"],
      default: "`false`, `otlp`",
      meaning: "`true`, `none`: no spans",
    },
    {
      name: ["OTEL_PUSH_ENABLED", "EXPERIMENTAL_GEN_AI_OTEL_TRACES_ENABLED"],
      default: "none",
      meaning: "`false`: no spans. `true` requires an address",
    },
  ],
  "files-and-batches": [
    { name: "MAX_FILE_SIZE_IN_MB", default: "`32`", least: 1, most: 102_400, meaning: "size of a gateway file" },
    {
      name: "MAX_WORKSPACE_FILES_IN_MB",
      default: "`1024`",
      least: 1,
      most: 10_240_000,
      meaning: "file quota of a workspace",
    },
    {
      name: "FILES_S3_ENDPOINT",
      default: "none",
      meaning:
        "URL of an S3-compatible store, such as `https://s3.eu-central-1.amazonaws.com`. Without it, files are stored in the database",
    },
    {
      name: ["FILES_S3_BUCKET", "FILES_S3_ACCESS_KEY_ID", "FILES_S3_SECRET_ACCESS_KEY"],
      secret: ["FILES_S3_ACCESS_KEY_ID", "FILES_S3_SECRET_ACCESS_KEY"],
      default: "none",
      meaning: "required with the endpoint",
    },
    {
      name: ["FILES_S3_REGION", "FILES_S3_PREFIX"],
      default: "`us-east-1`, none",
      meaning: "region of the signatures; prefix of object names",
    },
    {
      name: "BATCH_PAUSE_MS",
      default: "`5000`",
      least: 0,
      most: 3_600_000,
      meaning: "time between two groups of lines of a batch",
    },
    {
      name: "BATCHES_AT_ONCE",
      default: "`4`",
      least: 1,
      most: 1_000,
      meaning: "batches that a process runs at the same time",
    },
    {
      name: "BATCH_STATUS_CHECK_INTERVAL",
      default: "`10000`",
      least: 10_000,
      most: 3_600_000,
      meaning: "milliseconds between two status checks of a provider's batch, at least 10000",
    },
  ],
  addresses: [
    {
      name: "OUTBOUND_PROXY",
      secret: true,
      default: "none",
      meaning:
        "[proxy](production.md#outbound-proxy) through which the gateway calls providers and other servers: `http://user:password@proxy.example.com:3128`",
    },
    {
      name: "OUTBOUND_NO_PROXY",
      default: "none",
      meaning:
        "comma-separated names and addresses that are called without the proxy, each with what is below it, perhaps with a port: `example.com`, `10.0.0.5:8080`. This machine is always called directly",
    },
    {
      name: "TRUSTED_CUSTOM_HOSTS",
      default: "none",
      meaning:
        "comma-separated hosts that may be private: names, addresses, or `*.name` for a name and everything below it. With a port (`127.0.0.1:11434`, `[::1]:11434`, `*.lan:8000`) only that port is trusted, otherwise every port",
    },
  ],
  "identity-of-the-gateway-in-a-cloud": [
    {
      name: "CLOUD_IDENTITY_ORGANISATIONS",
      default: "the first organisation",
      meaning: "comma-separated ids of the organisations that may use this identity. Requests of others get 400",
    },
  ],
  aws: [
    {
      name: ["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"],
      default: "none",
      meaning: "role to assume with a federated token",
    },
    {
      name: "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
      default: "none",
      meaning: "path at `169.254.170.2` where ECS provides keys",
    },
    {
      name: "AWS_CONTAINER_CREDENTIALS_FULL_URI",
      default: "none",
      meaning: "full URL instead, as EKS sets it: a loopback address, or one of ECS or EKS",
    },
    {
      name: ["AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
      default: "none",
      meaning: "value of `authorization` for that URL. The file takes precedence and is read each time",
    },
    {
      name: "AWS_EC2_METADATA",
      default: "`false`",
      meaning: "`true`: keys of the instance role, from version 2 of the instance metadata service",
    },
  ],
  "aws-2": [
    {
      name: ["AWS_ASSUME_ROLE_ACCESS_KEY_ID", "AWS_ASSUME_ROLE_SECRET_ACCESS_KEY"],
      secret: true,
      default: "none",
      meaning: "keys to assume callers' roles with, instead of the role above",
    },
    {
      name: "AWS_ASSUME_ROLE_REGION",
      default: "the request's",
      meaning: "region of the token service for the first step",
    },
    {
      name: ["AWS_ASSUME_ROLE_SOURCE_ARN", "AWS_ASSUME_ROLE_SOURCE_EXTERNAL_ID"],
      default: "none",
      meaning: "intermediate role that callers' roles trust",
    },
    { name: "AWS_ENDPOINT_DOMAIN", default: "`amazonaws.com`", meaning: "domain of the services" },
  ],
  azure: [
    {
      name: "AZURE_FEDERATED_TOKEN_FILE",
      default: "none",
      meaning: "token of the platform, exchanged in the modes `workload` and `entraFederated`",
    },
    {
      name: ["AZURE_CLIENT_ID", "AZURE_TENANT_ID"],
      default: "none",
      meaning: "application to use if the request names none",
    },
    { name: "AZURE_AUTHORITY_HOST", default: "`https://login.microsoftonline.com/`", meaning: "token service" },
    {
      name: ["IDENTITY_ENDPOINT", "IDENTITY_HEADER"],
      secret: ["IDENTITY_HEADER"],
      default: "none",
      meaning: "token service of the platform for the mode `managed`",
    },
    {
      name: "AZURE_INSTANCE_METADATA",
      default: "`false`",
      meaning: "`true`: without such a service, `managed` uses the instance metadata service",
    },
  ],
  "google-cloud": [
    {
      name: "GCP_WIF_AUDIENCE",
      default: "none",
      meaning: "audience of the workload identity pool. The gateway exchanges the platform's token for a Google token",
    },
    { name: "GCP_AUTH_MODE", default: "none", meaning: "`workload`: the token of the machine's service account" },
    {
      name: "GCP_WIF_SERVICE_ACCOUNT_EMAIL",
      default: "none",
      meaning: "service account to impersonate with the exchanged token",
    },
    {
      name: "GCP_WIF_TOKEN_FILE",
      default: "none",
      meaning:
        "file with the platform's token. Without it: the identity of the AWS or Azure variables above, static AWS keys (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`), or the keys of the container or instance",
    },
  ],
} as const satisfies Readonly<Record<string, readonly Variable[]>>;

type Row = (typeof variables)[keyof typeof variables][number];
type NameOf<Name> = Name extends readonly (infer One)[] ? One : Name;

/** Variables that are whole numbers. */
export type IntegerName = NameOf<Extract<Row, { readonly least: number }>["name"]>;

/** All rows. */
export const listVariables = (): Variable[] => Object.values(variables).flat();

/** Bounds of whole numbers, by name. */
const bounds = new Map<string, { least: number; most: number }>();
for (const { name, least, most } of listVariables()) {
  if (least !== undefined && most !== undefined) for (const one of [name].flat()) bounds.set(one, { least, most });
}

/** The bounds of a whole number. */
export function boundsOf(name: IntegerName): { least: number; most: number } {
  return bounds.get(name) ?? { least: 0, most: Number.MAX_SAFE_INTEGER };
}
