import { Link, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "@/components/icons.tsx";
import classes from "@/layout/layout.module.css";
import { useSession } from "@/session/context.tsx";
import { navEntries } from "./entries.ts";

/** The pages one may open. The entry of the open page is scrolled into view. */
export function Navigation(): ReactNode {
  const { can } = useSession();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const frame = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address has another entry
  useEffect(() => {
    // in braces: some browsers answer with a promise, which is no cleanup
    frame.current?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  return (
    <div ref={frame}>
      {navEntries(can).map(([label, entries]) => (
        <div key={label}>
          <div className={classes.group}>{label}</div>
          {entries.map(({ to, label, icon }) => (
            <Link key={to} to={to} className={classes.entry} activeOptions={{ exact: to === "/" }}>
              <Icon name={icon} />
              {label}
            </Link>
          ))}
        </div>
      ))}
    </div>
  );
}
