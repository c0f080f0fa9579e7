// The switches of `security_settings`, by whom they are about and what of it: `membersViewConfigs` is what members may view.

import { text } from "../text/text.ts";

const words = text.permissions;

/** What one role may do with one kind of thing: the names of the switches that say so. */
interface PermissionLine {
  readonly thing: string;
  readonly view?: string;
  readonly change?: string;
}

interface RolePermissions {
  readonly role: string;
  readonly lines: readonly PermissionLine[];
}

const pattern = /^(organisationAdmins|managers|members)(View|Write|Update)(\w+)$/;

/** Switches by role, and by the thing they are about, in the order of the words for things; unknown ones come last. */
export function groupPermissions(names: readonly string[]): readonly RolePermissions[] {
  const known = Object.keys(words.things);
  const rankOf = (thing: string) => (known.includes(thing) ? known.indexOf(thing) : known.length);
  return Object.keys(words.roles).map((role) => {
    const lines = new Map<string, PermissionLine>();
    for (const name of names) {
      const [, of, verb, thing = ""] = pattern.exec(name) ?? [];
      if (of !== role) continue;
      const side = verb === "View" ? { view: name } : { change: name };
      lines.set(thing, { thing, ...lines.get(thing), ...side });
    }
    return { role, lines: [...lines.values()].toSorted((one, other) => rankOf(one.thing) - rankOf(other.thing)) };
  });
}

/** What a person reads for a thing. */
export const thingOf = (thing: string): string => words.things[thing] ?? thing;
