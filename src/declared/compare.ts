import { maskAddress as maskHook } from "../admin/core/addresses.ts";
import { isSecretName } from "../admin/core/hide-secrets.ts";
import { maskSecret } from "../auth/api-key.ts";
import { isObject } from "../lib/json.ts";
import { maskAddress } from "../lib/secret-values.ts";
import type { Fields } from "./document.ts";
import { UnsetVariable } from "./environment-values.ts";

/** What stands in masks for the characters of a secret. */
const stars = "*****";

/** Whether a value that is shown may be the mask of a secret. */
export const isMask = (shown: unknown): shown is string => typeof shown === "string" && shown.includes(stars);

/** Whether a wanted value is the one that a mask stands for, as far as the mask shows it. */
function fitsMask(wanted: unknown, mask: string): boolean {
  if (wanted === undefined || wanted === null) return false;
  if (wanted instanceof UnsetVariable || wanted === mask || mask === stars) return true;
  if (typeof wanted !== "string") return false;
  return (
    maskSecret(wanted) === mask || maskAddress(wanted) === mask || (URL.canParse(wanted) && maskHook(wanted) === mask)
  );
}

/** Whether a record has what is wanted. Members that are undefined count as absent. */
export function isSame(wanted: unknown, shown: unknown): boolean {
  if (isMask(shown)) return fitsMask(wanted, shown);
  if (wanted instanceof UnsetVariable) return false;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(shown) || shown.length !== wanted.length) return false;
    return wanted.every((item, index) => isSame(item, shown[index]));
  }
  if (!isObject(wanted)) return wanted === shown;
  if (!isObject(shown)) return false;
  const names = new Set([...Object.keys(wanted), ...Object.keys(shown)]);
  return [...names].every((name) => isSame(wanted[name], shown[name]));
}

/** A value with masks in place of variables that are not set: the secrets that are stored stay. */
export function withMasks(wanted: unknown, shown: unknown): unknown {
  if (wanted instanceof UnsetVariable) return isMask(shown) ? shown : wanted;
  if (Array.isArray(wanted)) {
    const items: readonly unknown[] = Array.isArray(shown) ? shown : [];
    return wanted.map((item, index) => withMasks(item, items[index]));
  }
  if (!isObject(wanted)) return wanted;
  const members = isObject(shown) ? shown : {};
  return Object.fromEntries(Object.entries(wanted).map(([name, one]) => [name, withMasks(one, members[name])]));
}

/** A value without the members that are masks: these are not sent back. */
export function withoutMasks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMasks);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, one]) => !isMask(one));
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutMasks(one)]));
}

/** A value and nulls for what a record has besides, so that it is removed. */
export function withNulls(wanted: unknown, shown: unknown, depth = 1): unknown {
  if (!isObject(shown)) return wanted;
  if (!isObject(wanted)) return wanted;
  const names = new Set([...Object.keys(wanted), ...Object.keys(shown)]);
  const entries = [...names].map((name): [string, unknown] => {
    const [one, other] = [wanted[name], shown[name]];
    if (one === undefined) return [name, null];
    return [name, depth > 0 ? withNulls(one, other, depth - 1) : one];
  });
  return Object.fromEntries(entries);
}

/** One difference between a file and a record. */
export interface Difference {
  /** Such as `config.targets.0.provider`. */
  readonly path: string;
  /** As JSON; absent: the record has none, or the file none. */
  readonly from?: string;
  readonly to?: string;
}

/** Longest value of a difference, in characters. */
const maxShown = 120;

/** How values are shown. */
interface Shown {
  /** Names of variables by their values. */
  readonly variables: ReadonlyMap<string, string>;
  /** Settings of providers that are secret. */
  readonly secrets: ReadonlySet<string>;
}

function show(value: unknown, path: string, { variables, secrets }: Shown): string {
  if (value instanceof UnsetVariable) return `$${value.name}`;
  const name = typeof value === "string" ? variables.get(value) : undefined;
  if (name !== undefined) return `$${name}`;
  const isSecret = path.split(".").some((part) => isSecretName(part, secrets) || part === "custom_headers");
  if (isSecret && value !== null && !isMask(value)) return "(secret)";
  const text = JSON.stringify(value) ?? "null";
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

/** Most differences of one record that are shown. */
const maxDifferences = 50;

/** The differences between two values, leaf by leaf. */
export function differencesOf(wanted: unknown, shown: unknown, how: Shown, path = ""): Difference[] {
  if (isSame(wanted, shown)) return [];
  const isNested = (isObject(wanted) && isObject(shown)) || (Array.isArray(wanted) && Array.isArray(shown));
  if (isNested) {
    const [one, other] = [wanted as Fields, shown as Fields]; // lists have their indexes as names
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return names
      .flatMap((name) => differencesOf(one[name], other[name], how, path === "" ? name : `${path}.${name}`))
      .slice(0, maxDifferences);
  }
  return [
    {
      path,
      ...(shown !== undefined && { from: show(shown, path, how) }),
      ...(wanted !== undefined && { to: show(wanted, path, how) }),
    },
  ];
}
