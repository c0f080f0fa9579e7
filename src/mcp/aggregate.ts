import type { CapabilityKind, McpMember, McpServer } from "../control/mcp/mcp-server.ts";
import { toPlainName } from "../control/mcp/plain-name.ts";
import { isObject } from "../lib/json.ts";
import { visibleDefinitions } from "./visible-definitions.ts";

type Definition = Readonly<Record<string, unknown>>;

/** A capability of a member, as callers of the joined server see it. */
interface JoinedEntry {
  /** Its name there. */
  readonly name: string;
  readonly member: McpMember;
  /** Its name at the member. */
  readonly original: string;
  readonly definition: Definition;
}

/** A URI of a member as callers of the joined server see it. */
export function toJoinedUri(prefix: string, uri: string): string {
  return `gw+${prefix}+${uri}`;
}

/** The member and the URI that a joined URI stands for. */
function fromJoinedUri(
  { members }: { members: readonly McpMember[] },
  uri: string,
): { member: McpMember; uri: string } | undefined {
  const [, prefix, rest] = /^gw\+([a-z0-9-]{1,24})\+(.+)$/s.exec(uri) ?? [];
  const member = members.find((one) => one.prefix === prefix);
  return member && rest !== undefined ? { member, uri: rest } : undefined;
}

/** Links to resources in the metadata of a tool, such as those of its user interface. */
function withJoinedLinks(value: unknown, prefix: string, depth = 0): unknown {
  if (typeof value === "string") return value.startsWith("ui://") ? toJoinedUri(prefix, value) : value;
  if (depth > 8) return value;
  if (Array.isArray(value)) return value.map((one) => withJoinedLinks(one, prefix, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withJoinedLinks(one, prefix, depth + 1)]),
  );
}

/** Members that a caller may use. */
export function openMembers(server: McpServer, userId: string | null): McpMember[] {
  const members = server.aggregate?.members ?? [];
  return members.filter((member) => member.server.isActive && member.server.isOpenTo(userId));
}

/** Tools or prompts of the members under the names of the joined server, those that clash without a prefix left out. */
function joinNamed(server: McpServer, kind: "tool" | "prompt", members: readonly McpMember[]): JoinedEntry[] {
  const all = members.flatMap((member) =>
    visibleDefinitions(member.server, kind)
      .filter(({ name }) => (member.include?.has(name) ?? true) && !member.exclude.has(name))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, definition }) => ({ member, original: name, definition })),
  );
  const counts = new Map<string, number>();
  for (const { original } of all) counts.set(original, (counts.get(original) ?? 0) + 1);
  const mode = server.aggregate?.prefixMode ?? "always";
  const taken = new Set<string>();
  return all.flatMap(({ member, original, definition }): JoinedEntry[] => {
    const clashes = (counts.get(original) ?? 0) > 1;
    if (mode === "never" && clashes) return [];
    const isPrefixed = mode === "always" || (mode === "conditional" && clashes);
    const name = toPlainName(isPrefixed ? `${member.prefix}__${original}` : original);
    if (taken.has(name) || server.disabled[kind].has(name)) return [];
    taken.add(name);
    const meta = definition._meta === undefined ? {} : { _meta: withJoinedLinks(definition._meta, member.prefix) };
    return [{ name, member, original, definition: { ...definition, name, ...meta } }];
  });
}

/** Resources or templates of the members under the URIs of the joined server. */
function joinUris(server: McpServer, kind: "resource" | "resource_template", members: readonly McpMember[]) {
  const uriMember = kind === "resource" ? "uri" : "uriTemplate";
  return members.flatMap((member) =>
    visibleDefinitions(member.server, kind).flatMap(({ name: original, definition }): JoinedEntry[] => {
      const name = toJoinedUri(member.prefix, original);
      if (server.disabled[kind].has(name)) return [];
      return [{ name, member, original, definition: { ...definition, [uriMember]: name } }];
    }),
  );
}

/** What a joined server offers of one kind, by name, in the order of its members. */
type JoinedEntries = ReadonlyMap<string, JoinedEntry>;

/** Entries of servers, by kind and the members that a user may use. A change makes new servers. */
const joined = new WeakMap<McpServer, Map<string, JoinedEntries>>();
/** Most sets of members of one server whose entries are held. */
const maxHeld = 64;

/** What a joined server offers of one kind to a user, by name, in the order of its members. */
export function joinedEntries(server: McpServer, kind: CapabilityKind, userId: string | null): JoinedEntries {
  const members = openMembers(server, userId);
  const key = `${kind} ${members.map(({ prefix }) => prefix).join(" ")}`;
  const held = joined.get(server) ?? new Map<string, JoinedEntries>();
  joined.set(server, held);
  const known = held.get(key);
  if (known) return known;
  const list =
    kind === "tool" || kind === "prompt" ? joinNamed(server, kind, members) : joinUris(server, kind, members);
  const entries = new Map(list.map((entry) => [entry.name, entry]));
  if (held.size >= maxHeld) held.clear();
  held.set(key, entries);
  return entries;
}

/** The member, and the URI there, that a joined URI stands for; undefined where the user may not use it. */
export function findJoinedUri(server: McpServer, uri: string, userId: string | null) {
  return fromJoinedUri({ members: openMembers(server, userId) }, uri);
}

/** A result of a member with the URIs of the joined server. */
export function withJoinedUris(result: Record<string, unknown>, prefix: string): Record<string, unknown> {
  const withUri = (item: unknown): unknown => {
    if (!isObject(item)) return item;
    const { type, uri, resource } = item;
    if (type === "resource_link" && typeof uri === "string") return { ...item, uri: toJoinedUri(prefix, uri) };
    if (isObject(resource) && typeof resource.uri === "string") {
      return { ...item, resource: { ...resource, uri: toJoinedUri(prefix, resource.uri) } };
    }
    return item;
  };
  const { content, contents, messages } = result;
  const changed = { ...result };
  if (Array.isArray(content)) changed.content = content.map(withUri);
  if (Array.isArray(messages)) {
    changed.messages = messages.map((one) => (isObject(one) ? { ...one, content: withUri(one.content) } : one));
  }
  if (Array.isArray(contents)) {
    changed.contents = contents.map((one) =>
      isObject(one) && typeof one.uri === "string" ? { ...one, uri: toJoinedUri(prefix, one.uri) } : one,
    );
  }
  return changed;
}

/** What the members say to models, each under its prefix. */
export function joinedInstructions(server: McpServer, userId: string | null): string | undefined {
  const parts = openMembers(server, userId).flatMap(({ prefix, server: { about } }) =>
    about.instructions === null ? [] : [`${prefix}: ${about.instructions}`],
  );
  return parts.length > 0 ? parts.join("\n\n") : undefined;
}
