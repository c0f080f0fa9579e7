import { isObject, parseJson } from "../../lib/json.ts";
import { toSnake } from "../../lib/member-names.ts";
import { kindOfMember, plainName } from "../../lib/secret-names.ts";

/** Members of the control plane whose values are secrets, besides those that are anywhere. */
const secretMembers = new Set(["key", "token", "clientauth", "vaultsecretid", "customheaders"]);

/**
 * Whether a member's name, or a path to one, says that its value is a secret.
 *
 * @param settings Settings of providers that are credentials, by their names in snake_case.
 */
export function isSecretName(name: string, settings: ReadonlySet<string>): boolean {
  const plain = plainName(name);
  return (
    secretMembers.has(plain) ||
    kindOfMember(name) === "secret" ||
    settings.has(toSnake(name.slice(name.lastIndexOf(".") + 1)).replaceAll("-", "_")) ||
    /(?:secret|password|passphrase|token|privatekey|apikey|accesskey|accesskeyid)$/.test(plain)
  );
}

/** Whether an object says `{path, value}` of a secret, as operations of identity providers do. */
function setsSecret(value: Record<string, unknown>): boolean {
  return Object.entries(value).some(
    ([name, path]) => plainName(name) === "path" && typeof path === "string" && /secret|password|token/i.test(path),
  );
}

/** What stands where a secret stood. */
const hidden = "*****";

/** JSON in texts is read this often, one inside of the other; what lies deeper is not shown. */
const maxNesting = 4;

/** A text without secrets: JSON is looked into, addresses lose what they may carry one in. */
function hideInText(text: string, nesting: number, settings: ReadonlySet<string>): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return hideInAddress(text);
  if (!/^\s*[[{"]/.test(text)) return text;
  const value = parseJson(text);
  if (value === undefined || typeof value === "number") return text;
  return nesting === maxNesting ? hidden : JSON.stringify(hide(value, nesting + 1, settings));
}

/** An address without its user, its query and its fragment. */
function hideInAddress(text: string): string {
  const plain = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${hidden}@`);
  const end = plain.search(/[?#]/);
  return end < 0 ? plain : `${plain.slice(0, end)}?${hidden}`;
}

/** Most items of a list, and members of an object, that are shown: a row stores no more characters than this. */
const mostShown = 16_384;

function hide(value: unknown, nesting: number, settings: ReadonlySet<string>): unknown {
  if (typeof value === "string") return hideInText(value, nesting, settings);
  if (Array.isArray(value)) return value.slice(0, mostShown).map((item) => hide(item, nesting, settings));
  if (!isObject(value)) return value;
  const holdsSecret = setsSecret(value);
  const entries = Object.entries(value).slice(0, mostShown);
  const shown = entries.map(([name, member]) => {
    // headers of webhooks and of hosts carry credentials under names of any kind
    const isSecret =
      isSecretName(name, settings) || plainName(name) === "headers" || (holdsSecret && plainName(name) === "value");
    return [name, isSecret && member !== null ? hidden : hide(member, nesting, settings)];
  });
  return Object.fromEntries(shown);
}

/**
 * A value without the secrets in it, those inside of texts too.
 *
 * @param settings As those of `isSecretName`.
 */
export function hideSecrets(value: unknown, settings: ReadonlySet<string>): unknown {
  return hide(value, 0, settings);
}
