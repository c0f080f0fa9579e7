const dateForm = /^(\d{4})-(\d\d)-(\d\d)$/;
const timeForm = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i;
const hostForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const byteForm = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const uuidForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const dotAtomForm = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const quotedForm = /^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/;
const pointerForm = /^(?:\/(?:[^~/]|~[01])*)*$/;
const relativePointerForm = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/;
/** Characters of a URI, in any of its parts (RFC 3986, section 2). */
const uriCharacters = /^(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*$/i;
const schemeForm = /^[a-z][a-z0-9+.-]*:/i;
const authorityForm = /^(?:[^@[\]]*@)?(?:\[([0-9a-f:.]+)\]|[^:@[\]]*)(?::\d*)?$/i;

function isDate(text: string): boolean {
  const [, year, month, day] = dateForm.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined || month < 1 || month > 12) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return day >= 1 && day <= (days ?? 0);
}

function isTime(text: string): boolean {
  const [found, hour, minute, second, sign, offsetHour = "0", offsetMinute = "0"] = timeForm.exec(text) ?? [];
  if (found === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return false;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return false;
  if (Number(second) < 60) return true;
  // a leap second is the last second of a day in UTC
  const offset = (sign === "-" ? -1 : 1) * (Number(offsetHour) * 60 + Number(offsetMinute));
  return (Number(hour) * 60 + Number(minute) - offset + 1_440) % 1_440 === 1_439;
}

function isDateTime(text: string): boolean {
  return /^[tT ]$/.test(text[10] ?? "") && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** A duration (RFC 3339, appendix A): units in descending order without gaps; weeks stand alone. */
function isDuration(text: string): boolean {
  if (/^P\d+W$/.test(text)) return true;
  const [found, date = "", time] = /^P([^T]*)(?:T(.+))?$/s.exec(text) ?? [];
  if (found === undefined || (date === "" && time === undefined)) return false;
  const isDatePart = date === "" || /^(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)$/.test(date);
  return isDatePart && (time === undefined || /^(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)$/.test(time));
}

function isHost(text: string): boolean {
  return text.length <= 253 && hostForm.test(text);
}

function isIpv4(text: string): boolean {
  const parts = text.length > 15 ? [] : text.split(".");
  return parts.length === 4 && parts.every((part) => byteForm.test(part));
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const endsInIpv4 = last.includes(".");
  if (endsInIpv4 && (!isIpv4(last) || text.endsWith("::"))) return false;
  const own = endsInIpv4 ? groups.slice(0, -1) : groups;
  const count = own.length + (endsInIpv4 ? 2 : 0);
  if (!own.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return false;
  return halves.length === 1 ? count === 8 : halves.length === 2 && count <= 7;
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [name, host] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || name.length > 64) return false;
  if (!dotAtomForm.test(name) && !quotedForm.test(name)) return false;
  if (!host.startsWith("[") || !host.endsWith("]")) return isHost(host);
  const address = host.slice(1, -1);
  return /^ipv6:/i.test(address) ? isIpv6(address.slice(5)) : isIpv4(address);
}

function isUriReference(text: string): boolean {
  const hash = text.indexOf("#");
  const fragment = hash < 0 ? "" : text.slice(hash + 1);
  const whole = hash < 0 ? text : text.slice(0, hash);
  const rest = whole.slice(schemeForm.exec(whole)?.[0].length ?? 0);
  if (!uriCharacters.test(fragment)) return false;
  if (!rest.startsWith("//")) return uriCharacters.test(rest) && (rest !== whole || !/^[^/?]*:/.test(rest));
  const end = rest.slice(2).search(/[/?]/);
  const authority = end < 0 ? rest.slice(2) : rest.slice(2, 2 + end);
  const [found, address] = authorityForm.exec(authority) ?? [];
  if (found === undefined || (address !== undefined && !isIpv6(address))) return false;
  return uriCharacters.test(authority.replace(/[[\]]/g, "")) && uriCharacters.test(end < 0 ? "" : rest.slice(2 + end));
}

/** String formats of JSON Schema (draft 2020-12, section 7.3); each check takes time linear in the text. */
export const jsonFormats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  "date-time": isDateTime,
  duration: isDuration,
  email: isEmail,
  hostname: isHost,
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: (text) => schemeForm.test(text) && isUriReference(text),
  "uri-reference": isUriReference,
  uuid: (text) => uuidForm.test(text),
  "json-pointer": (text) => pointerForm.test(text),
  "relative-json-pointer": (text) => relativePointerForm.test(text),
};
