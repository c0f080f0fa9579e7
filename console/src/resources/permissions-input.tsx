import { Checkbox, Input } from "@mantine/core";
import type { ReactNode } from "react";
import { isRow, type Row } from "@/lib/read.ts";
import { text } from "@/text/text.ts";
import { groupPermissions, thingOf } from "./permissions.ts";
import classes from "./permissions-input.module.css";
import type { FieldProps } from "./types.ts";

const words = text.permissions;

/** What each role may view and change: a table for each role. */
export function PermissionsInput({ field, value, onChange, error }: FieldProps): ReactNode {
  const switches: Row = isRow(value) ? value : {};
  const roles = groupPermissions(Object.keys(switches)).filter(({ lines }) => lines.length > 0);
  const cell = (role: string, verb: string, thing: string, name: string | undefined) => (
    <td>
      {name !== undefined && (
        <Checkbox
          aria-label={words.label(role, verb, thing)}
          checked={switches[name] === true || switches[name] === 1}
          onChange={(event) => onChange({ ...switches, [name]: event.currentTarget.checked })}
        />
      )}
    </td>
  );
  return (
    <Input.Wrapper label={field.label} description={field.help} error={error} labelElement="div">
      <div className={classes.roles}>
        {roles.map(({ role, lines }) => {
          const title = words.roles[role] ?? role;
          const hasChange = lines.some(({ change }) => change !== undefined);
          return (
            <table key={role} className={classes.role}>
              <caption>{title}</caption>
              <thead>
                <tr>
                  <td />
                  <th scope="col">{words.view}</th>
                  {hasChange && <th scope="col">{words.change}</th>}
                </tr>
              </thead>
              <tbody>
                {lines.map(({ thing, view, change }) => (
                  <tr key={thing}>
                    <th scope="row">{thingOf(thing)}</th>
                    {cell(title, words.view, thingOf(thing), view)}
                    {hasChange && cell(title, words.change, thingOf(thing), change)}
                  </tr>
                ))}
              </tbody>
            </table>
          );
        })}
      </div>
    </Input.Wrapper>
  );
}
