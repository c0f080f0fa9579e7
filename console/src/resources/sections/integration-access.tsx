import { Button, Group, Select, Switch } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Members } from "@/components/members.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { isEmpty, Value } from "@/components/value.tsx";
import { type Row, readList, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.integrations;
const fields = text.resources.fields;

/** Limits in words. */
const limitsAt =
  (path: string) =>
  (row: Row): ReactNode => {
    const value = readPath(row, path);
    return isEmpty(value) ? <Value value={undefined} empty={fields.noLimit} /> : <Members value={value} isWorded />;
  };

/** Which workspaces may use an integration. */
export default function IntegrationAccess({ record, id }: { readonly record: Row; readonly id: string }): ReactNode {
  const part = usePart(`/v1/integrations/${encodeURIComponent(id)}/workspaces`);
  const { can } = useSession();
  const { all } = useWorkspace();
  const [chosen, setChosen] = useState<string | null>(null);
  const editable = can("PUT /v1/integrations/{slug}/workspaces");
  const allow = (workspace: string, enabled: boolean) =>
    part.write.mutate({
      method: "PUT",
      body: { workspaces: [{ id: workspace, enabled, create_default_provider: enabled }] },
    });
  const name = (row: Row) => all.find(({ id }) => id === row.id)?.name ?? readText(row, "id");
  const columns = [
    { label: fields.workspace, path: "id", render: name },
    { label: fields.usageLimits, path: "usage_limits", wide: true, render: limitsAt("usage_limits") },
    { label: fields.rateLimits, path: "rate_limits", wide: true, render: limitsAt("rate_limits") },
  ] as const;
  return (
    <Part part={part}>
      {(data) => (
        <>
          <Switch
            label={words.global}
            disabled={!editable}
            defaultChecked={readPath(record, "global_workspace_access_settings.enabled") === true}
            onChange={(event) =>
              part.write.mutate({
                method: "PUT",
                body: {
                  global_workspace_access: { enabled: event.currentTarget.checked },
                  create_default_provider: true,
                },
              })
            }
          />
          <RecordTable
            label={words.access}
            columns={columns}
            rows={readList(data)}
            empty={words.accessEmpty}
            actionsLabel={fields.enabled}
            actions={(row) =>
              editable && (
                <Switch
                  aria-label={`${fields.enabled}: ${name(row)}`}
                  checked={row.enabled === true || row.enabled === 1}
                  onChange={(event) => allow(readText(row, "id"), event.currentTarget.checked)}
                />
              )
            }
          />
          {editable && (
            <Group align="end" gap="xs">
              <Select
                label={fields.workspace}
                placeholder={text.common.chooseWorkspace}
                data={all
                  .filter(({ id: value }) => readList(data).every((row) => row.id !== value))
                  .map(({ id: value, name: label }) => ({ value, label }))}
                value={chosen}
                onChange={setChosen}
                searchable
              />
              <Button
                variant="default"
                disabled={chosen === null}
                onClick={() => {
                  if (chosen !== null) allow(chosen, true);
                  setChosen(null);
                }}
              >
                {words.allow}
              </Button>
            </Group>
          )}
        </>
      )}
    </Part>
  );
}
