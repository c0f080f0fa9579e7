import { constants } from "node:fs";
import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import process from "node:process";
import type { SnapshotPlace } from "../gateway/snapshot/snapshot.ts";
import { hasCode, makeFolder } from "./keys-file.ts";

/** Makes a rename durable; not every system can open a folder. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A file that only its owner can read. Readers see the old or the new content, never a part. */
export function createSnapshotPlace(path: string): SnapshotPlace {
  const draft = `${path}.${process.pid}`;
  return {
    name: path,
    async read() {
      try {
        return new Uint8Array(await readFile(path));
      } catch (error) {
        if (hasCode(error, "ENOENT")) return undefined;
        throw error;
      }
    },
    async write(content) {
      makeFolder(path);
      // what a killed process left
      await rm(draft, { force: true });
      try {
        const file = await open(draft, "wx", 0o600);
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
      await syncFolder(dirname(path));
    },
  };
}
