import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
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

/** The versions of a set, newest first. */
export default function ExampleVersions({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/example-sets/{id}/versions", { path: { id }, inWorkspace: true, query: { page_size: 50 } });
  return (
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
  );
}
