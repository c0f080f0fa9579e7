import { Code, Group, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { RecordTable } from "@/components/record-table.tsx";
import { isRow, type Row, readList, readText } from "@/lib/read.ts";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.guardrails;

/** Every check with its parameters, to copy ids from. */
export default function CheckCatalog(): ReactNode {
  const part = usePart("/v1/guardrails/checks");
  const [find, setFind] = useState("");
  const parameters = ({ parameters: schema }: Row) => (
    <Group gap={4}>
      {Object.keys(isRow(schema) && isRow(schema.properties) ? schema.properties : {}).map((name) => (
        <Code key={name}>{name}</Code>
      ))}
    </Group>
  );
  const columns = [
    {
      label: text.resources.fields.id,
      path: "id",
      render: (row: Row) => (
        <>
          <span className="code">{readText(row, "id")}</span>
          <div data-narrow="true">{parameters(row)}</div>
        </>
      ),
    },
    { label: text.resources.fields.type, path: "source", wide: true },
    { label: words.parameters, path: "parameters", wide: true, render: parameters },
  ] as const;
  return (
    <Part part={part}>
      {(data) => (
        <>
          <TextInput
            aria-label={text.common.search}
            placeholder={text.common.search}
            value={find}
            onChange={(event) => setFind(event.currentTarget.value)}
          />
          <RecordTable
            label={words.catalog}
            columns={columns}
            rows={readList(data).filter((row) => readText(row, "id").toLowerCase().includes(find.toLowerCase()))}
            empty={text.common.nothingMatches}
          />
        </>
      )}
    </Part>
  );
}
