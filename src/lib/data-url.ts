/** A data URL taken apart (RFC 2397). */
export interface DataUrl {
  /** Media type in lower case, without parameters; empty where it is not told. */
  type: string;
  isBase64: boolean;
  /** What stands behind the comma, as it is written. */
  data: string;
}

/** Takes a data URL apart; undefined for other addresses. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = /^data:/i.test(url) ? url.indexOf(",") : -1;
  if (comma < 0) return undefined;
  const [type = "", ...parameters] = url.slice("data:".length, comma).toLowerCase().split(";");
  const isBase64 = parameters.some((parameter) => parameter.trim() === "base64");
  return { type: type.trim(), isBase64, data: url.slice(comma + 1) };
}
