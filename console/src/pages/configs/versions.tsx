import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "@/api/client.ts";
import { TextDiff } from "@/components/code-editor.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { VersionPair } from "@/components/version-pair.tsx";
import { Section } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { type Row, readList, readText } from "@/lib/read.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { text } from "@/text/text.ts";
import { configs } from "./configs.ts";
import { codeOf } from "./draft.ts";

const words = text.configs;

/** What changed between two versions of a config. */
export function ConfigVersions({ slug, currentId }: { readonly slug: string; readonly currentId: string }): ReactNode {
  const workspace = useWorkspaceQuery(configs);
  const { data, error, refetch } = useQuery({
    queryKey: ["configs", "versions", slug, workspace],
    queryFn: async ({ signal }) =>
      readList(await call("GET", "/v1/configs/{slug}/versions", { path: { slug }, query: workspace, signal })),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const newestFirst = data.toSorted((one, other) =>
    readText(other, "version_created_at").localeCompare(readText(one, "version_created_at")),
  );
  return <Compare versions={newestFirst} currentId={currentId} />;
}

function Compare({
  versions,
  currentId,
}: {
  readonly versions: readonly Row[];
  readonly currentId: string;
}): ReactNode {
  const [before, setBefore] = useState(readText(versions[1], "version_id"));
  const [after, setAfter] = useState(currentId);
  const choices = versions.map((version, index) => {
    const id = readText(version, "version_id");
    const when = formatTime(readText(version, "version_created_at"));
    const label = words.version(versions.length - index, when);
    return { value: id, label: id === currentId ? `${label} · ${words.current}` : label };
  });
  const code = (id: string) => codeOf(versions.find((version) => readText(version, "version_id") === id) ?? {});
  return (
    <Section title={words.versions}>
      {versions.length < 2 ? (
        <Empty title={words.oneVersion} hint={words.oneVersionHint} />
      ) : (
        <Stack gap="sm">
          <Group align="end">
            <VersionPair
              choices={choices}
              before={before}
              after={after}
              onBefore={setBefore}
              onAfter={setAfter}
              words={words}
            />
          </Group>
          {before === after || code(before) === code(after) ? (
            <Text size="sm" c="dimmed">
              {words.same}
            </Text>
          ) : (
            <TextDiff label={words.versions} before={code(before)} after={code(after)} />
          )}
        </Stack>
      )}
    </Section>
  );
}
