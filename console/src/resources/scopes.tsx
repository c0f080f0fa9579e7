import type { ReactNode } from "react";
import { Members } from "@/components/members.tsx";
import type { Row } from "@/lib/read.ts";

/** Scopes by what they are for: `configs.read` and `configs.list` as `Configs: read, list`. */
export function scopesOf({ scopes }: Row): ReactNode {
  const groups = new Map<string, string[]>();
  for (const scope of Array.isArray(scopes) ? scopes.map(String) : []) {
    const dot = scope.lastIndexOf(".");
    const [name, action] = dot === -1 ? [scope, ""] : [scope.slice(0, dot), scope.slice(dot + 1)];
    groups.set(name, [...(groups.get(name) ?? []), action]);
  }
  return <Members value={Object.fromEntries(groups)} />;
}
