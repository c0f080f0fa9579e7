import { Button, Group, Select, Switch } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { Members } from "@/components/members.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { isEmpty, Value } from "@/components/value.tsx";
import type { SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.integrations;
const fields = text.resources.fields;

type Access = AnswerOf<"GET /v1/integrations/{slug}/workspaces">["workspaces"][number];

/** Limits in words. */
const showLimits = (limits: Access["usage_limits"] | Access["rate_limits"]): ReactNode =>
  isEmpty(limits) ? <Value value={undefined} empty={fields.noLimit} /> : <Members value={limits} isWorded />;

/** Which workspaces may use an integration. */
export default function IntegrationAccess({
  record,
  id,
}: SectionProps<AnswerOf<"GET /v1/integrations/{slug}">>): ReactNode {
  const part = usePart("/v1/integrations/{slug}/workspaces", { path: { slug: id } });
  const { can } = useSession();
  const { all } = useWorkspace();
  const row = "PUT /v1/integrations/{slug}/workspaces";
  const editable = can(row);
  const allow = (workspace: string, enabled: boolean) =>
    part.write.mutate({
      row,
      body: { workspaces: [{ id: workspace, enabled, create_default_provider: enabled }] },
    });
  const nameOf = ({ id: workspace, name }: Access) => all.find((one) => one.id === workspace)?.name ?? name;
  const columns: readonly Attribute<Access>[] = [
    { label: fields.workspace, of: nameOf },
    {
      label: fields.usageLimits,
      of: ({ usage_limits }) => usage_limits,
      wide: true,
      render: ({ usage_limits: limits }) => showLimits(limits),
    },
    {
      label: fields.rateLimits,
      of: ({ rate_limits }) => rate_limits,
      wide: true,
      render: ({ rate_limits: limits }) => showLimits(limits),
    },
  ];
  return (
    <Part part={part}>
      {({ workspaces }) => (
        <>
          <Switch
            label={words.global}
            disabled={!editable}
            defaultChecked={record.global_workspace_access_settings.enabled}
            onChange={(event) =>
              part.write.mutate({
                row,
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
            rows={workspaces}
            idOf={({ id: workspace }) => workspace}
            empty={words.accessEmpty}
            actionsLabel={fields.enabled}
            actions={(access) =>
              editable && (
                <Switch
                  aria-label={`${fields.enabled}: ${nameOf(access)}`}
                  checked={access.enabled}
                  onChange={(event) => allow(access.id, event.currentTarget.checked)}
                />
              )
            }
          />
          {editable && <AllowOther workspaces={workspaces} onAllow={(workspace) => allow(workspace, true)} />}
        </>
      )}
    </Part>
  );
}

interface AllowOtherProps {
  /** Those that are listed already. */
  readonly workspaces: readonly Access[];
  readonly onAllow: (workspace: string) => void;
}

/** Chooses a further workspace. */
function AllowOther({ workspaces, onAllow }: AllowOtherProps): ReactNode {
  const { all } = useWorkspace();
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <Group align="end" gap="xs">
      <Select
        label={fields.workspace}
        placeholder={text.common.chooseWorkspace}
        data={all
          .filter(({ id }) => workspaces.every((one) => one.id !== id))
          .map(({ id: value, name: label }) => ({ value, label }))}
        value={chosen}
        onChange={setChosen}
        searchable
      />
      <Button
        variant="default"
        disabled={chosen === null}
        onClick={() => {
          if (chosen !== null) onAllow(chosen);
          setChosen(null);
        }}
      >
        {words.allow}
      </Button>
    </Group>
  );
}
