import { Checkbox, Input } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/frame.ts";
import { permissionRows, roles, thingOf, verbs } from "./permissions.ts";
import classes from "./permissions-input.module.css";
import type { FieldProps } from "./types.ts";

const words = text.permissions;

/** What each role may view and change: one table, or one for each role where that is too wide. */
export function PermissionsInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const isWide = useMediaQuery("(min-width: 48em)", undefined, { getInitialValueInEffect: false }) ?? true;
  const switches: JsonObject = isJsonObject(value) ? value : {};
  const tables = isWide ? [roles] : roles.map((role) => [role]);
  return (
    <Input.Wrapper label={field.label} description={field.help} error={error} labelElement="div">
      <div className={classes.tables}>
        {tables.map((shown) => (
          <PermissionTable
            key={shown.join()}
            label={field.label}
            roles={shown}
            switches={switches}
            onChange={onChange}
          />
        ))}
      </div>
    </Input.Wrapper>
  );
}

interface PermissionTableProps {
  readonly label: string;
  readonly roles: readonly string[];
  readonly switches: JsonObject;
  readonly onChange: (switches: JsonObject) => void;
}

/** Things by rows, and by columns who may view and change them. */
function PermissionTable({ label, roles, switches, onChange }: PermissionTableProps): ReactNode {
  const titleOf = (role: string) => words.roles[role] ?? role;
  const columns = roles.flatMap((role) => verbs.map((verb) => ({ role, verb, key: `${role} ${verb}` })));
  return (
    <table className={classes.table} aria-label={`${label}: ${roles.map(titleOf).join(", ")}`}>
      <thead>
        <tr>
          <td rowSpan={2} />
          {roles.map((role) => (
            <th key={role} scope="colgroup" colSpan={verbs.length}>
              {titleOf(role)}
            </th>
          ))}
        </tr>
        <tr>
          {columns.map(({ verb, key }) => (
            <th key={key} scope="col" data-verb={verb}>
              {words[verb]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {permissionRows(Object.keys(switches)).map(({ thing, decide }) => (
          <tr key={thing}>
            <th scope="row">{thingOf(thing)}</th>
            {columns.map(({ role, verb, key }) => {
              const decision = decide(role, verb);
              return (
                <td key={key} data-verb={verb}>
                  {typeof decision === "object" ? (
                    <Checkbox
                      aria-label={words.label({ role: titleOf(role), verb: words[verb], thing: thingOf(thing) })}
                      checked={switches[decision.name] === true || switches[decision.name] === 1}
                      onChange={(event) => onChange({ ...switches, [decision.name]: event.currentTarget.checked })}
                    />
                  ) : (
                    words[decision ?? "nothing"]
                  )}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
