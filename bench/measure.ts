import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Clock ticks of `/proc/<pid>/stat`: 100 a second on every Linux. */
const ticksPerSecond = 100;

const toMicroseconds = (ticks: number) => (ticks * 1_000_000) / ticksPerSecond;

function sumOf(fields: readonly string[]): number {
  return fields.reduce((sum, field) => sum + Number(field), 0);
}

/** Fields of `/proc/<pid>/stat` from the third on: the second, the program's name, may hold spaces. */
function statFields(pid: number | "self"): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** CPU time all threads of a process have used so far, in microseconds. */
export function cpuMicroseconds(pid: number): number {
  return toMicroseconds(sumOf(statFields(pid).slice(11, 13)));
}

/** CPU time of the threads of a process, in microseconds. */
export interface ThreadTimes {
  all: number;
  /** Of the thread that answers. */
  answering: number;
  /** Of the threads that JavaScript started, among them the one that writes the log. */
  workers: number;
}

/** CPU time the threads of a process have used so far: finer than `cpuMicroseconds`, without threads that have ended. */
export function threadTimes(pid: number): ThreadTimes {
  const times: ThreadTimes = { all: 0, answering: 0, workers: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const path = `/proc/${pid}/task/${thread}`;
    try {
      const microseconds = Number(readFileSync(`${path}/schedstat`, "utf8").split(" ")[0]) / 1_000;
      times.all += microseconds;
      if (Number(thread) === pid) times.answering += microseconds;
      else if (readFileSync(`${path}/comm`, "utf8").startsWith("Worker")) times.workers += microseconds;
    } catch {
      // the thread has ended
    }
  }
  return times;
}

/** CPU time of this process and of its children that have ended, in microseconds. */
export function ownCpuMicroseconds(): number {
  return toMicroseconds(sumOf(statFields("self").slice(11, 15)));
}

/** CPU time the whole machine has used so far, in microseconds: user, nice, system, and what its host took away. */
export function machineCpuMicroseconds(): number {
  const [, user = "0", nice = "0", system = "0", , , , , steal = "0"] = readFileSync("/proc/stat", "utf8").split(/\s+/);
  return toMicroseconds(sumOf([user, nice, system, steal]));
}

function statusKilobytes(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1] ?? 0);
}

/** Memory a process holds, in megabytes of 1,000,000 bytes. */
export function rssMegabytes(pid: number): number {
  return (statusKilobytes(pid, "VmRSS") * 1024) / 1_000_000;
}

/** Most memory a process has held, in megabytes of 1,000,000 bytes. */
export function peakRssMegabytes(pid: number): number {
  return (statusKilobytes(pid, "VmHWM") * 1024) / 1_000_000;
}

/** The middle value; the mean of the two in the middle of an even count. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Middle of ratios that were measured repeatedly, and the bounds between which the true one lies with 95 % probability. */
export interface Middle {
  readonly ratio: number;
  readonly from: number;
  readonly to: number;
}

/** The median of values and its 95 % interval by their order (binomial distribution, its normal approximation). */
export function middleOf(values: readonly number[]): Middle {
  const sorted = [...values].sort((one, other) => one - other);
  const reach = 0.98 * Math.sqrt(sorted.length);
  const at = (place: number) => sorted[Math.min(sorted.length - 1, Math.max(0, place))] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return { ratio: median(sorted), from: at(Math.floor(middle - reach)), to: at(Math.ceil(middle + reach)) };
}

/** Whether the noise leaves open on which side of its limit a result lies. */
export const isOpen = ({ from, to }: Middle, limit: number): boolean => from <= limit && limit < to;

/** The arithmetic mean. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Whether this machine provides the figures of the benchmark. */
export function canMeasure(): boolean {
  return existsSync("/proc/self/stat");
}

/** The processor's name. */
export function cpuModel(): string {
  return /^model name\s*:\s*(.+)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "unknown";
}
