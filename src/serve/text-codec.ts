import { createHmac } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { TextCodec } from "../db/stores/logs.ts";

/** Largest text that is decompressed: far above any batch of log rows. */
const maxTextBytes = 256 * 1024 * 1024;
/** The fastest level: prompts and streams are so repetitive that higher levels gain little. */
const level = 1;
const params = { [constants.ZSTD_c_compressionLevel]: level };

/** Zstandard (RFC 8878), and HMAC-SHA-256. */
export const zstdCodec: TextCodec = {
  // without the stream that `node:zlib` makes for each text there
  compress: (text) =>
    typeof Bun === "undefined" ? zstdCompressSync(text, { params }) : Bun.zstdCompressSync(text, { level }),
  expand: (bytes) => zstdDecompressSync(bytes, { maxOutputLength: maxTextBytes }).toString(),
  digest: (key, text) => createHmac("sha256", key).update(text).digest("base64url"),
};
