import type { ReactNode } from "react";
import { isJsonObject } from "@/lib/json.ts";
import { nameOf, wordOf } from "@/lib/words.ts";
import classes from "./value.module.css";
import { isEmpty, Value } from "./value.tsx";

interface MembersProps {
  readonly value: unknown;
  /** The values are those that the API names: they are shown in words. */
  readonly isWorded?: boolean;
}

/** A value with members as names and values, lists of such values below each other. What holds nothing is left out. */
export function Members({ value, isWorded = false }: MembersProps): ReactNode {
  if (isEmpty(value)) return <Value value={value} />;
  if (Array.isArray(value)) return <List values={value.filter((one) => !isEmpty(one))} isWorded={isWorded} />;
  if (!isJsonObject(value)) return <Leaf value={value} isWorded={isWorded} />;
  const members = Object.entries(value).filter(([, member]) => !isEmpty(member));
  if (members.length === 0) return <Value value={undefined} />;
  return (
    <dl className={classes.members}>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{nameOf(name)}</dt>
          <dd>
            <Members value={member} isWorded={isWorded} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ListProps {
  readonly values: readonly unknown[];
  readonly isWorded: boolean;
}

function List({ values, isWorded }: ListProps): ReactNode {
  const toText = (value: unknown) => (isWorded ? wordOf(String(value)) : String(value));
  if (!values.some((value) => typeof value === "object")) return values.map(toText).join(", ");
  return (
    <ul className={classes.list}>
      {values.map((value) => (
        <li key={JSON.stringify(value)}>
          <Members value={value} isWorded={isWorded} />
        </li>
      ))}
    </ul>
  );
}

function Leaf({ value, isWorded }: MembersProps): ReactNode {
  if (typeof value === "boolean") return <Value value={value} kind="boolean" />;
  return isWorded ? wordOf(String(value)) : String(value);
}
