import { Concurrency, readConcurrencyLimits } from "../context/concurrency.ts";
import type { LoadServices } from "../context/load.ts";
import { defaultPressureMarks, Pressure } from "../context/pressure.ts";
import type { Clock } from "../lib/clock.ts";
import { createDependencies, type DependencyParts } from "./dependencies.ts";
import type { GatewayOptions } from "./options.ts";

/** Decides which requests may begin, and knows what the gateway needs. */
interface Load extends LoadServices {
  /** Begins to look at memory, event loop and database; the result ends it. */
  startLooks(): () => void;
}

/** What decides whether requests may begin. */
export function createLoad(options: GatewayOptions, { clock, ...parts }: DependencyParts & { clock: Clock }): Load {
  const stats = options.processStats;
  const pressure = new Pressure({
    marks: { ...defaultPressureMarks, ...options.shedding },
    residentBytes: stats && (() => stats().residentBytes),
    monotonic: clock.monotonic,
  });
  const dependencies = createDependencies(parts);
  return {
    pressure,
    concurrency: new Concurrency(readConcurrencyLimits(options.concurrency), pressure),
    dependencies,
    readyRequires: options.readyRequires ?? [],
    startLooks() {
      const stops = [pressure.start(), dependencies.start()];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
