import ipaddr from "ipaddr.js";
import { isLuhn, mod97 } from "./checksums.ts";
import { ascii, isDigitAt, isWordCode, type ValueKind } from "./finder.ts";
import { nationalId, ssn } from "./national-ids.ts";

/** Letters of the Latin, Greek and Cyrillic scripts beyond ASCII. */
const moreLetters = "\\u00c0-\\u024f\\u0370-\\u052f";
const localForm = new RegExp(`[A-Za-z0-9_%+.'${moreLetters}-]`);
const mailForm = new RegExp(
  `@(?:[A-Za-z0-9${moreLetters}][A-Za-z0-9${moreLetters}-]{0,62}\\.){1,8}[A-Za-z${moreLetters}][A-Za-z0-9${moreLetters}-]{1,62}`,
  "y",
);
const maxLocal = 64;
/** Longest address of a mailbox (RFC 5321, section 4.5.3.1.3). */
const maxMail = 254;

const isLocal = (text: string, index: number) => localForm.test(text.charAt(index));

const emailAddress: ValueKind = {
  name: "EMAIL_ADDRESS",
  longest: maxMail,
  starts: `${ascii.letters}${ascii.digits}_%+`,
  startsBeyondAscii: true,
  end(text, at) {
    // letters of an escape (`\n`) are not part of an address
    const isEscape = text.charCodeAt(at - 2) === 0x5c;
    if (!isLocal(text, at) || (at > 0 && !isEscape && isLocal(text, at - 1))) return undefined;
    let index = at + 1;
    while (index - at <= maxLocal && isLocal(text, index)) index++;
    if (text.charCodeAt(index) !== 0x40) return undefined;
    mailForm.lastIndex = index;
    const found = mailForm.exec(text)?.[0];
    if (found === undefined) return undefined;
    const end = index + found.replace(/-+$/, "").length;
    return end - at > maxMail ? undefined : end;
  },
};

/** Characters between groups of digits. */
const separators = " -.\u00a0\u2011";
/** First digits of payment networks. */
const networks = /^(?:[3-6]|2(?:2[2-9]|[3-6]|7[01]|720))/;
const leastCardDigits = 13;
const mostCardDigits = 19;

const creditCard: ValueKind = {
  name: "CREDIT_CARD",
  longest: 25,
  starts: "23456",
  end(text, at) {
    const digits: number[] = [];
    let end: number | undefined;
    let group = 0;
    for (let index = at; digits.length <= mostCardDigits; index++) {
      if (isDigitAt(text, index)) {
        digits.push(text.charCodeAt(index) - 48);
        group++;
        continue;
      }
      // a group of digits ends
      const fits = digits.length >= leastCardDigits && digits.length <= mostCardDigits;
      if (fits && !isWordCode(text.charCodeAt(index)) && isLuhn(digits) && new Set(digits).size > 1) end = index;
      if (group < 3 || !separators.includes(text.charAt(index)) || !isDigitAt(text, index + 1)) break;
      group = 0;
    }
    return end !== undefined && networks.test(digits.join("")) ? end : undefined;
  },
};

/** Lengths of account numbers by country (ISO 13616 registry). */
const ibanLengths = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 " +
    "FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 " +
    "LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 " +
    "RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);

const iban: ValueKind = {
  name: "IBAN",
  longest: 50,
  starts: ascii.letters,
  end(text, at) {
    if (!isDigitAt(text, at + 2) || !isDigitAt(text, at + 3)) return undefined;
    const length = ibanLengths.get(text.slice(at, at + 2).toUpperCase());
    if (length === undefined) return undefined;
    let plain = "";
    let index = at;
    for (; plain.length < length && index - at < this.longest; index++) {
      const code = text.charCodeAt(index);
      if (isWordCode(code)) plain += text.charAt(index);
      else if ((code !== 0x20 && code !== 0x2d && code !== 0xa0) || !isWordCode(text.charCodeAt(index + 1)))
        return undefined;
    }
    if (plain.length < length || isWordCode(text.charCodeAt(index))) return undefined;
    return mod97((plain.slice(4) + plain.slice(0, 4)).toUpperCase()) === 1 ? index : undefined;
  },
};

const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4Form = new RegExp(`${byte}(?:\\.${byte}){3}(?!\\d)`, "y");
const ipv6Form = /[0-9A-Fa-f:.]{2,45}/y;

const ipAddress: ValueKind = {
  name: "IP_ADDRESS",
  longest: 45,
  starts: `${ascii.digits}abcdefABCDEF`,
  end(text, at) {
    if (isDigitAt(text, at)) {
      ipv4Form.lastIndex = at;
      const found = ipv4Form.exec(text)?.[0];
      if (found !== undefined && !isWordCode(text.charCodeAt(at + found.length))) return at + found.length;
    }
    ipv6Form.lastIndex = at;
    const found = (ipv6Form.exec(text)?.[0] ?? "").replace(/[:.]+$/, "");
    const colons = found.split(":").length - 1;
    // `a::b` may be a name in a program
    if (colons < 2 || (colons < 3 && !/\d/.test(found)) || isWordCode(text.charCodeAt(at + found.length)))
      return undefined;
    return ipaddr.IPv6.isValid(found) ? at + found.length : undefined;
  },
};

/** Forms of telephone numbers: international, North American, and national with a leading zero. */
const phoneForms = [
  /(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(0?\d{1,5}\))?(?:[ ./-]?\d){6,14}/y,
  /(?:1[-. ])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ])[2-9]\d\d[-. ]\d{4}/y,
  /0[1-9](?:[ .-]\d\d){4}/y,
  /(?:\(0[1-9]\d{1,4}\)|0[1-9]\d{1,4})[ /-]\d{3,8}(?:[ -]\d{3,6}){0,2}/y,
  /0[1-9]\d{8,9}/y,
];

const phoneNumber: ValueKind = {
  name: "PHONE_NUMBER",
  longest: 50,
  starts: "+(0123456789",
  end(text, at) {
    for (const form of phoneForms) {
      form.lastIndex = at;
      const found = form.exec(text)?.[0];
      if (found === undefined || isWordCode(text.charCodeAt(at + found.length))) continue;
      const count = found.replace(/\D/g, "").length;
      if (count >= 8 && count <= 17) return at + found.length;
    }
    return undefined;
  },
};

/** Kinds of personal data that have a form. Names and addresses of places have none. */
export const personalKinds: readonly ValueKind[] = [
  emailAddress,
  creditCard,
  iban,
  ssn,
  nationalId,
  ipAddress,
  phoneNumber,
];
