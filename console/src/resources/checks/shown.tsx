import type { ReactNode } from "react";
import { StatusBadge } from "@/components/value.tsx";
import { isRow, type Row, readText } from "@/lib/read.ts";
import { text } from "@/text/text.ts";
import classes from "./checks.module.css";
import { describeActions, describeParameters, fullNameOf } from "./words.ts";

/** The checks of a guardrail in words. */
export function showChecks({ checks }: Row): ReactNode {
  const rows = Array.isArray(checks) ? checks.filter(isRow) : [];
  return (
    <ul className={classes.list}>
      {rows.map((check, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two checks may be the same, and the list only shows them
        <li key={place}>
          <CheckLine check={check} />
        </li>
      ))}
    </ul>
  );
}

function CheckLine({ check }: { readonly check: Row }): ReactNode {
  const name = readText(check, "name");
  const parameters = describeParameters(check.parameters);
  return (
    <>
      <strong>{fullNameOf(readText(check, "id"))}</strong>
      {parameters.length > 0 && <>: {parameters.join(" · ")}</>}
      {name !== "" && <span className={classes.set}> ({name})</span>}
      {(check.is_enabled === false || check.is_enabled === 0) && (
        <>
          {" "}
          <StatusBadge value="disabled" label={text.checks.disabled} />
        </>
      )}
    </>
  );
}

/** What a guardrail does with its verdict, in words. */
export function showActions({ actions }: Row): ReactNode {
  return (
    <ul className={classes.list} data-plain>
      {describeActions(actions).map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
