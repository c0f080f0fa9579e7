import type { ApiRow } from "@/api/client.ts";
import type { IconName } from "@/components/icons.tsx";
import { type NavGroup, navGroups } from "@/layout/nav-groups.ts";
import { pages } from "@/pages/pages.ts";
import { recordEntries } from "@/records/entries.ts";
import { text } from "@/text/frame.ts";

export interface NavEntry {
  readonly to: string;
  readonly label: string;
  readonly icon: IconName;
  readonly group: NavGroup;
}

/** What the navigation and the command palette offer to a viewer, grouped and in order. */
export function navEntries(can: (row: ApiRow) => boolean): readonly (readonly [string, readonly NavEntry[]])[] {
  const all: NavEntry[] = [];
  for (const { path, nav, rows } of pages) {
    if (nav !== undefined && (rows[0] === undefined || can(rows[0])))
      all.push({ to: path, label: text.nav[nav.word], icon: nav.icon, group: nav.group });
  }
  for (const { name, group, icon, row } of recordEntries) {
    if (can(row)) all.push({ to: `/${name}`, label: text.nav.records[name] ?? name, icon, group });
  }
  return navGroups
    .map((group) => [text.nav[group], all.filter((entry) => entry.group === group)] as const)
    .filter(([, entries]) => entries.length > 0);
}
