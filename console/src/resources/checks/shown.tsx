import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { StatusBadge } from "@/components/value.tsx";
import { text } from "@/text/text.ts";
import classes from "./checks.module.css";
import { describeActions, describeParameters, fullNameOf } from "./words.ts";

type Guardrail = AnswerOf<"GET /v1/guardrails/{id}">;

/** The checks of a guardrail in words. */
export function showChecks({ checks }: Guardrail): ReactNode {
  return (
    <ul className={classes.list}>
      {checks.map((check, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two checks may be the same, and the list only shows them
        <li key={place}>
          <CheckLine check={check} />
        </li>
      ))}
    </ul>
  );
}

function CheckLine({ check }: { readonly check: Guardrail["checks"][number] }): ReactNode {
  const { name } = check;
  const parameters = describeParameters(check.parameters);
  return (
    <>
      <strong>{fullNameOf(check.id)}</strong>
      {parameters.length > 0 && <>: {parameters.join(" · ")}</>}
      {name && <span className={classes.set}> ({name})</span>}
      {!check.is_enabled && (
        <>
          {" "}
          <StatusBadge value="disabled" label={text.checks.disabled} />
        </>
      )}
    </>
  );
}

/** What a guardrail does with its verdict, in words. */
export function showActions({ actions }: Guardrail): ReactNode {
  return (
    <ul className={classes.list} data-plain>
      {describeActions(actions).map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
