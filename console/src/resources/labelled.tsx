import type { ReactNode } from "react";
import { Members } from "@/components/members.tsx";
import classes from "@/components/value.module.css";
import { isEmpty, Value } from "@/components/value.tsx";
import { isJsonObject } from "@/lib/json.ts";

const mask = /^masked_/;

interface LabelledProps {
  readonly value: object;
  /** The label of a member by its path. */
  readonly labelOf: (path: string) => string;
  /** Shows a member in another way. Default: its words. */
  readonly show?: (member: unknown) => ReactNode;
  /** Path of the value, with a dot behind it. */
  readonly at?: string;
}

/** Members with labels, one below the other; masked secrets under the names of the secrets. */
export function Labelled({ value, labelOf, show, at = "" }: LabelledProps): ReactNode {
  const members = Object.entries(value).filter(([, member]) => !isEmpty(member));
  if (members.length === 0) return <Value value={undefined} />;
  return (
    <dl className={classes.members}>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{labelOf(`${at}${name.replace(mask, "")}`)}</dt>
          <dd>
            {mask.test(name) ? (
              <Value value={member} kind="code" />
            ) : (
              <Member value={member} labelOf={labelOf} {...(show !== undefined && { show })} at={`${at}${name}.`} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Member({ value, ...shared }: Omit<LabelledProps, "value"> & { readonly value: unknown }): ReactNode {
  if (isJsonObject(value)) return <Labelled value={value} {...shared} />;
  if (Array.isArray(value) && value.some(isJsonObject)) {
    return (
      <ul className={classes.list}>
        {value.filter(isJsonObject).map((one) => (
          <li key={JSON.stringify(one)}>
            <Labelled value={one} {...shared} />
          </li>
        ))}
      </ul>
    );
  }
  return shared.show === undefined ? <Members value={value} isWorded /> : shared.show(value);
}
