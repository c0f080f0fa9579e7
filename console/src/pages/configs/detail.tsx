import { Button, Tabs, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { gatewayUrl } from "@/api/base.ts";
import { type AnswerOf, ask } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Command, CopyValue, Failure, Waiting } from "@/components/states.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { DeleteButton } from "@/layout/delete-button.tsx";
import { DetailPage, Section } from "@/layout/page.tsx";
import { formatAgo } from "@/lib/format.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { ConfigEditor } from "./config-editor.tsx";
import { configs } from "./configs.ts";
import { codeOf, useConfig } from "./draft.ts";
import { ConfigVersions } from "./versions.tsx";

const words = text.configs;

/** The page of one config. */
export default function ConfigDetail(): ReactNode {
  const { slug = "" } = useParams({ strict: false });
  const { data, error, refetch } = useConfig(slug);
  const back = { to: "/configs", label: words.title };
  if (error !== null) {
    return (
      <DetailPage title={slug} back={back}>
        <Failure error={error} onRetry={() => void refetch()} />
      </DetailPage>
    );
  }
  if (data === undefined) return <Waiting />;
  const initial = { name: data.name, isDefault: data.is_default === 1, code: codeOf(data) };
  const command = `curl ${gatewayUrl}/v1/chat/completions \\
  -H "x-gateway-api-key: $GATEWAY_KEY" \\
  -H "x-gateway-config: ${slug}" \\
  -H "content-type: application/json" \\
  -d '{"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hello"}]}'`;
  return (
    <DetailPage
      title={initial.name}
      about={`${slug} · ${words.changedAgo({ ago: formatAgo(data.last_updated_at) })}`}
      back={back}
      actions={<Actions slug={slug} record={data} />}
    >
      <Tabs defaultValue="config" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="config">{words.one}</Tabs.Tab>
          <Tabs.Tab value="versions">{words.versions}</Tabs.Tab>
          <Tabs.Tab value="use">{words.use}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="config" keepMounted>
          <ConfigEditor key={data.version_id} slug={slug} initial={initial} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <ConfigVersions slug={slug} currentId={data.version_id} />
        </Tabs.Panel>
        <Tabs.Panel value="use">
          <Section title={words.use} isPlain>
            <Text size="sm" mb="sm">
              {words.useHint}
            </Text>
            <Command value={command} />
          </Section>
        </Tabs.Panel>
      </Tabs>
    </DetailPage>
  );
}

interface ActionsProps {
  readonly slug: string;
  readonly record: AnswerOf<"GET /v1/configs/{slug}">;
}

function Actions({ slug, record }: ActionsProps): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery(configs);
  const remove = async () => {
    await ask("DELETE /v1/configs/{slug}", { path: { slug }, query: workspace });
    notifications.show({ message: text.common.deleted({ what: words.one }) });
    await navigate({ to: "/configs" });
    await queries.invalidateQueries({ queryKey: ["configs"] });
  };
  return (
    <>
      {record.is_default === 1 && <StatusBadge value={words.isDefault} label={words.isDefault} />}
      <CopyValue value={slug} label={words.copySlug} />
      {can("POST /v1/chat/completions") && (
        <Button
          component={Link}
          to={`/playground?config=${encodeURIComponent(slug)}`}
          variant="default"
          leftSection={<Icon name="playground" size={14} />}
        >
          {text.nav.playground}
        </Button>
      )}
      <DeleteButton row="DELETE /v1/configs/{slug}" what={words.one} name={record.name || slug} onConfirm={remove} />
    </>
  );
}
