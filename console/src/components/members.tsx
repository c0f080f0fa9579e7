import type { ReactNode } from "react";
import { isRow } from "@/lib/read.ts";
import { nameOf } from "@/lib/words.ts";
import classes from "./value.module.css";
import { isEmpty, Value } from "./value.tsx";

interface MembersProps {
  readonly value: unknown;
}

/** A value with members as names and values, lists of such values below each other. What holds nothing is left out. */
export function Members({ value }: MembersProps): ReactNode {
  if (isEmpty(value)) return <Value value={value} />;
  if (Array.isArray(value)) return <List values={value.filter((one) => !isEmpty(one))} />;
  if (!isRow(value)) return <Leaf value={value} />;
  const members = Object.entries(value).filter(([, member]) => !isEmpty(member));
  if (members.length === 0) return <Value value={undefined} />;
  return (
    <dl className={classes.members}>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{nameOf(name)}</dt>
          <dd>
            <Members value={member} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function List({ values }: { readonly values: readonly unknown[] }): ReactNode {
  if (!values.some((value) => typeof value === "object")) return values.map(String).join(", ");
  return (
    <ul className={classes.list}>
      {values.map((value) => (
        <li key={JSON.stringify(value)}>
          <Members value={value} />
        </li>
      ))}
    </ul>
  );
}

function Leaf({ value }: MembersProps): ReactNode {
  return typeof value === "boolean" ? <Value value={value} kind="boolean" /> : String(value);
}
