import { Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "@/api/client.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { EditorPage, Section } from "@/layout/page.tsx";
import { type Row, readRecord } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";

const words = text.settings;

/** Members that the organisation's route answers with and does not take. */
const fixed = new Set(["id", "slug", "object", "created_at", "last_updated_at", "status", "organisation_id"]);

/** Settings of the organisation, each group as its route takes it. */
export default function Settings(): ReactNode {
  const { principal, can } = useSession();
  const base = `/v1/organisations/${encodeURIComponent(principal.organisation_id)}`;
  const parts = [
    { id: "organisation", title: words.organisation, path: base, row: "PUT /v1/organisations/{id}" },
    { id: "auth", title: words.signIn, path: `${base}/auth-settings`, row: "PUT /v1/organisations/{id}/auth-settings" },
    {
      id: "defaults",
      title: words.defaults,
      path: "/v1/admin/organisation/defaults",
      row: "PUT /v1/admin/organisation/defaults",
    },
  ];
  return (
    <EditorPage title={words.title} about={words.about}>
      <Tabs defaultValue="organisation" keepMounted={false}>
        <Tabs.List mb="md">
          {parts.map(({ id, title }) => (
            <Tabs.Tab key={id} value={id}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {parts.map(({ id, title, path, row }) => (
          <Tabs.Panel key={id} value={id}>
            <SettingsPart title={title} path={path} row={row} editable={can(row)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </EditorPage>
  );
}

interface SettingsPartProps {
  readonly title: string;
  readonly path: string;
  readonly row: string;
  readonly editable: boolean;
}

function SettingsPart({ title, path, row, editable }: SettingsPartProps): ReactNode {
  const queries = useQueryClient();
  const read = useQuery({
    queryKey: ["settings", path],
    queryFn: async ({ signal }) => readRecord(await call("GET", path, { signal })),
  });
  const schema = useQuery({
    queryKey: ["schema", row],
    queryFn: async () => (await import("@/api/bodies.gen.ts")).bodies[row] ?? {},
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [edited, setEdited] = useState<string>();
  const { mutate, error, isPending } = useMutation({
    mutationFn: async (code: string) => call("PUT", path, { body: changedMembers(JSON.parse(code), read.data ?? {}) }),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ["settings", path] });
      setEdited(undefined);
      notifications.show({ message: text.common.saved });
    },
  });
  if (read.error !== null) return <Failure error={read.error} onRetry={() => void read.refetch()} />;
  if (read.data === undefined || schema.data === undefined) return <Waiting />;
  const code = edited ?? JSON.stringify(toEditable(read.data), undefined, 2);
  return (
    <Section title={title}>
      <Stack>
        <Text size="sm" c="dimmed">
          {words.danger}
        </Text>
        <CodeEditor
          label={title}
          value={code}
          schema={schema.data}
          onChange={editable ? setEdited : undefined}
          minHeight="20rem"
        />
        {error !== null && <Failure error={error} />}
        {editable && (
          <Group>
            <Button onClick={() => mutate(code)} loading={isPending} disabled={edited === undefined}>
              {text.common.save}
            </Button>
            <Button variant="default" onClick={() => setEdited(undefined)} disabled={edited === undefined}>
              {text.common.cancel}
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  );
}

function toEditable(record: Row): Row {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !fixed.has(name)));
}

/** Members whose value differs from the stored one: the others stay as they are. */
function changedMembers(next: Row, stored: Row): Row {
  return Object.fromEntries(
    Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name])),
  );
}
