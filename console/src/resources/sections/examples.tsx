import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.exampleSets;

type Example = RowIn<AnswerOf<"GET /v1/example-sets/{id}/examples">>;

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** At most three lines of a text. */
const short = (value: unknown): ReactNode =>
  value === null || value === undefined ? undefined : (
    <Text size="sm" lineClamp={3} style={{ overflowWrap: "anywhere" }}>
      {asText(value)}
    </Text>
  );

const columns: readonly Attribute<Example>[] = [
  { label: words.number, of: ({ index }) => index, kind: "number" },
  { label: words.input, of: ({ body }) => body, render: ({ body, variables }) => short(body ?? variables) },
  { label: words.expectedAnswer, of: ({ expected }) => expected, render: ({ expected }) => short(expected) },
  { label: words.fromLog, of: (row) => row.log_id, kind: "id", wide: true },
];

/** The first examples of the newest version. */
export default function Examples({ record, id }: SectionProps<AnswerOf<"GET /v1/example-sets/{id}">>): ReactNode {
  const { version } = record;
  const query = { version, page_size: 100 };
  const part = usePart("/v1/example-sets/{id}/examples", { path: { id }, inWorkspace: true, query });
  return (
    <Part part={part}>
      {({ data }) => (
        <RecordTable
          label={words.newest({ version })}
          columns={columns}
          rows={data}
          idOf={({ index }) => String(index)}
          empty={words.noExamples}
        />
      )}
    </Part>
  );
}
