import { prepare, type Stage, shoot } from "./load.ts";
import { mean, peakRssMegabytes } from "./measure.ts";
import { scenarios } from "./scenarios.ts";
import { countFailures } from "./wrk.ts";

/** Requests of the whole soak, and after how many memory is read. */
const soakRequests = 300_000;
const sliceRequests = 50_000;
/** Runs after which the soak ends even if requests are missing. */
const maxRuns = 600;
/** How much more memory than before counts as noise. */
const tolerance = 1.1;

/** State after one slice. */
export interface SoakSlice {
  /** Requests sent so far. */
  requests: number;
  requestsPerSecond: number;
  rssMegabytes: number;
  cpuMicroseconds: number;
}

/** What the soak found. */
export interface SoakResult {
  slices: SoakSlice[];
  lastRssMegabytes: number;
  peakRssMegabytes: number;
  /** The last two slices hold over 10 % more than the second and third. */
  rising: boolean;
  failures: number;
}

function isRising(slices: readonly SoakSlice[]): boolean {
  const memory = slices.map((slice) => slice.rssMegabytes);
  return mean(memory.slice(-2)) > mean(memory.slice(1, 3)) * tolerance;
}

/** Sends 300,000 small chats over 32 connections and reads the gateway's memory on the way. */
export async function runSoak(stage: Stage, report: (slice: SoakSlice) => void): Promise<SoakResult> {
  const scenario = scenarios.find(({ name }) => name === "small-32");
  if (!scenario) throw new Error("Cannot soak: the scenario is not there");
  const shooter = await prepare(scenario, "gateway", stage);
  const slices: SoakSlice[] = [];
  let [sent, failures, rate] = [0, 0, 10_000];
  // wrk counts time, not requests: short runs until a slice is full
  for (let runs = 0; slices.length < soakRequests / sliceRequests && runs < maxRuns; runs++) {
    const wanted = sliceRequests * (slices.length + 1) - sent;
    const seconds = Math.min(10, Math.max(1, Math.ceil(wanted / rate)));
    const run = await shoot(shooter, "gateway", stage, seconds);
    sent += run.requests;
    failures += countFailures(run);
    rate = Math.max(1, run.requestsPerSecond);
    if (sent < sliceRequests * (slices.length + 1)) continue;
    const { requestsPerSecond, rssMegabytes, cpuMicroseconds } = run;
    const slice = { requests: sent, requestsPerSecond, rssMegabytes, cpuMicroseconds };
    slices.push(slice);
    report(slice);
  }
  const lastRssMegabytes = slices.at(-1)?.rssMegabytes ?? Number.NaN;
  const peak = peakRssMegabytes(stage.gateway.pid);
  return { slices, lastRssMegabytes, peakRssMegabytes: peak, rising: isRising(slices), failures };
}
