import { isObject } from "../lib/json.ts";
import type { CapabilityKind, McpMember, McpServer } from "./registry/mcp-server.ts";
import { toPlainName } from "./registry/plain-name.ts";
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

/** Resources of user interfaces keep their scheme: hosts take no other (MCP Apps, SEP-1865). */
const uiScheme = /^ui:\/\//i;

/** A URI of a member as callers of the joined server see it. */
export function toJoinedUri(prefix: string, uri: string): string {
  return uiScheme.test(uri) ? `ui://${prefix}/${uri.replace(uiScheme, "")}` : `gw+${prefix}+${uri}`;
}

/** The prefix of a joined URI, and the URI of the member. */
function splitJoinedUri(uri: string): { prefix: string; uri: string } | undefined {
  const [, uiPrefix, path] = /^ui:\/\/([a-z0-9-]{1,24})\/(.*)$/is.exec(uri) ?? [];
  if (uiPrefix !== undefined) return { prefix: uiPrefix, uri: `ui://${path}` };
  const [, prefix, rest] = /^gw\+([a-z0-9-]{1,24})\+(.+)$/s.exec(uri) ?? [];
  // one resource has one name: what is switched off is found by it
  return prefix === undefined || rest === undefined || uiScheme.test(rest) ? undefined : { prefix, uri: rest };
}

/** The member and the URI that a joined URI stands for. */
function fromJoinedUri(
  { members }: { members: readonly McpMember[] },
  uri: string,
): { member: McpMember; uri: string } | undefined {
  const split = splitJoinedUri(uri);
  const member = members.find((one) => one.prefix === split?.prefix);
  return member && split ? { member, uri: split.uri } : undefined;
}

/** Links to user interfaces within metadata, at any depth. */
function withJoinedLinks(value: unknown, prefix: string, depth = 0): unknown {
  if (typeof value === "string") return uiScheme.test(value) ? toJoinedUri(prefix, value) : value;
  if (depth > 8) return value;
  if (Array.isArray(value)) return value.map((one) => withJoinedLinks(one, prefix, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withJoinedLinks(one, prefix, depth + 1)]),
  );
}

/** A definition, result or part of one whose metadata has the links of the joined server. */
function withJoinedMeta<Part extends Readonly<Record<string, unknown>>>(part: Part, prefix: string): Part {
  return part._meta === undefined ? part : { ...part, _meta: withJoinedLinks(part._meta, prefix) };
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
    return [{ name, member, original, definition: withJoinedMeta({ ...definition, name }, member.prefix) }];
  });
}

/** Resources or templates of the members under the URIs of the joined server. */
function joinUris(server: McpServer, kind: "resource" | "resource_template", members: readonly McpMember[]) {
  const uriMember = kind === "resource" ? "uri" : "uriTemplate";
  return members.flatMap((member) =>
    visibleDefinitions(member.server, kind).flatMap(({ name: original, definition }): JoinedEntry[] => {
      const name = toJoinedUri(member.prefix, original);
      if (server.disabled[kind].has(name)) return [];
      const shown = withJoinedMeta({ ...definition, [uriMember]: name }, member.prefix);
      return [{ name, member, original, definition: shown }];
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

/** A part of a result, such as a link or an embedded resource, with the URIs of the joined server. */
function withJoinedUri(part: unknown, prefix: string): unknown {
  if (!isObject(part)) return part;
  const changed = withJoinedMeta({ ...part }, prefix);
  if (typeof part.uri === "string") changed.uri = toJoinedUri(prefix, part.uri);
  if (isObject(part.resource)) changed.resource = withJoinedUri(part.resource, prefix);
  return changed;
}

/** A result of a member with the URIs of the joined server. */
export function withJoinedUris(result: Record<string, unknown>, prefix: string): Record<string, unknown> {
  const changed = withJoinedMeta({ ...result }, prefix);
  const { content, contents, messages } = result;
  if (Array.isArray(content)) changed.content = content.map((one) => withJoinedUri(one, prefix));
  if (Array.isArray(contents)) changed.contents = contents.map((one) => withJoinedUri(one, prefix));
  if (Array.isArray(messages)) {
    changed.messages = messages.map((one) =>
      isObject(one) ? { ...one, content: withJoinedContent(one.content, prefix) } : one,
    );
  }
  return changed;
}

/** Content of a message of a prompt: one part or several. */
function withJoinedContent(content: unknown, prefix: string): unknown {
  return Array.isArray(content) ? content.map((one) => withJoinedUri(one, prefix)) : withJoinedUri(content, prefix);
}

/** What the members say to models, each under its prefix. */
export function joinedInstructions(server: McpServer, userId: string | null): string | undefined {
  const parts = openMembers(server, userId).flatMap(({ prefix, server: { about } }) =>
    about.instructions === null ? [] : [`${prefix}: ${about.instructions}`],
  );
  return parts.length > 0 ? parts.join("\n\n") : undefined;
}
