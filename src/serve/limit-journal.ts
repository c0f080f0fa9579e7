import { closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import type { JournalFile, JournalPlace, LeftJournal } from "../logs/journal.ts";
import { hasCode, makeFolder } from "./keys-file.ts";

/** Whether a process runs. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

function openFile(path: string): JournalFile {
  const file = openSync(path, "ax", 0o600);
  return {
    append(line) {
      const bytes = Buffer.from(line);
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    },
    remove() {
      closeSync(file);
      rmSync(path, { force: true });
    },
    leave: () => closeSync(file),
  };
}

/**
 * Journals beside each other: `<path>-<pid>-<process>-<number>`, which only their owner can read. Processes that share
 * the folder must run on one machine, as their numbers show whether they still run.
 */
export function createJournalPlace(path: string): JournalPlace {
  const own = `${process.pid}-${crypto.randomUUID().slice(0, 8)}`;
  let opened = 0;
  const nextPath = () => `${path}-${own}-${++opened}`;
  const beginning = `${basename(path)}-`;
  const pidOf = (name: string): number => {
    const [, pid] =
      /^(\d{1,10})-[0-9a-f]{8}-\d+$/.exec(name.startsWith(beginning) ? name.slice(beginning.length) : "") ?? [];
    return pid === undefined ? Number.NaN : Number(pid);
  };
  /** Files of ended processes. An earlier process may have had the number of this one. */
  const findLeft = () =>
    readdirSync(dirname(path)).filter((name) => {
      const pid = pidOf(name);
      if (Number.isNaN(pid) || name.startsWith(`${beginning}${own}-`)) return false;
      return pid === process.pid || !isRunning(pid);
    });
  return {
    open() {
      makeFolder(path);
      return openFile(nextPath());
    },
    *takeLeft(): Iterable<LeftJournal> {
      makeFolder(path);
      for (const name of findLeft()) {
        const taken = nextPath();
        try {
          renameSync(join(dirname(path), name), taken);
        } catch (error) {
          // another process took it
          if (hasCode(error, "ENOENT")) continue;
          throw error;
        }
        yield { lines: readFileSync(taken, "utf8").split("\n"), remove: () => rmSync(taken, { force: true }) };
      }
    },
  };
}
