import { Button, Group, NumberInput, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { get, post } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatNumber } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import type { LogRow } from "./row.ts";

const words = text.logs.feedback;

const dayMs = 86_400_000;

/** Feedback of the row's trace, and giving some. */
export function Feedback({ row }: { readonly row: LogRow }): ReactNode {
  const { can } = useSession();
  const trace = textOf(row.trace_id);
  return (
    <Stack gap="md">
      {can("GET /v1/analytics/graphs/feedbacks/scores") && <Scores row={row} trace={trace} />}
      {can("POST /v1/feedback") && <Rate trace={trace} />}
    </Stack>
  );
}

function Scores({ row, trace }: { readonly row: LogRow; readonly trace: string }): ReactNode {
  const scope = useLogScope();
  const at = Date.parse(textOf(row.created_at));
  const query = {
    ...scope,
    trace_id: trace,
    time_of_generation_min: new Date(at - dayMs).toISOString(),
    time_of_generation_max: new Date(at + dayMs).toISOString(),
  };
  const { data, error, refetch } = useQuery({
    queryKey: ["feedback", trace, scope],
    queryFn: ({ signal }) => get("/v1/analytics/graphs/feedbacks/scores", { query, signal }),
  });
  const given = data?.data_points.filter(({ total }) => total > 0) ?? [];
  return (
    <Section title={words.title}>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && given.length === 0 && <Empty title={words.none} />}
      {given.length > 0 && (
        <Table aria-label={words.title} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.score}</Table.Th>
              <Table.Th ta="end">{words.count}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {given.map(({ score, total }) => (
              <Table.Tr key={score}>
                <Table.Td>{score > 0 ? `+${score}` : score}</Table.Td>
                <Table.Td className="number">{formatNumber(total)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

function Rate({ trace }: { readonly trace: string }): ReactNode {
  const queries = useQueryClient();
  const [value, setValue] = useState<number | "">("");
  const [weight, setWeight] = useState<number>(1);
  const [note, setNote] = useState("");
  const [state, setState] = useState<{ busy?: boolean; error?: unknown; done?: boolean; missing?: boolean }>({});
  const give = async (event: FormEvent) => {
    event.preventDefault();
    if (value === "") {
      setState({ missing: true });
      return;
    }
    setState({ busy: true });
    try {
      const metadata = note.trim() === "" ? {} : { note: note.trim() };
      await post("/v1/feedback", { body: { trace_id: trace, value: Number(value), weight, metadata } });
      setState({ done: true });
      await queries.invalidateQueries({ queryKey: ["feedback", trace] });
    } catch (error) {
      setState({ error });
    }
  };
  const choose = (next: number | "") => {
    setValue(next);
    setState({});
  };
  return (
    <Section title={words.give}>
      <form onSubmit={(event) => void give(event)}>
        <Stack gap="sm">
          <Group align="end" gap="sm">
            <ScoreButtons value={value} onChange={choose} />
            <Group gap="sm">
              <NumberInput
                label={words.value}
                placeholder={words.valueHint}
                min={-10}
                max={10}
                allowDecimal={false}
                value={value}
                onChange={(next) => choose(next === "" ? "" : Number(next))}
                w="7rem"
              />
              <NumberInput
                label={words.weight}
                min={0}
                max={1}
                step={0.1}
                value={weight}
                onChange={(next) => setWeight(Number(next))}
                w="7rem"
              />
            </Group>
          </Group>
          <TextInput
            label={words.note}
            maxLength={128}
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          <Group gap="sm">
            <Button type="submit" loading={state.busy === true}>
              {words.give}
            </Button>
            {state.missing === true && (
              <Text size="sm" c="var(--bad)" role="alert">
                {words.missing}
              </Text>
            )}
          </Group>
        </Stack>
      </form>
      {state.done === true && (
        <Text size="sm" mt="xs" role="status">
          {words.thanks}
        </Text>
      )}
      {state.error !== undefined && <Failure error={state.error} />}
    </Section>
  );
}

const usualScores = [
  { score: 1, label: words.good, icon: "up" },
  { score: -1, label: words.bad, icon: "down" },
] as const;

interface ScoreButtonsProps {
  readonly value: number | "";
  readonly onChange: (score: number) => void;
}

/** The two usual scores by name. */
function ScoreButtons({ value, onChange }: ScoreButtonsProps): ReactNode {
  return (
    <Group gap="sm">
      {usualScores.map(({ score, label, icon }) => (
        <Button
          key={score}
          variant={value === score ? "light" : "default"}
          aria-pressed={value === score}
          leftSection={<Icon name={icon} size={14} />}
          onClick={() => onChange(score)}
        >
          {label}
        </Button>
      ))}
    </Group>
  );
}
