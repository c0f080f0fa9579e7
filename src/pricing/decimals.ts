/**
 * A non-negative decimal as an integer and its decimal places: 0.15 is 15 and 2. Places are negative for
 * large numbers.
 */
export function toDigits(value: number): [digits: bigint, places: number] {
  const [text = "0", exponent = "0"] = String(value).split("e");
  const [before = "0", behind = ""] = text.split(".");
  return [BigInt(before + behind), behind.length - Number(exponent)];
}

/** The exact product of two non-negative decimals, without floating-point error. */
export function multiplyDecimals(one: number, other: number): number {
  const [[a, placesOfA], [b, placesOfB]] = [toDigits(one), toDigits(other)];
  return Number(`${a * b}e${-(placesOfA + placesOfB)}`);
}

/** A number times a power of ten, without floating-point error. */
export function shiftDecimal(value: number, places: number): number {
  const [digits, exponent = "0"] = String(value).split("e");
  return Number(`${digits}e${Number(exponent) + places}`);
}

/** A non-negative decimal without an exponent: 1e-7 is 0.0000001. */
export function toPlainText(value: number): string {
  const [all, places] = toDigits(value);
  if (places <= 0) return String(all * 10n ** BigInt(-places));
  const digits = String(all).padStart(places + 1, "0");
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
  return text.replace(/\.?0+$/, "");
}
