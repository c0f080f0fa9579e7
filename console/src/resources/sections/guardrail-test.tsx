import { Button, Group, Stack, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { useState } from "react";
import { type AnswerOf, post } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { Members } from "@/components/members.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { Failure } from "@/components/states.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { fullNameOf } from "@/resources/checks/words.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import type { SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.guardrails;

type Checked = NonNullable<AnswerOf<"POST /v1/guardrails/{id}/test">["result"]>["checks"][number];

const columns: readonly Attribute<Checked>[] = [
  { label: words.check, of: ({ id }) => fullNameOf(id) },
  { label: text.common.status, of: ({ verdict }) => verdict, render: ({ verdict }) => <Verdict passed={verdict} /> },
  { label: text.common.details, of: ({ data }) => data?.explanation },
  { label: text.resources.fields.error, of: ({ error }) => error, render: ({ error }) => <Members value={error} /> },
];

/** Runs a guardrail on a text and shows what each check says. */
export default function GuardrailTest({ id }: SectionProps): ReactNode {
  const [input, setInput] = useState("");
  const workspace = useWorkspaceQuery({ workspace: "optional" });
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => post("/v1/guardrails/{id}/test", { path: { id }, body: { text: input, ...workspace } }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Textarea
          label={words.testInput}
          description={words.testHint}
          autosize
          minRows={3}
          maxRows={12}
          value={input}
          onChange={(event) => setInput(event.currentTarget.value)}
        />
        <Group>
          <Button type="submit" loading={isPending} disabled={input === ""}>
            {words.run}
          </Button>
          {data !== undefined && <Verdict passed={data.result?.verdict === true} />}
        </Group>
        {error !== null && <Failure error={error} />}
        {data?.result && (
          <RecordTable
            label={words.checks}
            columns={columns}
            rows={data.result.checks}
            idOf={({ id: check, created_at: at }) => `${check} ${at}`}
            empty={text.common.none}
          />
        )}
        {data?.transformed && (
          <CodeEditor
            label={text.common.json}
            value={JSON.stringify(data.transformed, undefined, 2)}
            minHeight="4rem"
          />
        )}
      </Stack>
    </form>
  );
}

function Verdict({ passed }: { readonly passed: boolean }): ReactNode {
  return (
    <output>
      <StatusBadge value={passed ? "passed" : "failed"} label={passed ? words.passed : words.failed} />
    </output>
  );
}
