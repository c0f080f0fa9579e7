import { ActionIcon, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { type AnswerOf, send } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { TextDiff } from "@/components/code-editor.tsx";
import { Icon } from "@/components/icons.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { formatDollars, formatDuration } from "@/lib/format.ts";
import { saveAs } from "@/lib/save.ts";
import type { RowIn, SectionProps } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Part } from "./part.tsx";
import { usePart } from "./use-part.ts";

const words = text.resources.evalRuns;

type Run = AnswerOf<"GET /v1/eval-runs/{id}">;
type Result = RowIn<AnswerOf<"GET /v1/eval-runs/{id}/results">>;
type Answer = Result["answers"][number];

/** Examples of a page. */
const pageSize = 50;

const textOf = ({ text: said, error }: Answer): string => error ?? said ?? "";

/** At most four lines of a text; the comparison has all of it. */
function Short({ value }: { readonly value: string }): ReactNode {
  return (
    <Text size="sm" lineClamp={4} style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>
      {value}
    </Text>
  );
}

/** What a check says: one that could not decide is neither. */
function Verdict({
  name,
  verdict,
  reason,
}: {
  readonly name: string;
  readonly verdict: boolean | null;
  readonly reason: string | undefined;
}) {
  const value = verdict === null ? "no_data" : verdict ? "passed" : "failed";
  return (
    <span title={reason}>
      <StatusBadge value={value} label={name} />
    </span>
  );
}

interface AnswerCellProps {
  readonly answer: Answer;
  readonly example: number;
  /** Undefined: the viewer may not rate. */
  readonly onRate: ((rating: -1 | 0 | 1) => void) | undefined;
}

function AnswerCell({ answer, example, onRate }: AnswerCellProps): ReactNode {
  const { variant, cost, latency_ms: latency, verdicts, reasons, rating } = answer;
  if (answer.status === null) return "—";
  const figures = [
    latency === null ? undefined : formatDuration(latency),
    cost === null ? undefined : formatDollars(cost / 100),
  ];
  const rate = (value: -1 | 1, label: string, icon: "up" | "down") => (
    <ActionIcon
      variant={rating === value ? "filled" : "subtle"}
      size="sm"
      aria-label={label}
      aria-pressed={rating === value}
      onClick={() => onRate?.(rating === value ? 0 : value)}
    >
      <Icon name={icon} size={12} />
    </ActionIcon>
  );
  return (
    <Stack gap={4}>
      <Short value={textOf(answer)} />
      <Group gap={4}>
        {Object.entries(verdicts).map(([name, verdict]) => (
          <Verdict key={name} name={name} verdict={verdict} reason={reasons[name]} />
        ))}
      </Group>
      <Group gap="xs" c="dimmed" fz="xs">
        {figures.filter((figure) => figure !== undefined).join(" · ")}
        {onRate !== undefined && rate(1, words.good({ variant, example }), "up")}
        {onRate !== undefined && rate(-1, words.bad({ variant, example }), "down")}
      </Group>
    </Stack>
  );
}

/** What each variant answered, against what is expected or else the first variant. */
function Comparison({ result, onClose }: { readonly result: Result; readonly onClose: () => void }): ReactNode {
  const [first, ...others] = result.answers;
  const isExpected = result.expected !== null;
  const before = result.expected ?? (first ? textOf(first) : "");
  const name = isExpected ? words.expected : (first?.variant ?? "");
  const compared = isExpected ? result.answers : others;
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={words.comparison({ example: result.example })}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <Stack>
        <Short value={result.input} />
        {compared.map((answer) => (
          <Stack key={answer.variant} gap={4}>
            <Text size="sm" fw={600}>
              {words.against({ variant: answer.variant, other: name })}
            </Text>
            <TextDiff
              before={before}
              after={textOf(answer)}
              label={words.against({ variant: answer.variant, other: name })}
              language="text"
            />
          </Stack>
        ))}
      </Stack>
    </Modal>
  );
}

function Downloads({ id }: { readonly id: string }): ReactNode {
  const save = async (format: "csv" | "jsonl") => {
    const response = await send("GET", `/v1/eval-runs/${encodeURIComponent(id)}/export?format=${format}`);
    saveAs(`eval-${id}.${format}`, await response.blob());
  };
  return (
    <Group gap="xs">
      {(["csv", "jsonl"] as const).map((format) => (
        <Button key={format} variant="default" size="xs" onClick={() => void save(format)}>
          {`${words.exportAs} ${format.toUpperCase()}`}
        </Button>
      ))}
    </Group>
  );
}

/** Examples with what each variant answered: verdicts, costs, ratings and differences. */
export default function EvalResults({ record, id }: SectionProps<Run>): ReactNode {
  const { can } = useSession();
  const [page, setPage] = useState(0);
  const [compared, setCompared] = useState<Result>();
  // an answer that was added since belongs to another page of the same run
  const query = { current_page: page, page_size: pageSize };
  const part = usePart("/v1/eval-runs/{id}/results", { path: { id }, inWorkspace: true, query });
  const mayRate = can("POST /v1/eval-runs/{id}/ratings");
  const rate = (body: object) => part.write.mutate({ row: "POST /v1/eval-runs/{id}/ratings", body });
  const columns: readonly Attribute<Result>[] = [
    { label: words.example, of: ({ input }) => input, render: ({ input }) => <Short value={input} /> },
    {
      label: words.expected,
      of: ({ expected }) => expected,
      wide: true,
      render: ({ expected }) => expected !== null && <Short value={expected} />,
    },
    ...record.variants.map(
      ({ name }, index): Attribute<Result> => ({
        label: name,
        of: ({ answers }) => answers[index]?.text,
        render: ({ example, answers }) => {
          const answer = answers[index];
          const onRate = (rating: -1 | 0 | 1) => rate({ example, variant: name, rating });
          return answer && <AnswerCell answer={answer} example={example} onRate={mayRate ? onRate : undefined} />;
        },
      }),
    ),
  ];
  return (
    <Part part={part}>
      {({ data, has_more: hasMore }) => (
        <Stack>
          <Downloads id={id} />
          <RecordTable
            label={words.results}
            columns={columns}
            rows={data}
            idOf={({ example }) => String(example)}
            empty={words.none}
            isStacked
            actions={(result) => (
              <Button variant="subtle" size="xs" onClick={() => setCompared(result)}>
                {words.compare}
              </Button>
            )}
          />
          {(page > 0 || hasMore) && (
            <Group>
              <Button variant="default" disabled={page === 0} onClick={() => setPage(page - 1)}>
                {words.previousPage}
              </Button>
              <Button variant="default" disabled={!hasMore} onClick={() => setPage(page + 1)}>
                {words.nextPage}
              </Button>
            </Group>
          )}
          {compared && <Comparison result={compared} onClose={() => setCompared(undefined)} />}
        </Stack>
      )}
    </Part>
  );
}
