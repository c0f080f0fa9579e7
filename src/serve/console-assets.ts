import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ConsoleAsset, ConsoleAssets, PackedAsset } from "../control/console/assets.ts";
import { embeddedFiles } from "./console-files.ts";

/** Content types by the ending of a file's name. */
const contentTypes: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  gif: "image/gif",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  jpg: "image/jpeg",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  map: "application/json",
  mjs: "text/javascript; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
  webmanifest: "application/manifest+json",
  webp: "image/webp",
  woff: "font/woff",
  woff2: "font/woff2",
};

/** Endings of the compressed forms of a file, beside it, the smallest first. */
const packedForms = [
  { name: "br", ending: ".br" },
  { name: "gzip", ending: ".gz" },
];

function contentTypeOf(name: string): string {
  return contentTypes[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream";
}

/** The bytes of a file; undefined if it does not exist. */
type ReadBytes = (name: string) => Promise<Uint8Array<ArrayBuffer> | undefined>;

async function toAsset(name: string, read: ReadBytes): Promise<ConsoleAsset | undefined> {
  const bytes = await read(name);
  if (!bytes) return undefined;
  const forms = packedForms.map(async (form): Promise<PackedAsset[]> => {
    const compressed = await read(name + form.ending);
    return compressed ? [{ name: form.name, bytes: compressed }] : [];
  });
  const packed = (await Promise.all(forms)).flat();
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  return { bytes, packed, contentType: contentTypeOf(name), etag };
}

/** Reads a whole file; undefined if it does not exist. */
async function readWhole(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return Uint8Array.from(await readFile(path));
  } catch {
    return undefined;
  }
}

/** Files of a program that has them inside: they never change. */
function createEmbeddedAssets(files: ReadonlyMap<string, string>): ConsoleAssets {
  const assets = new Map<string, Promise<ConsoleAsset | undefined>>();
  const read: ReadBytes = async (name) => {
    const path = files.get(name);
    return path === undefined ? undefined : readWhole(path);
  };
  return {
    async find(name) {
      if (!files.has(name)) return undefined;
      const asset = assets.get(name) ?? toAsset(name, read);
      assets.set(name, asset);
      return asset;
    },
  };
}

/**
 * Files of the console in a folder, read again once they change: a build may run while the gateway serves.
 *
 * @param folder Where the build writes them.
 */
export function createFolderAssets(folder: string): ConsoleAssets {
  const assets = new Map<string, { version: string; asset: Promise<ConsoleAsset | undefined> }>();
  return {
    async find(name) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile()) {
        assets.delete(name);
        return undefined;
      }
      const version = `${found.mtimeMs} ${found.size}`;
      const held = assets.get(name);
      if (held?.version === version) return held.asset;
      const asset = toAsset(name, (one) => readWhole(join(folder, one)));
      assets.set(name, { version, asset });
      return asset;
    },
  };
}

/** The console that `npm start` and `npm run compile` build. */
export function createConsoleAssets(): ConsoleAssets {
  if (embeddedFiles) return createEmbeddedAssets(embeddedFiles);
  return createFolderAssets(join(import.meta.dirname, "../../dist/console"));
}
