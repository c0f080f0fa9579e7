import { toPrintable } from "../lib/printable.ts";
import type { Action, Change, Plan } from "./plan.ts";

const signs: Readonly<Record<Action, string>> = { create: "+", change: "~", replace: "±", remove: "-" };

/** Where a record stands in a file: `workspaces.default.configs.pc-main`. */
export function pathOf({ section, workspace, name }: Pick<Change, "section" | "workspace" | "name">): string {
  if (section === "workspaces") return `workspaces.${name}`;
  return `${workspace === null ? "organisation" : `workspaces.${workspace}`}.${section}.${name}`;
}

function describeChange(change: Change): string[] {
  const { action, differences } = change;
  const lines = differences.map(({ path, from, to }) => {
    if (from === undefined || action === "create") return `    ${path}: ${to}`;
    return `    ${path}: ${from} -> ${to ?? "(none)"}`;
  });
  return [`${signs[action]} ${pathOf(change)}`, ...lines].map(toPrintable);
}

const counted: readonly [Action, string][] = [
  ["create", "to create"],
  ["change", "to change"],
  ["replace", "to replace"],
  ["remove", "to remove"],
];

/** A plan as operators read it. */
export function describePlan({ changes, left }: Plan): string[] {
  const stays = left === 0 ? [] : [`${left} records are not in the file and stay: --prune removes them`];
  if (changes.length === 0) return ["Nothing to do: the gateway has what the file says", ...stays];
  const counts = counted.flatMap(([action, words]) => {
    const count = changes.filter((change) => change.action === action).length;
    return count === 0 ? [] : [`${count} ${words}`];
  });
  return [...changes.flatMap(describeChange), `Plan: ${counts.join(", ")}`, ...stays];
}

/** A plan as programs read it. */
export function toPlanJson({ changes, left, problems }: Plan): object {
  const list = changes.map((change) => {
    const { action, section, workspace, name, differences } = change;
    return { action, path: pathOf(change), section, workspace, name, differences };
  });
  return { object: "plan", changes: list, left, problems };
}
