import { Button, FileButton, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type AnswerOf, post } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { Failure } from "@/components/states.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.exampleSets;
const fields = text.resources.fields;

type Version = RowIn<AnswerOf<"GET /v1/example-sets/{id}/versions">>;

const columns: readonly Attribute<Version>[] = [
  { label: words.version, of: ({ version }) => version, kind: "number" },
  { label: words.examples, of: ({ examples }) => examples, kind: "number" },
  { label: words.bytes, of: ({ bytes }) => bytes, kind: "bytes", wide: true },
  { label: fields.created, of: (row) => row.created_at, kind: "time" },
  { label: words.expires, of: (row) => row.expires_at, kind: "time", empty: fields.never, wide: true },
];

/** The examples of a file: a value in each line that is not empty. */
function readLines(content: string): unknown[] {
  return content.split(/\r?\n/).flatMap((line, index): unknown[] => {
    if (line.trim() === "") return [];
    try {
      return [JSON.parse(line)];
    } catch {
      throw new Error(words.notLines({ line: index + 1 }));
    }
  });
}

/** Makes a file the next version of a set. */
function Upload({ id }: { readonly id: string }): ReactNode {
  const { can } = useSession();
  const queries = useQueryClient();
  const upload = useMutation({
    mutationFn: async (file: File) =>
      post("/v1/example-sets/{id}/versions", { path: { id }, body: { examples: readLines(await file.text()) } }),
    async onSuccess({ examples, skipped }) {
      notifications.show({ message: words.saved({ examples, skipped }) });
      await queries.invalidateQueries();
    },
  });
  if (!can("POST /v1/example-sets/{id}/versions")) return null;
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <FileButton accept=".jsonl,.ndjson,.json" onChange={(file) => file !== null && upload.mutate(file)}>
          {(props) => (
            <Button {...props} variant="default" loading={upload.isPending}>
              {words.upload}
            </Button>
          )}
        </FileButton>
        <Text size="sm" c="dimmed">
          {words.uploadHelp}
        </Text>
      </Group>
      {upload.error !== null && <Failure error={upload.error} />}
    </Stack>
  );
}

/** The versions of a set, newest first. */
export default function ExampleVersions({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/example-sets/{id}/versions", { path: { id }, inWorkspace: true, query: { page_size: 50 } });
  return (
    <Stack gap="sm">
      <Upload id={id} />
      <Part part={part}>
        {({ data }) => (
          <RecordTable
            label={words.versions}
            columns={columns}
            rows={data}
            idOf={(row) => row.id}
            empty={text.common.none}
          />
        )}
      </Part>
    </Stack>
  );
}
