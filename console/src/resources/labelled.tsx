import type { ReactNode } from "react";
import { Members } from "@/components/members.tsx";
import classes from "@/components/value.module.css";
import { isEmpty, Value } from "@/components/value.tsx";
import { isRow, type Row } from "@/lib/read.ts";

const mask = /^masked_/;

interface LabelledProps {
  readonly value: Row;
  readonly labelOf: (name: string) => string;
}

/** Members with labels, one below the other; masked secrets under the names of the secrets. */
export function Labelled({ value, labelOf }: LabelledProps): ReactNode {
  const members = Object.entries(value).filter(([, member]) => !isEmpty(member));
  if (members.length === 0) return <Value value={undefined} />;
  return (
    <dl className={classes.members}>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{labelOf(name.replace(mask, ""))}</dt>
          <dd>
            {mask.test(name) ? (
              <Value value={member} kind="code" />
            ) : isRow(member) ? (
              <Labelled value={member} labelOf={labelOf} />
            ) : (
              <Members value={member} isWorded />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
