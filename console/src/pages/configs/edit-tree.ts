import { isJsonObject, type JsonObject } from "../../lib/json.ts";

// Changes of the tree of a config: each answers with the new config and the path of what was changed. Nothing else of the config
// changes.

/** The way from the root to a node: places among targets. */
export type NodePath = readonly number[];

/** A config after a change, and the node to go on with. */
export interface TreeChange {
  readonly root: JsonObject;
  readonly at: NodePath;
}

/** Members that a config has at its root only. */
const rootMembers = ["fetch_integrated_models", "server_tools", "shadow"] as const;
/** Members by which the group above refers to a node. */
const placeMembers = ["name", "weight"] as const;

/** The targets of a node; those that are none count as empty ones. */
export function targetsOf(node: JsonObject): readonly JsonObject[] {
  return Array.isArray(node.targets) ? node.targets.map((one: unknown) => (isJsonObject(one) ? one : {})) : [];
}

/** The node at a path; undefined where there is none. */
export function nodeAt(root: JsonObject, path: NodePath): JsonObject | undefined {
  return path.reduce<JsonObject | undefined>((node, place) => node && targetsOf(node)[place], root);
}

const isGroup = (node: JsonObject | undefined): boolean => node !== undefined && targetsOf(node).length > 0;

/** The config with another node at a path. */
export function withNode(root: JsonObject, path: NodePath, node: JsonObject): JsonObject {
  const [place, ...below] = path;
  if (place === undefined) return node;
  const targets = targetsOf(root);
  return { ...root, targets: targets.with(place, withNode(targets[place] ?? {}, below, node)) };
}

/** The config without a node; a group that loses its last target goes too. */
function withoutNode(root: JsonObject, path: NodePath): JsonObject {
  const above = path.slice(0, -1);
  const group = nodeAt(root, above) ?? {};
  const targets = targetsOf(group).toSpliced(path.at(-1) ?? 0, 1);
  if (targets.length === 0 && above.length > 0) return withoutNode(root, above);
  return withNode(root, above, { ...group, targets });
}

/** The config with a node put in before the one at a path, or behind the last one. */
function withInserted(root: JsonObject, path: NodePath, node: JsonObject): JsonObject {
  const above = path.slice(0, -1);
  const group = nodeAt(root, above) ?? {};
  return withNode(root, above, { ...group, targets: targetsOf(group).toSpliced(path.at(-1) ?? 0, 0, node) });
}

function split(node: JsonObject, names: readonly string[]): readonly [JsonObject, JsonObject] {
  const isOf = ([name]: readonly [string, unknown]) => names.includes(name);
  const members = Object.entries(node);
  return [Object.fromEntries(members.filter(isOf)), Object.fromEntries(members.filter((one) => !isOf(one)))];
}

/** Puts a node into a group of its own, which takes its place. */
export function wrap(root: JsonObject, path: NodePath): TreeChange {
  const [outer, inner] = split(nodeAt(root, path) ?? {}, path.length === 0 ? rootMembers : placeMembers);
  const group = { ...outer, strategy: { mode: "fallback" }, targets: [inner] };
  return { root: withNode(root, path, group), at: path };
}

/** Adds a target to a group, or behind a target to its group. A config that is one target becomes a group first. */
export function addTarget(root: JsonObject, path: NodePath): TreeChange {
  if (isGroup(nodeAt(root, path))) {
    const at = [...path, targetsOf(nodeAt(root, path) ?? {}).length];
    return { root: withInserted(root, at, {}), at };
  }
  if (path.length === 0) return addTarget(wrap(root, path).root, path);
  const at = path.with(-1, (path.at(-1) ?? 0) + 1);
  return { root: withInserted(root, at, {}), at };
}

/** Whether a node may be removed: the config needs a target. */
export function canRemove(root: JsonObject, path: NodePath): boolean {
  const isOnly = (at: NodePath): boolean =>
    at.length === 0 || (targetsOf(nodeAt(root, at.slice(0, -1)) ?? {}).length === 1 && isOnly(at.slice(0, -1)));
  return path.length > 0 && !isOnly(path);
}

export function remove(root: JsonObject, path: NodePath): TreeChange {
  const next = withoutNode(root, path);
  const before = path.with(-1, Math.max(0, (path.at(-1) ?? 0) - 1));
  const at = nodeAt(next, path) !== undefined ? path : nodeAt(next, before) !== undefined ? before : path.slice(0, -1);
  return { root: next, at: nodeAt(next, at) === undefined ? [] : at };
}

/** Moves a node among the targets of its group; undefined where it cannot go further. */
export function move(root: JsonObject, path: NodePath, by: 1 | -1): TreeChange | undefined {
  const to = (path.at(-1) ?? 0) + by;
  const above = nodeAt(root, path.slice(0, -1)) ?? {};
  if (path.length === 0 || to < 0 || to >= targetsOf(above).length) return undefined;
  const node = nodeAt(root, path) ?? {};
  const at = path.with(-1, to);
  return { root: withInserted(withoutNode(root, path), at, node), at };
}

/** Moves a node out of its group, behind it; undefined for those of the root. */
export function moveOut(root: JsonObject, path: NodePath): TreeChange | undefined {
  if (path.length < 2) return undefined;
  const group = path.slice(0, -1);
  const isLast = targetsOf(nodeAt(root, group) ?? {}).length === 1;
  // a group that becomes empty leaves its place to the node
  const at = isLast ? group : group.with(-1, (group.at(-1) ?? 0) + 1);
  const node = nodeAt(root, path) ?? {};
  const rest = isLast ? without(root, group) : withoutNode(root, path);
  return { root: withInserted(rest, at, node), at };
}

/** The config without a node, whose group stays even if it is empty. */
function without(root: JsonObject, path: NodePath): JsonObject {
  const above = path.slice(0, -1);
  const group = nodeAt(root, above) ?? {};
  return withNode(root, above, { ...group, targets: targetsOf(group).toSpliced(path.at(-1) ?? 0, 1) });
}

/** Moves a node into the group above it, behind its targets; undefined where there is none. */
export function moveInto(root: JsonObject, path: NodePath): TreeChange | undefined {
  const place = path.at(-1) ?? 0;
  if (place === 0) return undefined;
  const before = path.with(-1, place - 1);
  const group = nodeAt(root, before);
  if (!isGroup(group)) return undefined;
  const at = [...before, targetsOf(group ?? {}).length];
  return { root: withInserted(withoutNode(root, path), at, nodeAt(root, path) ?? {}), at };
}

/** A path as the API names it: `config.targets[0]`. */
export const toLabel = (path: NodePath): string => ["config", ...path.map((place) => `targets[${place}]`)].join(".");

/** The path of a name of the API. */
export const readLabel = (label: string): NodePath =>
  [...label.matchAll(/targets\[(\d+)\]/g)].map(([, place]) => Number(place));
