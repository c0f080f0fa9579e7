import { type Requirable, requirable } from "../context/dependencies.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import { type Environment, integer, list } from "./read.ts";

const megabyte = 1024 * 1024;

/** What must be there for a process to be ready. */
function readyRequires(environment: Environment): Requirable[] {
  return list(environment, "READY_REQUIRES").map((item) => {
    const known = requirable.find((name) => name === item.toLowerCase());
    if (known !== undefined) return known;
    throw new TypeError(`Cannot use READY_REQUIRES: list some of ${requirable.join(", ")}`);
  });
}

/** When requests are refused, and when the process is ready. */
export function load(environment: Environment): Pick<GatewayOptions, "shedding" | "readyRequires"> {
  const memory = integer(environment, "SHED_MEMORY_MB");
  const lag = integer(environment, "SHED_LAG_MS");
  return {
    shedding: {
      ...(memory !== undefined && { memoryBytes: memory === 0 ? undefined : memory * megabyte }),
      ...(lag !== undefined && { lagMs: lag === 0 ? undefined : lag }),
    },
    readyRequires: readyRequires(environment),
  };
}
