import { digitsOf, isLuhn, isMod11And10, isVerhoeff, weightedSum } from "./checksums.ts";
import { ascii, isDigitAt, isWordCode, type ValueKind } from "./finder.ts";

/** The form of one country's number, and its check digits. */
interface NationalForm {
  /** Digits with which it begins: how many stand together. 0: it begins with a letter. */
  readonly lead: readonly number[];
  /** Sticky, and bounded in length. */
  readonly pattern: RegExp;
  isValid?(found: string): boolean;
}

const dniLetters = "TRWAGMYFPDXBNJZSQVHLCKE";

/** Spain: the letter is the number modulo 23. */
function isDni(found: string): boolean {
  const number = found.toUpperCase().replace(/^[XYZ]/, (letter) => String("XYZ".indexOf(letter)));
  return dniLetters[Number(number.replace(/\D/g, "")) % 23] === number.at(-1);
}

/** Values of characters at odd places of an Italian fiscal code, digits and letters alike. */
const oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function isFiscalCode(found: string): boolean {
  const values = [...found.toUpperCase()].map((character) => Number.parseInt(character, 36));
  const placeOf = (value: number) => (value > 9 ? value - 10 : value);
  const sum = values
    .slice(0, 15)
    .reduce((all, value, index) => all + (index % 2 === 0 ? (oddValues[placeOf(value)] ?? 0) : placeOf(value)), 0);
  return sum % 26 === placeOf(values[15] ?? 0);
}

/** France: two digits complete the number to a multiple of 97. */
function isNir(found: string): boolean {
  const digits = found.replace(/\D/g, "");
  return 97 - (Number(digits.slice(0, 13)) % 97) === Number(digits.slice(13));
}

/** Germany: of the first ten digits one occurs twice or three times. */
function isTaxId(found: string): boolean {
  const digits = digitsOf(found);
  const counts = Array.from({ length: 10 }, (_, one) => digits.slice(0, 10).filter((digit) => digit === one).length);
  return counts.filter((count) => count > 1).length === 1 && isMod11And10(digits);
}

/** Brazil: two check digits modulo 11. */
function isCpf(found: string): boolean {
  const digits = digitsOf(found);
  if (new Set(digits).size === 1) return false;
  return [9, 10].every((length) => {
    const sum = digits.slice(0, length).reduce((all, digit, index) => all + digit * (length + 1 - index), 0);
    return ((sum * 10) % 11) % 10 === digits[length];
  });
}

/** China: a check digit modulo 11, of which X is ten (GB 11643). */
function isResidentId(found: string): boolean {
  const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
  return "10X98765432"[weightedSum(digitsOf(found.slice(0, 17)), weights) % 11] === found.at(-1)?.toUpperCase();
}

/** Poland: a check digit modulo 10. */
function isPesel(found: string): boolean {
  return weightedSum(digitsOf(found), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;
}

/** Australia: the weighted sum is a multiple of 11. Canada: Luhn. */
function isTfnOrSin(found: string): boolean {
  const digits = digitsOf(found);
  return isLuhn(digits) || weightedSum(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0;
}

/** Switzerland: the check digit of EAN-13. */
function isAhv(found: string): boolean {
  return weightedSum(digitsOf(found), [1, 3]) % 10 === 0;
}

const forms: readonly NationalForm[] = [
  // Switzerland, Brazil
  { lead: [3], pattern: /756\.\d{4}\.\d{4}\.\d\d/y, isValid: isAhv },
  { lead: [3], pattern: /\d{3}\.\d{3}\.\d{3}-\d\d/y, isValid: isCpf },
  // Canada and Australia
  { lead: [3], pattern: /[1-9]\d\d([ -])\d{3}\1\d{3}/y, isValid: isTfnOrSin },
  // China, India
  { lead: [17, 18], pattern: /[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])\d{5}[\dXx]/y, isValid: isResidentId },
  { lead: [4], pattern: /[2-9]\d{3}([ -])\d{4}\1\d{4}/y, isValid: (found) => isVerhoeff(digitsOf(found)) },
  { lead: [12], pattern: /[2-9]\d{11}/y, isValid: (found) => isVerhoeff(digitsOf(found)) },
  { lead: [0], pattern: /[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]/y },
  // France
  {
    lead: [1, 13, 15],
    pattern: /[12] ?\d\d ?(?:0[1-9]|[1-9]\d) ?(?:\d\d|2[ABab]) ?\d{3} ?\d{3} ?\d\d/y,
    isValid: (found) => isNir(found.replace(/2A/i, "19").replace(/2B/i, "18")),
  },
  // Poland, Germany
  { lead: [11], pattern: /\d{4}[0-3]\d{6}/y, isValid: isPesel },
  { lead: [11], pattern: /[1-9]\d{10}/y, isValid: isTaxId },
  { lead: [2], pattern: /[1-9]\d \d{3} \d{3} \d{3}/y, isValid: isTaxId },
  // Sweden
  { lead: [6], pattern: /\d\d(?:0[1-9]|1[0-2])[0-9]\d[-+]\d{4}/y, isValid: (found) => isLuhn(digitsOf(found)) },
  // Spain, Italy, United Kingdom
  { lead: [8], pattern: /\d{8}[- ]?[A-Za-z]/y, isValid: isDni },
  { lead: [0], pattern: /[XYZxyz][- ]?\d{7}[- ]?[A-Za-z]/y, isValid: isDni },
  { lead: [0], pattern: /[A-Za-z]{6}\d\d[A-EHLMPR-Ta-ehlmpr-t]\d\d[A-Za-z]\d{3}[A-Za-z]/y, isValid: isFiscalCode },
  { lead: [0], pattern: /[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]/y },
];

const mostLead = 20;

/** How many digits stand together, at most 20. */
function leadOf(text: string, at: number): number {
  let length = 0;
  while (length < mostLead && isDigitAt(text, at + length)) length++;
  return length;
}

/** National identity numbers, except those of the United States. */
export const nationalId: ValueKind = {
  name: "NATIONAL_ID",
  longest: 22,
  starts: ascii.digits + ascii.letters,
  end(text, at) {
    const lead = leadOf(text, at);
    for (const { lead: leads, pattern, isValid } of forms) {
      if (!leads.includes(lead)) continue;
      pattern.lastIndex = at;
      const found = pattern.exec(text)?.[0];
      if (found === undefined || isWordCode(text.charCodeAt(at + found.length))) continue;
      if (isValid?.(found) !== false) return at + found.length;
    }
    return undefined;
  },
};

/** Social security numbers and taxpayer numbers of the United States. */
export const ssn: ValueKind = {
  name: "SSN",
  longest: 11,
  starts: ascii.digits,
  end(text, at) {
    ssnForm.lastIndex = at;
    const [found, area = "", separator, group = "", serial] = ssnForm.exec(text) ?? [];
    if (found === undefined || separator === undefined || isWordCode(text.charCodeAt(at + found.length)))
      return undefined;
    if (area === "000" || area === "666" || group === "00" || serial === "0000") return undefined;
    // areas from 900 are taxpayer numbers, whose groups are 50 to 99
    return area.startsWith("9") && Number(group) < 50 ? undefined : at + found.length;
  },
};
const ssnForm = /(\d{3})([- ])(\d\d)\2(\d{4})/y;
