/** A cell of CSV. Texts that a spreadsheet would take for a formula begin with an apostrophe. */
function toCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table as CSV (RFC 4180), its names first. */
export function toCsv(names: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [names, ...rows].map((row) => `${row.map(toCell).join(",")}\r\n`).join("");
}
