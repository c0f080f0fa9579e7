import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { createMasterKeyText } from "../auth/master-keys.ts";
import { replaceFile } from "./replace-file.ts";

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Whether there is a file or a folder. */
export function exists(path: string): boolean {
  return existsSync(path);
}

/** Creates the folder of a file, accessible to its owner only. */
export function makeFolder(path: string): void {
  const folder = dirname(path);
  if (!exists(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/**
 * Restricts a database to its owner: SQLite creates its further files with the same mode. Existing files are restricted,
 * too.
 *
 * @throws If the file cannot be created.
 */
export function keepToOwner(path: string): void {
  makeFolder(path);
  closeSync(openSync(path, "a", 0o600));
  if (process.platform === "win32") return;
  for (const end of ["", "-wal", "-shm", "-journal"]) {
    try {
      if ((statSync(path + end).mode & 0o077) !== 0) chmodSync(path + end, 0o600);
    } catch (error) {
      // another owner's file is left alone
      if (!hasCode(error, "ENOENT") && !hasCode(error, "EPERM")) throw error;
    }
  }
}

/**
 * The content of a master key file; undefined without a file.
 *
 * @throws {TypeError} If others can read it.
 */
export function readKeysFile(path: string): string | undefined {
  try {
    if ((statSync(path).mode & 0o077) !== 0 && process.platform !== "win32") {
      throw new TypeError(`Cannot use ${path}: others can read it; run chmod 600 on it`);
    }
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return undefined;
    throw error;
  }
}

/** Writes the file completely, unless it exists: of processes that start together, only one writes. */
export function createKeysFile(path: string): string {
  makeFolder(path);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${createMasterKeyText()}\n`, { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    unlinkSync(draft);
  }
  return readKeysFile(path) ?? "";
}

/** An older lock counts as stale: a change takes milliseconds. */
const lockMs = 60_000;

/** Runs `action` while no other process changes the file. */
async function withLock<Value>(path: string, action: () => Promise<Value>): Promise<Value> {
  const lock = `${path}.lock`;
  const left = statSync(lock, { throwIfNoEntry: false });
  if (left && Date.now() - left.mtimeMs > lockMs) rmSync(lock, { force: true });
  try {
    writeFileSync(lock, `${process.pid}\n`, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    if (!hasCode(cause, "EEXIST")) throw cause;
    throw new Error(`Cannot change ${path}: another command is changing it; if that is wrong, remove ${lock}`, {
      cause,
    });
  }
  try {
    return await action();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * Changes a master key file, one process at a time; readers see the old or the new content, never a part.
 *
 * @param change Receives the content and returns the new one, or undefined to leave it.
 */
export async function changeKeysFile(
  path: string,
  change: (text: string) => Promise<string | undefined>,
): Promise<void> {
  // a symbolic link is preserved: its target is replaced
  const target = realpathSync(path);
  await withLock(target, async () => {
    const text = readKeysFile(target);
    if (text === undefined) throw new Error(`Cannot read ${target}: it does not exist`);
    const changed = await change(text);
    if (changed !== undefined) replaceFile(target, `${changed}\n`, 0o600);
  });
}
