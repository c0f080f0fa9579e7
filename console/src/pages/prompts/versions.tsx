import { Button, Group, Menu, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { TextDiff } from "@/components/code-editor.tsx";
import { Icon } from "@/components/icons.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { StatusBadge, Value } from "@/components/value.tsx";
import { useVersionPair } from "@/components/version-pair.tsx";
import { Section } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { useVersions, useWorkspaceQuery } from "@/resources/data.ts";
import { firstPage, useLabels } from "@/resources/prompt-options.ts";
import type { RowIn } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { usePromptChange } from "./data.ts";
import { describeVersion } from "./draft.ts";
import { Labels } from "./labels-of.tsx";

type Version = RowIn<AnswerOf<"GET /v1/prompts/{id}/versions">>;

const words = text.prompts;

interface VersionsProps {
  readonly id: string;
  /** Number of the version that requests without a version get. */
  readonly defaultVersion: string;
}

/** Versions of a prompt with their labels, and what differs between two of them. */
export function PromptVersions({ id, defaultVersion }: VersionsProps): ReactNode {
  const { data, error, refetch } = useVersions("prompts", "/v1/prompts/{id}/versions", {
    path: { id },
    query: firstPage,
  });
  const change = usePromptChange();
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  return (
    <Stack gap="md">
      <Section title={words.versions} isPlain>
        {change.error !== null && <Failure error={change.error} />}
        <Table.ScrollContainer minWidth={280} type="native" tabIndex={0} aria-label={words.versions}>
          <Table verticalSpacing={6} horizontalSpacing="clamp(0.25rem, 1vw, 0.625rem)" fz="sm">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words.version}</Table.Th>
                <Table.Th>{words.labels}</Table.Th>
                <Table.Th data-wide="true">{words.description}</Table.Th>
                <Table.Th data-wide="true">{words.created}</Table.Th>
                <Table.Th>{text.common.actions}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.data.map((version) => (
                <VersionRow
                  key={version.id}
                  id={id}
                  version={version}
                  isDefault={String(version.prompt_version) === defaultVersion}
                  change={change.mutate}
                />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Section>
      {data.data.length > 1 && <Compare id={id} versions={data.data} />}
    </Stack>
  );
}

interface VersionRowProps {
  readonly id: string;
  readonly version: Version;
  readonly isDefault: boolean;
  readonly change: ReturnType<typeof usePromptChange>["mutate"];
}

function VersionRow({ id, version, isDefault, change }: VersionRowProps): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const number = String(version.prompt_version);
  const description = version.prompt_description ?? "";
  const created = formatTime(version.created_at);
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={6} wrap="nowrap">
          {number}
          {isDefault && <StatusBadge value={words.isDefault} label={words.isDefault} />}
        </Group>
        <Text size="xs" c="dimmed" data-narrow="true">
          {[created, description].filter((part) => part !== "").join(" · ")}
        </Text>
      </Table.Td>
      <Table.Td>
        <Labels of={version.labels} />
      </Table.Td>
      <Table.Td data-wide="true">
        <Value value={description} />
      </Table.Td>
      <Table.Td data-wide="true">{created}</Table.Td>
      <Table.Td>
        <Group gap={6}>
          <Button
            variant="default"
            size="compact-xs"
            onClick={() => void navigate({ to: ".", search: { version: number } })}
          >
            {words.openVersion}
          </Button>
          {!isDefault && can("PUT /v1/prompts/{id}/makeDefault") && (
            <Button
              variant="default"
              size="compact-xs"
              onClick={() =>
                change({
                  row: "PUT /v1/prompts/{id}/makeDefault",
                  path: { id },
                  body: { version: version.prompt_version },
                })
              }
            >
              {words.makeDefault}
            </Button>
          )}
          {can("PUT /v1/prompts/{id}/versions/{versionId}") && (
            <LabelMenu id={id} versionId={version.id} number={number} change={change} />
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

interface LabelMenuProps {
  readonly id: string;
  readonly versionId: string;
  readonly number: string;
  readonly change: VersionRowProps["change"];
}

function LabelMenu({ id, versionId, number, change }: LabelMenuProps): ReactNode {
  const labels = useLabels();
  const put = (labelId: string | null) =>
    change({ row: "PUT /v1/prompts/{id}/versions/{versionId}", path: { id, versionId }, body: { label_id: labelId } });
  return (
    <Menu>
      <Menu.Target>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={words.labelVersion({ number })}
          rightSection={<Icon name="unfold" size={12} />}
        >
          {words.label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {labels.map(({ value, label }) => (
          <Menu.Item key={value} onClick={() => put(value)}>
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => put(null)}>{words.removeLabels}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** One version with its model and parameters, in words. */
function useVersionText(id: string, versionId: string) {
  const workspace = useWorkspaceQuery({ workspace: "required" });
  return useQuery({
    queryKey: ["prompts", "version", id, versionId, workspace],
    queryFn: async ({ signal }) =>
      describeVersion(
        await get("/v1/prompts/{id}/versions/{versionId}", { path: { id, versionId }, query: workspace, signal }),
      ),
  });
}

function Compare({ id, versions }: { readonly id: string; readonly versions: readonly Version[] }): ReactNode {
  const choices = versions.map(({ id: value, prompt_version: number, created_at: created }) => ({
    value,
    label: words.versionAt({ number: String(number), when: formatTime(created) }),
  }));
  const { before, after, fields } = useVersionPair({
    choices,
    before: versions[1]?.id ?? "",
    after: versions[0]?.id ?? "",
    words,
  });
  const one = useVersionText(id, before);
  const other = useVersionText(id, after);
  const error = one.error ?? other.error;
  return (
    <Section title={words.compare}>
      <Stack gap="sm">
        <Group align="end">{fields}</Group>
        {error !== null && <Failure error={error} />}
        {one.data !== undefined && one.data === other.data && (
          <Text size="sm" c="dimmed">
            {words.same}
          </Text>
        )}
        {one.data !== undefined && other.data !== undefined && one.data !== other.data && (
          <TextDiff label={words.compare} language="text" before={one.data} after={other.data} />
        )}
      </Stack>
    </Section>
  );
}
