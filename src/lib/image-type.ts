import { toHex } from "./base64.ts";

/** First bytes of image files, in hexadecimal. */
const beginnings = [
  [/^ffd8ff/, "image/jpeg"],
  [/^89504e470d0a1a0a/, "image/png"],
  [/^474946383[79]61/, "image/gif"],
  [/^52494646.{8}57454250/, "image/webp"],
  [/^(?:49492a00|4d4d002a)/, "image/tiff"],
  [/^424d.{8}00000000/, "image/bmp"],
] as const;

/** Brands that files of the ISO base media format name in their fifth to twelfth byte (ISO/IEC 23008-12, annex B). */
const brands = [
  [/^ftyphe(?:ic|ix|im|is|vc|vx|vm|vs)$/, "image/heic"],
  [/^ftyp(?:mif1|msf1)$/, "image/heif"],
  [/^ftypavi[fs]$/, "image/avif"],
] as const;

/** Media type of an image: by its first bytes, else as the server stated; undefined where it is not an image. */
export function readImageType(bytes: Uint8Array, stated: string | null): string | undefined {
  const start = toHex(bytes.subarray(0, 16));
  const brand = String.fromCharCode(...bytes.subarray(4, 12));
  const [, found] = beginnings.find(([form]) => form.test(start)) ?? brands.find(([form]) => form.test(brand)) ?? [];
  if (found !== undefined) return found;
  const [type = ""] = (stated ?? "").toLowerCase().split(";");
  return /^image\/[a-z0-9.+-]+$/.test(type.trim()) ? type.trim() : undefined;
}
