/** Digits of a text as numbers. */
export function digitsOf(text: string): number[] {
  const digits: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const digit = text.charCodeAt(index) - 48;
    if (digit >= 0 && digit <= 9) digits.push(digit);
  }
  return digits;
}

/** The sum of digits, each multiplied by its weight; weights repeat. */
export function weightedSum(digits: readonly number[], weights: readonly number[]): number {
  return digits.reduce((sum, digit, index) => sum + digit * (weights[index % weights.length] ?? 0), 0);
}

/** The check digit of payment cards and others (ISO/IEC 7812-1, annex B). */
export function isLuhn(digits: readonly number[]): boolean {
  let sum = 0;
  for (let index = digits.length - 1, doubles = false; index >= 0; index--, doubles = !doubles) {
    const digit = digits[index] ?? 0;
    sum += doubles ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit;
  }
  return sum % 10 === 0;
}

/** The remainder modulo 97 of a text in which letters stand for 10 to 35 (ISO/IEC 7064, MOD 97-10). */
export function mod97(text: string): number {
  let rest = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

/** The check digit of ISO/IEC 7064, MOD 11,10. */
export function isMod11And10(digits: readonly number[]): boolean {
  let product = 10;
  for (const digit of digits.slice(0, -1)) {
    const sum = (digit + product) % 10 || 10;
    product = (2 * sum) % 11;
  }
  return (11 - product) % 10 === digits.at(-1);
}

/** Tables of the dihedral group D5 in Verhoeff's scheme. */
const multiplied = [
  "0123456789",
  "1234067895",
  "2340178956",
  "3401289567",
  "4012395678",
  "5987604321",
  "6598710432",
  "7659821043",
  "8765932104",
  "9876543210",
].map(digitsOf);
const permuted = [
  "0123456789",
  "1576283094",
  "5803796142",
  "8916043527",
  "9453126870",
  "4286573901",
  "2793806415",
  "7046913258",
].map(digitsOf);

/** The check digit of Verhoeff's scheme. */
export function isVerhoeff(digits: readonly number[]): boolean {
  const check = digits
    .toReversed()
    .reduce((sum, digit, index) => multiplied[sum]?.[permuted[index % 8]?.[digit] ?? 0] ?? 0, 0);
  return check === 0;
}
