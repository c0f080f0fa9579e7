import process from "node:process";
import { BoundedMap } from "../lib/bounded-map.ts";
import { logLevels, type ProcessLogSettings, processLog } from "../settings/process-log.ts";

type Level = ProcessLogSettings["level"];

/** What the process says to its operator. */
export interface ProcessLog {
  /** Lines that programs read, such as alerts: they are never dropped for their number. */
  info(line: string): void;
  warn(message: string, error?: unknown): void;
  error(message: string, error?: unknown): void;
}

/** Lines of one kind that are written in a window; further ones are counted. */
const linesPerWindow = 5;
const windowMs = 60_000;
/** Kinds of lines that are counted at a time. */
const mostKinds = 500;
/** Longest part of a line, in characters. */
const mostCharacters = 2_000;
/** Errors that are followed to their causes. */
const mostCauses = 5;
/** Frames of the stack of an error that is a fault of the program. */
const mostFrames = 8;

/** One line without control characters, which could forge further lines. */
function onOneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").slice(0, mostCharacters);
}

/** Whether the message of an error is a statement of SQL with its parameters. */
const isStatement = (error: Error): boolean => "query" in error && "params" in error;

/** The messages of an error and its causes: no stack, no source, no SQL. */
function causesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [onOneLine(String(error))];
  const causes: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < mostCauses && current instanceof Error; depth++) {
    const said = onOneLine(isStatement(current) ? "a statement failed" : current.message || current.name);
    if (!causes.includes(said)) causes.push(said);
    current = current.cause;
  }
  return causes;
}

/** Frames of the stack of an error that no outage explains: a fault of the program. */
function framesOf(error: unknown): string[] {
  const isFault = [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
  if (!isFault || !(error instanceof Error) || error.cause !== undefined) return [];
  const lines = error.stack?.split("\n").map((line) => line.trim()) ?? [];
  return lines.filter((line) => /^(?:at |[^ ]*@)/.test(line)).slice(0, mostFrames);
}

/** What lines of one kind have in common: numbers and ids differ. */
const kindOf = (message: string): string => message.replace(/[0-9a-f]{4,}(?:-[0-9a-f]{4,})*|\d+/gi, "#").slice(0, 200);

/** Where lines go. */
interface Output {
  /** A line of standard output, or of standard error. */
  write(line: string, isError: boolean): void;
  /** Unix milliseconds. */
  now(): number;
}

const consoleOutput: Output = {
  // console writes at once, also before the process exits
  write: (line, isError) => (isError ? console.error(line) : console.log(line)),
  now: Date.now,
};

interface Line {
  level: Level;
  message: string;
  causes?: string[];
  frames?: string[];
}

function toText({ level, message, causes = [], frames = [] }: Line, time: string): string {
  if (level === "info") return message;
  const because = causes.length > 0 ? `, because: ${causes.join(", because: ")}` : "";
  const at = frames.length > 0 ? ` (${frames.join(" ")})` : "";
  return `${time} ${level} ${message}${because}${at}`;
}

function toJson({ level, message, causes = [], frames = [] }: Line, time: string): string {
  const cause = causes.length > 0 ? { cause: causes.join(", because: ") } : {};
  return JSON.stringify({ time, level, message, ...cause, ...(frames.length > 0 && { stack: frames }) });
}

/** Creates the process log: one line for each event, and few lines of a kind in a minute. */
export function createProcessLog(settings: ProcessLogSettings, output: Output = consoleOutput): ProcessLog {
  const most = logLevels.indexOf(settings.level);
  const toLine = settings.format === "json" ? toJson : toText;
  const seen = new BoundedMap<string, { since: number; lines: number; left: number }>(mostKinds);
  const write = (line: Line) => {
    if (logLevels.indexOf(line.level) > most) return;
    output.write(toLine(line, new Date(output.now()).toISOString()), line.level !== "info");
  };
  const limited = (level: Level, text: string, error: unknown) => {
    const message = onOneLine(text);
    const kind = kindOf(message);
    const now = output.now();
    let window = seen.get(kind);
    if (window === undefined || now - window.since >= windowMs || now < window.since) {
      const left = window?.left ?? 0;
      window = { since: now, lines: 0, left: 0 };
      seen.set(kind, window);
      if (left > 0) write({ level, message: `${left} more lines were left out before this: ${kind}` });
    }
    if (++window.lines > linesPerWindow) window.left++;
    else write({ level, message, causes: causesOf(error), frames: framesOf(error) });
  };
  return {
    info: (line) => write({ level: "info", message: line }),
    warn: (message, error) => limited("warn", message, error),
    error: (message, error) => limited("error", message, error),
  };
}

/**
 * The process log of a thread, by the environment that it shares with the process. The variables may be those of another
 * program, in which the gateway is embedded: what it does not understand does not stop it.
 */
export function processLogOfThread(): ProcessLog {
  try {
    return createProcessLog(processLog(process.env));
  } catch {
    return createProcessLog(processLog({}));
  }
}
