import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.alertRules;

type Event = RowIn<AnswerOf<"GET /v1/alert-rules/{id}/events">>;

const columns: readonly Attribute<Event>[] = [
  { label: text.resources.fields.created, of: (row) => row.created_at, kind: "time" },
  { label: words.event, of: ({ type }) => type, kind: "status" },
  { label: words.value, of: ({ value }) => value, kind: "number" },
  { label: words.requests, of: ({ requests }) => requests, kind: "number", wide: true },
  { label: words.delivery, of: ({ delivery }) => delivery, kind: "status" },
  { label: words.problem, of: ({ problem }) => problem, wide: true },
];

/** What a rule found, and whether it was sent. */
export default function AlertEvents({ id }: SectionProps): ReactNode {
  const part = usePart("/v1/alert-rules/{id}/events", { path: { id }, inWorkspace: true, query: { page_size: 50 } });
  return (
    <Part part={part}>
      {({ data }) => (
        <RecordTable
          label={words.events}
          columns={columns}
          rows={data}
          idOf={(row) => row.id}
          empty={words.eventsEmpty}
        />
      )}
    </Part>
  );
}
