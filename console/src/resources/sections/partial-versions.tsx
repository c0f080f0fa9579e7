import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type AnswerOf, ask } from "@/api/client.ts";
import { CodeEditor, TextDiff } from "@/components/code-editor.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { useVersionPair } from "@/components/version-pair.tsx";
import { formatTime } from "@/lib/format.ts";
import { useVersions, useWorkspaceQuery } from "@/resources/data.ts";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";

const words = text.prompts;

type Version = RowIn<AnswerOf<"GET /v1/prompts/partials/{id}/versions">>;

/** Versions of a partial: which one is the default, and what differs between two. */
export default function PartialVersions({
  record,
  id,
}: SectionProps<AnswerOf<"GET /v1/prompts/partials/{id}">>): ReactNode {
  const { data, error, refetch } = useVersions("partials", "/v1/prompts/partials/{id}/versions", { path: { id } });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  return <Versions id={id} versions={data.data} current={String(record.version)} />;
}

interface VersionsProps {
  readonly id: string;
  readonly versions: readonly Version[];
  readonly current: string;
}

function Versions({ id, versions, current }: VersionsProps): ReactNode {
  const { can } = useSession();
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery({ workspace: "required" });
  const makeDefault = useMutation({
    async mutationFn(version: string) {
      const row = "PUT /v1/prompts/partials/{id}/makeDefault";
      await ask(row, { path: { id }, query: workspace, body: { version: Number(version) } });
      await queries.invalidateQueries({ queryKey: ["partials"] });
    },
  });
  const choices = versions.map(({ version, created_at: created }) => {
    const value = String(version);
    const when = formatTime(created);
    const label = words.versionAt({ number: value, when: value === current ? `${words.isDefault} · ${when}` : when });
    return { value, label };
  });
  const { before, after, fields } = useVersionPair({
    choices,
    before: current,
    after: String(versions[0]?.version ?? ""),
    words,
  });
  const textOf = (number: string) => versions.find(({ version }) => String(version) === number)?.string ?? "";
  const [only] = choices;
  if (choices.length === 1 && only !== undefined) {
    return (
      <Stack gap="xs">
        <Text size="sm">{only.label}</Text>
        <CodeEditor label={words.versions} language="text" value={textOf(only.value)} minHeight="4rem" />
      </Stack>
    );
  }
  return (
    <Stack gap="sm">
      <Group align="end">
        {fields}
        {after !== current && can("PUT /v1/prompts/partials/{id}/makeDefault") && (
          <Button variant="default" loading={makeDefault.isPending} onClick={() => makeDefault.mutate(after)}>
            {words.makeVersionDefault({ number: after })}
          </Button>
        )}
      </Group>
      {makeDefault.error !== null && <Failure error={makeDefault.error} />}
      {textOf(before) === textOf(after) ? (
        <CodeEditor label={words.versions} language="text" value={textOf(after)} minHeight="4rem" />
      ) : (
        <TextDiff label={words.compare} language="text" before={textOf(before)} after={textOf(after)} />
      )}
    </Stack>
  );
}
