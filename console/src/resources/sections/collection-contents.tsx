import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import type { SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.collections;

/** What a collection holds: one of its collections, prompts or partials. */
interface Held {
  readonly kind: string;
  /** Address in the console. */
  readonly to: string;
  readonly name: string;
  readonly last_updated_at: string;
}

interface Named {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly last_updated_at: string;
}

const toCollection = ({ id, ...one }: Named): Held => ({
  ...one,
  kind: words.one,
  to: `/collections/${encodeURIComponent(id)}`,
});
const toPrompt = ({ slug, ...one }: Named): Held => ({
  ...one,
  kind: text.prompts.one,
  to: `/prompts/${encodeURIComponent(slug)}`,
});
const toPartial = ({ slug, ...one }: Named): Held => ({
  ...one,
  kind: text.resources.partials.one,
  to: `/partials/${encodeURIComponent(slug)}`,
});

const columns: readonly Attribute<Held>[] = [
  {
    label: text.common.name,
    of: ({ name }) => name,
    render: ({ to, name }) => (
      <Anchor component={Link} to={to} inherit>
        {name}
      </Anchor>
    ),
  },
  { label: text.resources.fields.type, of: ({ kind }) => kind },
  { label: text.common.changed, of: ({ last_updated_at: changed }) => changed, kind: "ago", wide: true },
];

/** Collections, prompts and partials in a collection. */
export default function CollectionContents({
  record,
  id,
}: SectionProps<AnswerOf<"GET /v1/collections/{id}">>): ReactNode {
  const { can } = useSession();
  const query = { collection_id: id, page_size: 100 };
  const prompts = usePart("/v1/prompts", { inWorkspace: true, query });
  const partials = usePart("/v1/prompts/partials", { inWorkspace: true, query });
  return (
    <Part part={prompts}>
      {({ data }) => (
        <RecordTable
          label={words.contents}
          columns={columns}
          rows={[
            ...record.child_collections.map(toCollection),
            ...data.map(toPrompt),
            ...(can("GET /v1/prompts/partials") ? (partials.data?.data ?? []).map(toPartial) : []),
          ]}
          empty={words.contentsEmpty}
          idOf={({ to }) => to}
        />
      )}
    </Part>
  );
}
