// The switches of `security_settings`, by whom they are about and what of it: `membersViewConfigs` is what members may view.

import { text } from "../text/frame.ts";

const words = text.permissions;

export const verbs = ["view", "change"] as const;
type Verb = (typeof verbs)[number];

/** What decides whether a role may do something: a switch, or nothing that could be changed. Undefined: there is nothing to do. */
type Decision = { readonly name: string } | "always" | "never" | undefined;

/** One kind of thing, and what decides on it for each role. */
interface PermissionRow {
  readonly thing: string;
  readonly decide: (role: string, verb: Verb) => Decision;
}

export const roles: readonly string[] = Object.keys(words.roles);

const pattern = /^(organisationAdmins|managers|members)(View|Write|Update)(\w+)$/;

/** Things that can only be viewed. */
const viewed = new Set(["LogMetadata", "Logs", "AllData", "Analytics"]);
/** Things that every role may view, and that members cannot change. */
const managed = new Set(["McpServers", "Ws", "WsUsers", "WsIntegrations", "WsMcpIntegrations"]);
/** Things that switches hide from admins of the organisation too. */
const hidden = new Set(["LogMetadata", "Logs"]);

/** What holds without a switch. */
function decideWithout(role: string, verb: Verb, thing: string): Decision {
  if (verb === "change" && viewed.has(thing)) return undefined;
  if (role === "organisationAdmins") return hidden.has(thing) ? undefined : "always";
  if (!managed.has(thing)) return undefined;
  if (verb === "view") return "always";
  return role === "members" ? "never" : undefined;
}

/** Switches by the thing they are about, in the order of the words for things; unknown ones come last. */
export function permissionRows(names: readonly string[]): readonly PermissionRow[] {
  const switches = new Map<string, string>();
  const things = new Set<string>();
  for (const name of names) {
    const [, role = "", verb, thing] = pattern.exec(name) ?? [];
    if (thing === undefined) continue;
    things.add(thing);
    switches.set(`${role} ${verb === "View" ? "view" : "change"} ${thing}`, name);
  }
  const known = Object.keys(words.things);
  const rankOf = (thing: string) => (known.includes(thing) ? known.indexOf(thing) : known.length);
  return [...things]
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .map((thing) => ({
      thing,
      decide(role, verb) {
        const name = switches.get(`${role} ${verb} ${thing}`);
        return name === undefined ? decideWithout(role, verb, thing) : { name };
      },
    }));
}

/** What a person reads for a thing. */
export const thingOf = (thing: string): string => words.things[thing] ?? thing;
