import type { GatewayOptions } from "../gateway/options.ts";
import { createConsoleAssets } from "./console-assets.ts";
import { contentCodings } from "./content-codings.ts";
import { nodeMac, readCloudFile } from "./environment.ts";
import { createLogReaderThread } from "./log-reader-thread.ts";
import { createLogThread } from "./log-thread.ts";
import { readProcessStats } from "./process-stats.ts";
import { connectRedis } from "./redis.ts";
import { loadTransport } from "./runtime-transport.ts";
import { zstdCodec } from "./text-codec.ts";
import { createTokenThread } from "./token-thread.ts";

/** Parts that a host may leave out. */
export interface HostParts {
  /** Serves the console at `/console`. Default: true. */
  console?: boolean;
}

/** What this process gives a gateway. */
export type HostOptions = Required<
  Pick<
    GatewayOptions,
    | "transport"
    | "connectRedis"
    | "createMac"
    | "createLogWriter"
    | "createLogReader"
    | "countTokens"
    | "logCodec"
    | "contentCodings"
    | "processStats"
    | "readFile"
    | "console"
  >
>;

/**
 * Everything that the standalone gateway takes from its process: the address-checked connector, Redis, threads for the log and
 * for counting tokens, compression of logged contents, figures of the process, and the console. Needs Bun, Deno or Node.
 *
 * `createGateway({ ...(await hostOptions()), database, masterKeys })` is the gateway that `mod.ts` serves.
 *
 * @throws {Error} If the connector does not check addresses in this runtime.
 */
export async function hostOptions({ console: hasConsole = true }: HostParts = {}): Promise<HostOptions> {
  const transport = await loadTransport();
  const { selfTestConnector } = await import("./transport.ts");
  await selfTestConnector(transport);
  return {
    transport,
    connectRedis,
    createMac: nodeMac,
    createLogWriter: createLogThread,
    createLogReader: createLogReaderThread,
    countTokens: createTokenThread().count,
    logCodec: zstdCodec,
    contentCodings,
    processStats: readProcessStats,
    readFile: readCloudFile,
    console: hasConsole && createConsoleAssets(),
  };
}
