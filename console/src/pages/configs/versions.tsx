import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import { TextDiff } from "@/components/code-editor.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { useVersionPair } from "@/components/version-pair.tsx";
import { Section } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { useVersions } from "@/resources/data.ts";
import type { RowIn } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { codeOf } from "./draft.ts";

const words = text.configs;

type Version = RowIn<AnswerOf<"GET /v1/configs/{slug}/versions">>;

/** What changed between two versions of a config. */
export function ConfigVersions({ slug, currentId }: { readonly slug: string; readonly currentId: string }): ReactNode {
  const { data, error, refetch } = useVersions("configs", "/v1/configs/{slug}/versions", { path: { slug } });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const newestFirst = data.data.toSorted((one, other) =>
    other.version_created_at.localeCompare(one.version_created_at),
  );
  return <Compare versions={newestFirst} currentId={currentId} />;
}

function Compare({
  versions,
  currentId,
}: {
  readonly versions: readonly Version[];
  readonly currentId: string;
}): ReactNode {
  const choices = versions.map(({ version_id: id, version_created_at: created }, index) => {
    const when = formatTime(created);
    return {
      value: id,
      label: words.version({
        number: versions.length - index,
        when: id === currentId ? `${words.current} · ${when}` : when,
      }),
    };
  });
  const oneBefore = versions[1]?.version_id ?? "";
  const { before, after, fields } = useVersionPair({ choices, before: oneBefore, after: currentId, words });
  const code = (id: string) => codeOf(versions.find((version) => version.version_id === id));
  return (
    <Section title={words.versions} isPlain>
      {versions.length < 2 ? (
        <Empty title={words.oneVersion} hint={words.oneVersionHint} />
      ) : (
        <Stack gap="sm">
          <Group align="end">{fields}</Group>
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
