/** A parsed data URL (RFC 2397). */
export interface DataUrl {
  /** Media type in lower case, without parameters; empty if absent. */
  type: string;
  isBase64: boolean;
  /** Everything after the comma, still encoded. */
  data: string;
}

/** Parses a data URL; undefined for other URLs. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = /^data:/i.test(url) ? url.indexOf(",") : -1;
  if (comma < 0) return undefined;
  const [type = "", ...parameters] = url.slice("data:".length, comma).toLowerCase().split(";");
  const isBase64 = parameters.some((parameter) => parameter.trim() === "base64");
  return { type: type.trim(), isBase64, data: url.slice(comma + 1) };
}
