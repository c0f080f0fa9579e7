import { Alert, Anchor, Badge, Group, Loader, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { formatDollars, formatDuration, formatNumber } from "@/lib/format.ts";
import { text } from "@/text/text.ts";
import { type Answer, speedOf } from "./answer.ts";
import classes from "./chat.module.css";

const words = text.chat;

/** Most characters of a result that are shown; the log row has all of them. */
const maxOutput = 20_000;

const Markdown = lazy(async () => ({ default: (await import("@/components/markdown.tsx")).Markdown }));

/** A model's answer: reasoning, text, tool calls, and what went wrong. */
export function AnswerView({ answer }: { readonly answer: Answer }): ReactNode {
  const { state, text: content, reasoning, error } = answer;
  return (
    <div className={classes.answer} aria-busy={state === "waiting" || state === "streaming"}>
      {state === "waiting" && (
        <Group gap="xs" role="status">
          <Loader size="xs" />
          <Text size="sm" c="dimmed">
            {words.waiting}
          </Text>
        </Group>
      )}
      {reasoning !== "" && (
        <details className={classes.reasoning} open={content === "" || undefined}>
          <summary>{words.reasoning}</summary>
          {reasoning}
        </details>
      )}
      {answer.ran.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls have no name but their place
        <details key={index} className={classes.tool}>
          <summary>
            <Icon name="tool" size={14} /> {call.server} · <strong>{call.name}</strong>
            {call.isError && ` — ${words.toolFailed}`}
          </summary>
          <pre>{pretty(call.arguments)}</pre>
          <pre>{call.output.slice(0, maxOutput)}</pre>
        </details>
      ))}
      {content !== "" && (
        <Suspense fallback={<Text size="sm">{content}</Text>}>
          <div>
            <Markdown>{content}</Markdown>
          </div>
        </Suspense>
      )}
      {answer.toolCalls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call's id arrives after its place
        <div key={index} className={classes.tool}>
          <Group gap="xs">
            <Icon name="tool" size={14} />
            <Text size="sm" fw={600}>
              {call.name}
            </Text>
            <Text size="xs" c="dimmed" className="code">
              {call.id}
            </Text>
          </Group>
          <pre>{pretty(call.arguments)}</pre>
        </div>
      ))}
      {answer.objected && (
        <Alert className="notice" icon={<Icon name="warning" />}>
          {words.objected}
        </Alert>
      )}
      {state === "stopped" && (
        <Text size="sm" c="dimmed">
          {words.stopped}
        </Text>
      )}
      {state === "failed" && <Failure error={error} />}
    </div>
  );
}

/** JSON with line breaks; anything else as it is. */
function pretty(written: string): string {
  try {
    return JSON.stringify(JSON.parse(written), undefined, 2);
  } catch {
    return written;
  }
}

/** What a request took and cost. */
export function AnswerFigures({
  answer,
  showsLog,
}: {
  readonly answer: Answer;
  readonly showsLog: boolean;
}): ReactNode {
  const { usage, firstMs, totalMs, cost, requestId } = answer;
  if (totalMs === undefined) return null;
  const speed = speedOf(answer);
  const rows: readonly (readonly [string, string | undefined])[] = [
    [words.firstToken, firstMs === undefined ? undefined : formatDuration(firstMs)],
    [words.speed, speed === undefined ? undefined : speed.toFixed(speed < 10 ? 1 : 0)],
    [words.tokens, usage && words.inOut({ input: formatNumber(usage.prompt), output: formatNumber(usage.completion) })],
    [words.cost, cost === undefined ? undefined : cost === null ? words.unpriced : formatDollars(cost)],
    [words.total, formatDuration(totalMs)],
    [words.reasoningTokens, usage && usage.reasoning > 0 ? formatNumber(usage.reasoning) : undefined],
    [words.cachedTokens, usage && usage.cached > 0 ? formatNumber(usage.cached) : undefined],
  ];
  return (
    <>
      <dl className={classes.figures}>
        {rows.map(([name, value]) =>
          value === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
      <Group gap="xs" mt="xs">
        {answer.provider !== "" && <Tag>{answer.provider}</Tag>}
        {answer.target.includes("targets") && <Tag>{answer.target}</Tag>}
        {answer.cache !== "" && answer.cache !== "DISABLED" && <Tag>{words.cacheIs({ status: answer.cache })}</Tag>}
        {answer.finish !== "" && answer.finish !== "stop" && <Tag>{words.finish({ reason: answer.finish })}</Tag>}
        {showsLog && requestId !== "" && (
          <Anchor component={Link} to={`/logs/${encodeURIComponent(requestId)}`} size="xs">
            {words.openLog}
          </Anchor>
        )}
      </Group>
    </>
  );
}

function Tag({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Badge variant="default" radius="sm" tt="none" fw={400}>
      {children}
    </Badge>
  );
}
