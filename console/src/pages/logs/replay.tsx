import { Anchor, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { type AnswerOf, get, post } from "@/api/client.ts";
import { CodeField } from "@/components/code-field.tsx";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatDuration, formatNumber } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Status } from "./columns.tsx";
import { toJson } from "./conversation/parts.ts";
import { readConversation } from "./conversation/read.ts";
import { ConversationView, Words } from "./conversation/view.tsx";
import classes from "./detail.module.css";
import type { LogRow } from "./row.ts";

const words = text.logs.replay;

type Result = AnswerOf<"POST /v1/logs/{id}/replay">;

/** Sends the row's request again, also through another config, and shows both answers side by side. */
export function Replay({ row }: { readonly row: LogRow }): ReactNode {
  const [state, setState] = useState<{ busy?: boolean; error?: unknown; result?: Result }>({});
  const run = async (config: unknown) => {
    setState({ busy: true });
    try {
      const answer = await post("/v1/logs/{id}/replay", {
        path: { id: textOf(row.id) },
        body: config === undefined ? {} : { config },
      });
      setState({ result: answer });
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <Stack gap="md">
      <Section title={words.title} isPlain>
        <Text size="sm" mb="sm">
          {words.hint}
        </Text>
        <ReplayForm busy={state.busy === true} onRun={(config) => void run(config)} />
      </Section>
      {state.error !== undefined && <Failure error={state.error} />}
      {state.result !== undefined && (
        <div className={classes.sides}>
          <Answer title={words.original} row={state.result.original} answer={state.result.answers.original} />
          <Answer title={words.again} row={state.result.replay} answer={state.result.answers.replay} isNew />
        </div>
      )}
    </Stack>
  );
}

interface ReplayFormProps {
  readonly busy: boolean;
  readonly onRun: (config: unknown) => void;
}

function ReplayForm({ busy, onRun }: ReplayFormProps): ReactNode {
  const { can } = useSession();
  const [slug, setSlug] = useState<string | null>(null);
  const [json, setJson] = useState("");
  const [invalid, setInvalid] = useState(false);
  const { data } = useQuery({
    queryKey: ["configs", "names"],
    enabled: can("GET /v1/configs"),
    queryFn: ({ signal }) => get("/v1/configs", { signal }),
  });
  const configs = (data?.data ?? []).map(({ slug: value, name: label }) => ({ value, label }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (json.trim() === "") {
      onRun(slug ?? undefined);
      return;
    }
    try {
      onRun(JSON.parse(json));
    } catch {
      setInvalid(true);
    }
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Select
          label={words.config}
          placeholder={words.sameConfig}
          data={configs}
          value={slug}
          onChange={setSlug}
          disabled={json.trim() !== ""}
          clearable
          searchable
          maw="24rem"
        />
        <CodeField
          label={words.ownConfig}
          placeholder={'{"provider": "echo"}'}
          value={json}
          onChange={(value) => {
            setJson(value);
            setInvalid(false);
          }}
          minHeight="3rem"
          maxHeight="16rem"
          lines={false}
        />
        <Group gap="sm">
          <Button type="submit" loading={busy} leftSection={<Icon name="playground" size={14} />}>
            {words.run}
          </Button>
          {invalid && (
            <Text size="sm" c="var(--bad)" role="alert">
              {text.common.invalidJson}
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface AnswerProps {
  readonly title: string;
  readonly row: Result["original"];
  readonly answer: unknown;
  readonly isNew?: boolean;
}

function Answer({ title, row, answer, isNew = false }: AnswerProps): ReactNode {
  const conversation = useMemo(() => {
    const read = readConversation(textOf(row.operation), { messages: [] }, answer);
    return read === undefined || read.answers.length === 0 ? undefined : { ...read, turns: [], tools: [] };
  }, [row, answer]);
  const id = textOf(row.id);
  return (
    <Section
      title={title}
      actions={isNew && <Anchor renderRoot={(props) => <Link {...props} to={`/logs/${id}`} />}>{words.open}</Anchor>}
    >
      <Facts
        rows={[
          [text.common.status, <Status key="status" value={row.status} />],
          [text.logs.facts.model, [textOf(row.provider), textOf(row.model)].filter((word) => word !== "").join(" · ")],
          [text.logs.facts.duration, formatDuration(row.duration_ms)],
          [text.logs.facts.tokens, formatNumber(Number(row.usage?.total_tokens ?? 0))],
          [text.logs.facts.cost, typeof row.cost === "number" ? formatDollars(row.cost / 100) : "—"],
          ...(row.error === null ? [] : [[text.logs.facts.error, row.error.message] as const]),
        ]}
      />
      <div style={{ marginBlockStart: "var(--space-3)" }}>
        {conversation !== undefined ? (
          <ConversationView conversation={conversation} />
        ) : (
          <Words value={answer === null || answer === undefined ? words.noAnswer : toJson(answer)} markdown={false} />
        )}
      </div>
    </Section>
  );
}
