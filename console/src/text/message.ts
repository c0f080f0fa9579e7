import { IntlMessageFormat } from "intl-messageformat";
import { locale } from "./locale.ts";

/** Words with places for values, as a function of these values. */
export type Message<Values> = (values: Values) => string;

/** What a message may be filled with. A number is shown as it is, by `{count, number}` or as `#` in the form of the locale. */
type Fill = Readonly<Record<string, string | number | boolean>>;

/**
 * A message of ICU MessageFormat, for example `{count, plural, one {# request} other {# requests}}`. Plural forms are those
 * of the locale. It is read when it is first shown.
 */
export function message<Values extends Fill>(pattern: string): Message<Values> & { readonly pattern: string } {
  let format: IntlMessageFormat | undefined;
  const fill = (values: Values) => {
    format ??= new IntlMessageFormat(pattern, locale(), undefined, { ignoreTag: true });
    return String(format.format(values));
  };
  return Object.assign(fill, { pattern });
}
