import { isObject, parseJson } from "../../lib/json.ts";
import { toSnake } from "../../lib/member-names.ts";
import { kindOfMember, plainName } from "../../lib/secret-names.ts";
import { maskPath } from "../../lib/secret-values.ts";
import { isPolicyKey } from "../../schemas/policies.ts";

/** Fields of the control plane that are secret, besides those that are secret everywhere. `examples` and `contents` are contents of requests. */
const secretFields = new Set([
  "key",
  "token",
  "clientauth",
  "vaultsecretid",
  "customheaders",
  "alertwebhook",
  "destinations",
  "examples",
  "contents",
]);

/**
 * Whether a field's name, or a path to it, means that its value is a secret.
 *
 * @param settings Settings of providers that are credentials, by their names in snake_case.
 */
export function isSecretName(name: string, settings: ReadonlySet<string>): boolean {
  const plain = plainName(name);
  return (
    secretFields.has(plain) ||
    kindOfMember(name) === "secret" ||
    settings.has(toSnake(name.slice(name.lastIndexOf(".") + 1)).replaceAll("-", "_")) ||
    /(?:secret|password|passphrase|token|privatekey|apikey|accesskey|accesskeyid)$/.test(plain)
  );
}

/** Whether an object is `{path, value}` of a secret, as operations of identity providers are. */
function setsSecret(value: Record<string, unknown>): boolean {
  return Object.entries(value).some(
    ([name, path]) => plainName(name) === "path" && typeof path === "string" && /secret|password|token/i.test(path),
  );
}

/** Replaces a secret. */
const hidden = "*****";

/** JSON inside strings is parsed up to this depth; what lies deeper is hidden. */
const maxNesting = 4;

/** A string without secrets: JSON in it is searched, and addresses lose the parts that may hold one. */
function hideInText(text: string, nesting: number, settings: ReadonlySet<string>): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return hideInAddress(text);
  if (!/^\s*[[{"]/.test(text)) return text;
  const value = parseJson(text);
  if (value === undefined || typeof value === "number") return text;
  return nesting === maxNesting ? hidden : JSON.stringify(hide(value, nesting + 1, settings));
}

/** An address without its user, query and fragment, and without segments of its path that look random. */
function hideInAddress(text: string): string {
  const plain = maskPath(text).replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${hidden}@`);
  const end = plain.search(/[?#]/);
  return end < 0 ? plain : `${plain.slice(0, end)}?${hidden}`;
}

/** Most items of a list, and fields of an object, that are shown: a row stores no more characters than this. */
const mostShown = 16_384;

/** Lists of policies whose items name what the policy looks at as `key`. */
const keyLists = new Set(["conditions", "groupby"]);

/** An item of such a list. A `key` that does not name what policies look at may be a secret. */
function hideInItem(item: unknown, nesting: number, settings: ReadonlySet<string>): unknown {
  const shown = hide(item, nesting, settings);
  return isObject(item) && isObject(shown) && isPolicyKey(item.key) ? { ...shown, key: item.key } : shown;
}

function hideMember(name: string, member: unknown, nesting: number, settings: ReadonlySet<string>): unknown {
  if (!Array.isArray(member) || !keyLists.has(plainName(name))) return hide(member, nesting, settings);
  return member.slice(0, mostShown).map((item) => hideInItem(item, nesting, settings));
}

function hide(value: unknown, nesting: number, settings: ReadonlySet<string>): unknown {
  if (typeof value === "string") return hideInText(value, nesting, settings);
  if (Array.isArray(value)) return value.slice(0, mostShown).map((item) => hide(item, nesting, settings));
  if (!isObject(value)) return value;
  const holdsSecret = setsSecret(value);
  const entries = Object.entries(value).slice(0, mostShown);
  const shown = entries.map(([name, member]) => {
    // headers of webhooks and hosts may carry credentials under any name
    const isSecret =
      isSecretName(name, settings) || plainName(name) === "headers" || (holdsSecret && plainName(name) === "value");
    return [name, isSecret && member !== null ? hidden : hideMember(name, member, nesting, settings)];
  });
  return Object.fromEntries(shown);
}

/**
 * A value without the secrets in it, including those in JSON strings.
 *
 * @param settings As those of `isSecretName`.
 */
export function hideSecrets(value: unknown, settings: ReadonlySet<string>): unknown {
  return hide(value, 0, settings);
}
