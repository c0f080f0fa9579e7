/**
 * A decimal that is not negative as a whole number and the places behind its point: 0.15 is 15 and 2. Places are negative for
 * large numbers.
 */
export function toDigits(value: number): [digits: bigint, places: number] {
  const [text = "0", exponent = "0"] = String(value).split("e");
  const [before = "0", behind = ""] = text.split(".");
  return [BigInt(before + behind), behind.length - Number(exponent)];
}

/** The product of two decimals that are not negative, without the noise of a multiplication. */
export function multiplyDecimals(one: number, other: number): number {
  const [[a, placesOfA], [b, placesOfB]] = [toDigits(one), toDigits(other)];
  return Number(`${a * b}e${-(placesOfA + placesOfB)}`);
}

/** A number times a power of ten, without the noise of a multiplication. */
export function shiftDecimal(value: number, places: number): number {
  const [digits, exponent = "0"] = String(value).split("e");
  return Number(`${digits}e${Number(exponent) + places}`);
}
