import { Alert, SegmentedControl, Stack } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { BigText } from "@/components/big-text.tsx";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Empty } from "@/components/states.tsx";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
import { text } from "@/text/text.ts";

const words = text.logs.raw;

/** Largest text for the editor; beyond it only the lines in view are drawn. */
const editorText = 60_000;

const sides = ["request", "finalUntransformedRequest", "transformedRequest", "originalResponse", "response"] as const;

/** Both sides as they were stored, and the row itself. */
export function Raw({ row }: { readonly row: Row }): ReactNode {
  const names = sides.filter((name) => isRow(row[name]));
  const [side, setSide] = useState<string>("request");
  const choices = [...names, "row"].map((name) => ({ value: name, label: Reflect.get(words.sides, name) }));
  return (
    <Stack gap="md">
      <div style={{ overflowX: "auto" }}>
        <SegmentedControl aria-label={words.side} data={choices} value={side} onChange={setSide} />
      </div>
      {side === "row" ? <RowJson row={row} /> : <Side key={side} name={side} side={row[side]} />}
    </Stack>
  );
}

function Side({ name, side }: { readonly name: string; readonly side: unknown }): ReactNode {
  const headers = readPath(side, "headers");
  const body = readPath(side, "body");
  const entries = isRow(headers) ? Object.entries(headers) : [];
  return (
    <>
      {readPath(side, "truncated") === true && (
        <Alert color="yellow" variant="light">
          {words.truncated}
        </Alert>
      )}
      {entries.length > 0 && (
        <Section title={words.headers}>
          <Facts
            rows={entries.map(
              ([key, value]) =>
                [
                  key,
                  <span key={key} className="code">
                    {String(value)}
                  </span>,
                ] as const,
            )}
          />
        </Section>
      )}
      {body === null || body === undefined ? (
        <Section title={words.body} isPlain>
          <Empty title={words.noBody} />
        </Section>
      ) : (
        <Section title={words.body}>
          <Body value={body} name={name} />
        </Section>
      )}
    </>
  );
}

/** A body is written out once, when its side is opened. */
function Body({ value, name }: { readonly value: unknown; readonly name: string }): ReactNode {
  const [json, isJson] = useMemo(
    () => (typeof value === "string" ? [value, false] : [JSON.stringify(value, undefined, 2) ?? "", true]),
    [value],
  );
  if (json.length > editorText)
    return <BigText value={json} label={name} fileName={`${name}.${isJson ? "json" : "txt"}`} />;
  return <CodeEditor label={name} value={json} language={isJson ? "json" : "text"} />;
}

function RowJson({ row }: { readonly row: Row }): ReactNode {
  const own = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(row).filter(([name]) => !sides.some((side) => side === name) && name !== "metrics"),
      ),
    [row],
  );
  return (
    <Section title={words.sides.row}>
      <Body value={own} name={readText(row, "id")} />
    </Section>
  );
}
