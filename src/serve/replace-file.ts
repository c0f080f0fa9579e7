import {
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** Makes a rename durable; not every system can open a folder. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Replaces a file's content, or creates the file, and flushes it to disk: readers see the old or the new content, never a
 * part. The owner is preserved, and so is a symbolic link, whose target is replaced.
 *
 * @param mode Permissions of the new file.
 */
export function replaceFile(path: string, content: string | Uint8Array, mode: number): void {
  const former = statSync(path, { throwIfNoEntry: false });
  const target = former ? realpathSync(path) : path;
  const draft = `${target}.${process.pid}`;
  const file = openSync(draft, "wx", mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
    closeSync(file);
    const made = statSync(draft);
    if (former && (made.uid !== former.uid || made.gid !== former.gid)) chownSync(draft, former.uid, former.gid);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(target));
}
