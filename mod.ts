import { host, main } from "./src/serve/host.ts";

export type { FirstKeys } from "./src/auth/first-start.ts";
export type { SemanticSettings } from "./src/cache/semantic-settings.ts";
export type { ConcurrencyLimits } from "./src/context/concurrency.ts";
export type { ConnectionInfo, Limits } from "./src/context.ts";
export type { AlertSettings } from "./src/control/alerts/parts.ts";
export type { ConsoleAssets } from "./src/control/console/assets.ts";
export type { FileLimits } from "./src/control/files/storage.ts";
export type { S3Settings } from "./src/control/object-store.ts";
export type { TokenSettings } from "./src/control/tokens.ts";
export type { DatabaseLocation } from "./src/db/client.ts";
export type { TextCodec } from "./src/db/stores/logs.ts";
export type { CacheOptions, GatewayOptions, LogPlaces, LogSpillOptions, ServerMode } from "./src/gateway/options.ts";
export type { Gateway } from "./src/gateway.ts";
export type { BatchRunnerSettings } from "./src/inference/batches/runner.ts";
export type { Clock } from "./src/lib/clock.ts";
export type { MacFactory } from "./src/lib/hash.ts";
export type { SocketAnswer, SocketInit, Transport, TransportInit } from "./src/lib/outbound.ts";
export type { ConnectRedis } from "./src/lib/redis.ts";
export type { TokenCounter } from "./src/lib/token-count.ts";
export type { SocketAcceptance, SocketEnd } from "./src/lib/websocket.ts";
export type { FollowerLimits } from "./src/logs/follow/log-tail.ts";
export type { TailReader } from "./src/logs/follow/page.ts";
export type { JournalPlace } from "./src/logs/journal.ts";
export type { LogReader } from "./src/logs/read/log-reader.ts";
export type { RedactionSettings } from "./src/logs/redact.ts";
export type { WaitingLimits } from "./src/logs/waiting-rows.ts";
export type { LogWriter } from "./src/logs/writer.ts";
export type { McpServers } from "./src/mcp/registry/mcp-server.ts";
export type { McpSettings } from "./src/mcp/registry/mcp-state.ts";
export type { OtlpSettings } from "./src/observability/otlp/settings.ts";
export type { MetricsOptions, ProcessStats } from "./src/observability/settings.ts";
export type { TelemetrySettings } from "./src/observability/telemetry.ts";
export {
  addressSetting,
  baseAddressSetting,
  fileSetting,
  hiddenSetting,
  hostLabel,
  placeSetting,
  plainSetting,
  secretSetting,
  storedSetting,
} from "./src/providers/core/settings.ts";
export type { Provider, ProviderDefinition } from "./src/providers/core/types.ts";
export { defineProvider, openaiCompatible } from "./src/providers/outside.ts";
export type { TargetLimits } from "./src/routing/config.ts";
export type { OperatorFacts } from "./src/schemas/model-facts.ts";
export { createGateway } from "./src/serve/embed.ts";
export { type HostOptions, type HostParts, hostOptions } from "./src/serve/host-options.ts";

export default host;

if (import.meta.main) await main();
