import { type Environment, text } from "./read.ts";

/** Levels of lines, the most severe first. */
export const logLevels = ["error", "warn", "info"] as const;

/** How the process log is written. */
export interface ProcessLogSettings {
  /** Lines of this level and of more severe ones are written. */
  level: (typeof logLevels)[number];
  /** A line of text, or an object of JSON on one line. */
  format: "text" | "json";
}

/** How the process log is written. */
export function processLog(environment: Environment): ProcessLogSettings {
  const level = text(environment, "LOG_LEVEL")?.toLowerCase() ?? "info";
  const format = text(environment, "LOG_FORMAT")?.toLowerCase() ?? "text";
  const known = logLevels.find((one) => one === level);
  if (known === undefined) throw new TypeError(`Cannot use LOG_LEVEL: it must be one of ${logLevels.join(", ")}`);
  if (format !== "text" && format !== "json") throw new TypeError("Cannot use LOG_FORMAT: it must be text or json");
  return { level: known, format };
}
