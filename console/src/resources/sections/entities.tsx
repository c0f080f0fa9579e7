import { Button, Progress } from "@mantine/core";
import type { ReactNode } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { formatDollars, formatNumber, formatShare } from "@/lib/format.ts";
import { type Row, readList, readText } from "@/lib/read.ts";
import { nameOf } from "@/lib/words.ts";
import { WithNames } from "@/resources/names.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.usageLimits;
const fields = text.resources.fields;

/** `api_key:ID` with the name of the key in words. */
const groupOf = (value: string): string => value.replaceAll(/(\w+):(?=\S)/g, (_, name: string) => `${nameOf(name)}: `);

/** What each counter of a usage limit holds now, drawn against the limit. */
export default function Entities({ record, id }: { readonly record: Row; readonly id: string }): ReactNode {
  const path = `/v1/policies/usage-limits/${encodeURIComponent(id)}/entities`;
  const part = usePart(path, { inWorkspace: true, query: { page_size: 100 } });
  const { can } = useSession();
  const limit = Number(record.credit_limit);
  const inUnits = (value: unknown) =>
    record.type === "cost" ? formatDollars(Number(value)) : formatNumber(Number(value));
  const used = (row: Row) => {
    const share = limit > 0 ? Number(row.current_usage) / limit : 0;
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
  const columns = [
    {
      label: words.countedFor,
      path: "value_key",
      render: (row: Row) => <WithNames value={groupOf(readText(row, "value_key"))} />,
    },
    {
      label: fields.used,
      path: "current_usage",
      render: (row: Row) => words.usedOf(inUnits(row.current_usage), inUnits(limit)),
    },
    { label: "", path: "share", wide: true, render: used },
    { label: text.common.status, path: "status", kind: "status" },
  ] as const;
  return (
    <Part part={part}>
      {(data) => (
        <RecordTable
          label={words.entities}
          columns={columns}
          rows={readList(data)}
          empty={words.entitiesEmpty}
          isStacked
          actions={(row) =>
            can("PUT /v1/policies/usage-limits/{id}/entities/{entityId}/reset") && (
              <Button
                variant="default"
                onClick={() =>
                  part.write.mutate({
                    method: "PUT",
                    at: `${path}/${encodeURIComponent(readText(row, "id"))}/reset`,
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
