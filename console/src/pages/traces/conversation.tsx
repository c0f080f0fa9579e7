import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { formatNumber, formatTime } from "@/lib/format.ts";
import { text } from "@/text/text.ts";
import { readConversation } from "../logs/conversation/read.ts";
import { Turns } from "../logs/conversation/view.tsx";
import { type Span, useContents } from "./data.ts";
import { nameOfSpan, targetOfSpan } from "./names.ts";
import { toThread } from "./thread.ts";
import classes from "./trace.module.css";

const words = text.traces;

/** Requests whose contents are read at once. */
const step = 20;

/** The conversations of a trace as one thread: what a request repeats is shown once. */
export function TraceConversation({ rows }: { readonly rows: readonly Span[] }): ReactNode {
  const [most, setMost] = useState(step);
  const sorted = rows.toSorted((one, other) => one.start - other.start || (one.id < other.id ? -1 : 1));
  const shown = sorted.slice(0, most);
  const contents = useContents(shown.map(({ id }) => id));
  const failure = contents.find(({ error }) => error !== null)?.error;
  if (contents.some(({ isPending }) => isPending)) return <Waiting />;
  const read = shown.flatMap((row, index) => {
    const full = contents[index]?.data;
    const conversation = readConversation(full?.operation ?? "", full?.request?.body, full?.response?.body);
    return conversation === undefined ? [] : [{ row, conversation }];
  });
  return (
    <Stack gap="md">
      {failure && <Failure error={failure} />}
      {read.length === 0 && !failure && <Empty title={words.noConversation} hint={words.noConversationHint} />}
      {toThread(read).map(({ row, repeated, turns, answers }) => (
        <Stack key={row.id} gap="xs" component="section" aria-label={nameOfSpan(row)}>
          <div className={classes.segment}>
            <Anchor
              inherit
              fw={600}
              renderRoot={(props) => <Link {...props} to={`/logs/${encodeURIComponent(row.id)}`} />}
            >
              {nameOfSpan(row)}
            </Anchor>
            <span className={classes.note}>
              {[targetOfSpan(row), formatTime(row.start)].filter((part) => part !== "").join(" · ")}
            </span>
          </div>
          {repeated > 0 && (
            <Text size="xs" c="dimmed">
              {words.repeated({ count: repeated })}
            </Text>
          )}
          <Turns turns={turns} markdown from={repeated} />
          <Turns turns={answers} markdown from={repeated + turns.length} />
        </Stack>
      ))}
      {most < sorted.length && (
        <Group>
          <Button variant="default" onClick={() => setMost(most + step)}>
            {words.more({ left: formatNumber(sorted.length - most) })}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
