import { Button, Progress } from "@mantine/core";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { formatDollars, formatNumber, formatShare } from "@/lib/format.ts";
import { nameOf } from "@/lib/words.ts";
import { WithNames } from "@/resources/names.tsx";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.usageLimits;
const fields = text.resources.fields;

/** `api_key:ID` with the name of the key in words. */
const groupOf = (value: string): string => value.replaceAll(/(\w+):(?=\S)/g, (_, name: string) => `${nameOf(name)}: `);

type Entity = RowIn<AnswerOf<"GET /v1/policies/usage-limits/{id}/entities">>;

/** What each counter of a usage limit holds now, drawn against the limit. */
export default function Entities({
  record,
  id,
}: SectionProps<AnswerOf<"GET /v1/policies/usage-limits/{id}">>): ReactNode {
  const part = usePart("/v1/policies/usage-limits/{id}/entities", {
    path: { id },
    inWorkspace: true,
    query: { page_size: 100 },
  });
  const { can } = useSession();
  const limit = record.credit_limit;
  const inUnits = record.type === "cost" ? formatDollars : formatNumber;
  const used = ({ current_usage: usage }: Entity) => {
    const share = limit > 0 ? usage / limit : 0;
    const colour = share >= 1 ? "red" : share >= 0.8 ? "orange" : "accent";
    return (
      <Progress
        miw="4rem"
        value={Math.min(100, share * 100)}
        color={colour}
        aria-label={`${words.entities}: ${formatShare(share)}`}
      />
    );
  };
  const columns: readonly Attribute<Entity>[] = [
    {
      label: words.countedFor,
      of: ({ value_key }) => value_key,
      render: ({ value_key: key }) => <WithNames value={groupOf(key)} />,
    },
    {
      label: fields.used,
      of: ({ current_usage }) => current_usage,
      render: ({ current_usage: usage }) => words.usedOf({ used: inUnits(usage), limit: inUnits(limit) }),
    },
    { label: "", of: ({ current_usage }) => current_usage, wide: true, render: used },
    { label: text.common.status, of: ({ status }) => status, kind: "status" },
  ];
  return (
    <Part part={part}>
      {({ data }) => (
        <RecordTable
          label={words.entities}
          columns={columns}
          rows={data}
          idOf={({ id: entity }) => entity}
          empty={words.entitiesEmpty}
          isStacked
          actions={({ id: entityId }) =>
            can("PUT /v1/policies/usage-limits/{id}/entities/{entityId}/reset") && (
              <Button
                variant="default"
                onClick={() =>
                  part.write.mutate({
                    row: "PUT /v1/policies/usage-limits/{id}/entities/{entityId}/reset",
                    path: { id, entityId },
                    body: {},
                  })
                }
              >
                {words.resetNow}
              </Button>
            )
          }
        />
      )}
    </Part>
  );
}
