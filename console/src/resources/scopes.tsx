import type { ReactNode } from "react";
import { Value } from "@/components/value.tsx";
import { nameOf } from "@/lib/words.ts";
import classes from "./scopes.module.css";

/** Scopes by what they are for, a line each: `configs.read` and `configs.list` as `Configs` and `read, list`. */
export function scopesOf({ scopes }: { readonly scopes: readonly string[] }): ReactNode {
  const groups = new Map<string, string[]>();
  for (const scope of scopes) {
    const dot = scope.lastIndexOf(".");
    const [name, action] = dot === -1 ? [scope, ""] : [scope.slice(0, dot), scope.slice(dot + 1)];
    groups.set(name, [...(groups.get(name) ?? []), action]);
  }
  if (groups.size === 0) return <Value value={undefined} />;
  return (
    <dl className={classes.scopes}>
      {[...groups].map(([name, actions]) => (
        <div key={name}>
          <dt>{nameOf(name)}</dt>
          <dd>{actions.join(", ")}</dd>
        </div>
      ))}
    </dl>
  );
}
