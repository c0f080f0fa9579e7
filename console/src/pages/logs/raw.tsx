import { Alert, SegmentedControl, Stack } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { BigText } from "@/components/big-text.tsx";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Empty } from "@/components/states.tsx";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { textOf } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import type { LogRow } from "./row.ts";

const words = text.logs.raw;

/** Largest text for the editor; beyond it only the lines in view are drawn. */
const editorText = 60_000;

const sides = ["request", "finalUntransformedRequest", "transformedRequest", "originalResponse", "response"] as const;

/** Both sides as they were stored, and the row itself. */
export function Raw({ row }: { readonly row: LogRow }): ReactNode {
  const names = sides.filter((name) => row[name] !== undefined);
  const [chosen, setChosen] = useState<string>("request");
  const side = sides.find((name) => name === chosen);
  const choices = [...names, "row"].map((name) => ({ value: name, label: Reflect.get(words.sides, name) }));
  return (
    <Stack gap="md">
      <div style={{ overflowX: "auto" }}>
        <SegmentedControl aria-label={words.side} data={choices} value={chosen} onChange={setChosen} />
      </div>
      {side === undefined ? <RowJson row={row} /> : <Side key={side} name={side} side={row[side]} />}
    </Stack>
  );
}

interface SideProps {
  readonly name: string;
  readonly side: LogRow[(typeof sides)[number]];
}

function Side({ name, side = {} }: SideProps): ReactNode {
  const { headers = {}, body } = side;
  const entries = Object.entries(headers);
  return (
    <>
      {side.truncated === true && (
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
                    {value}
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

function RowJson({ row }: { readonly row: LogRow }): ReactNode {
  const own = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(row).filter(([name]) => !sides.some((side) => side === name) && name !== "metrics"),
      ),
    [row],
  );
  return (
    <Section title={words.sides.row}>
      <Body value={own} name={textOf(row.id)} />
    </Section>
  );
}
