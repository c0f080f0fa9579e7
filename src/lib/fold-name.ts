/** A name without the differences servers may ignore: escapes, case, widths, blanks and doubled slashes. */
export function foldName(name: string): string {
  let plain = name;
  for (let rounds = 0; rounds < 3 && plain.includes("%"); rounds++) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      break;
    }
  }
  const folded = plain
    .normalize("NFKC")
    .replace(/[\p{C}\p{Z}]/gu, "")
    .toLowerCase();
  return folded.replace(/\/{2,}/g, "/").replace(/^(?:\.?\/)+|\/+$/g, "");
}
