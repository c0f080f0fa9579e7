import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { isRow, type Row, readList, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.collections;

interface Kind {
  readonly label: string;
  /** Address of its records in the console. */
  readonly to: string;
  /** Member that addresses a record. */
  readonly id: string;
}

const kinds = {
  collection: { label: words.one, to: "/collections", id: "id" },
  prompt: { label: text.prompts.one, to: "/prompts", id: "slug" },
  partial: { label: text.resources.partials.one, to: "/partials", id: "slug" },
} as const satisfies Readonly<Record<string, Kind>>;

const toRows = (kind: keyof typeof kinds, rows: readonly Row[]): readonly Row[] =>
  rows.map((row) => ({ ...row, kind, address: readText(row, kinds[kind].id) }));

const columns = [
  {
    label: text.common.name,
    path: "name",
    render: (row: Row) => {
      const { to } = kindOf(row);
      return (
        <Anchor component={Link} to={`${to}/${encodeURIComponent(readText(row, "address"))}`} inherit>
          {readText(row, "name")}
        </Anchor>
      );
    },
  },
  { label: text.resources.fields.type, path: "kind", render: (row: Row) => kindOf(row).label },
  { label: text.common.changed, path: "last_updated_at", kind: "ago", wide: true },
] as const;

function kindOf({ kind }: Row): Kind {
  return kind === "collection" || kind === "partial" ? kinds[kind] : kinds.prompt;
}

/** Collections, prompts and partials in a collection. */
export default function CollectionContents({ record, id }: { readonly record: Row; readonly id: string }): ReactNode {
  const { can } = useSession();
  const query = { collection_id: id, page_size: 100 };
  const prompts = usePart("/v1/prompts", { inWorkspace: true, query });
  const partials = usePart("/v1/prompts/partials", { inWorkspace: true, query });
  const own = Array.isArray(record.child_collections) ? record.child_collections.filter(isRow) : [];
  return (
    <Part part={prompts}>
      {(data) => (
        <RecordTable
          label={words.contents}
          columns={columns}
          rows={[
            ...toRows("collection", own),
            ...toRows("prompt", readList(data)),
            ...(can("GET /v1/prompts/partials") ? toRows("partial", readList(partials.data)) : []),
          ]}
          empty={words.contentsEmpty}
          id={["kind", "id"]}
        />
      )}
    </Part>
  );
}
