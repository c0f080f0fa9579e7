import { Alert, Button, Code, Group, Stack, Switch, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { BigText } from "@/components/big-text.tsx";
import { Icon } from "@/components/icons.tsx";
import { Markdown } from "@/components/markdown.tsx";
import { formatNumber, formatShort } from "@/lib/format.ts";
import { nameOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import classes from "../detail.module.css";
import { toJson } from "./parts.ts";
import type { Conversation, Part, Tool, Turn } from "./types.ts";

const words = text.logs.conversation;

/** Messages at both ends of a long conversation that are drawn at once. */
const firstTurns = 4;
const lastTurns = 16;
/** Text that is drawn as a whole; of more, the beginning is, and the rest on request. */
const shownText = 6_000;

/** A request and its answer as messages. */
export function ConversationView({ conversation }: { readonly conversation: Conversation }): ReactNode {
  const [markdown, setMarkdown] = useState(true);
  const [all, setAll] = useState(false);
  const { turns, answers, tools } = conversation;
  const hidden = all ? 0 : Math.max(0, turns.length - firstTurns - lastTurns);
  const first = hidden === 0 ? turns : turns.slice(0, firstTurns);
  const last = hidden === 0 ? [] : turns.slice(-lastTurns);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {words.count({ count: turns.length + answers.length })}
        </Text>
        <Switch
          label={words.markdown}
          checked={markdown}
          onChange={(event) => setMarkdown(event.currentTarget.checked)}
        />
      </Group>
      {tools.length > 0 && <Tools tools={tools} />}
      <Turns turns={first} markdown={markdown} from={0} />
      {hidden > 0 && (
        <Button variant="default" onClick={() => setAll(true)}>
          {words.showAll({ count: formatNumber(hidden) })}
        </Button>
      )}
      <Turns turns={last} markdown={markdown} from={turns.length - last.length} />
      {answers.length > 0 && (
        <Text size="sm" fw={600}>
          {words.answer}
        </Text>
      )}
      <Turns turns={answers} markdown={markdown} from={turns.length} />
    </Stack>
  );
}

interface TurnsProps {
  readonly turns: readonly Turn[];
  readonly markdown: boolean;
  readonly from: number;
}

/** Messages one below the other. */
export function Turns({ turns, markdown, from }: TurnsProps): ReactNode {
  return turns.map(({ role, parts }, index) => (
    <article
      // biome-ignore lint/suspicious/noArrayIndexKey: a message is its place
      key={from + index}
      className={classes.turn}
      data-role={role}
      aria-label={words.messageOf({ role: nameOf(role) })}
    >
      <div className={classes.role}>{nameOf(role)}</div>
      <Stack gap="xs" miw={0}>
        {parts.length === 0 && (
          <Text size="sm" c="dimmed">
            {words.empty}
          </Text>
        )}
        {parts.map((part, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <PartView key={place} part={part} markdown={markdown} />
        ))}
      </Stack>
    </article>
  ));
}

function PartView({ part, markdown }: { readonly part: Part; readonly markdown: boolean }): ReactNode {
  switch (part.kind) {
    case "text":
      return <Words value={part.text} markdown={markdown} />;
    case "reasoning":
      return (
        <details className={classes.reasoning}>
          <summary>{words.reasoning({ length: formatShort(part.text.length) })}</summary>
          <Words value={part.text} markdown={markdown} />
        </details>
      );
    case "refusal":
      return (
        <Alert color="orange" variant="light" title={words.refusal}>
          <Words value={part.text} markdown={false} />
        </Alert>
      );
    case "call":
      return (
        <div className={classes.tool}>
          <ToolHead title={words.calls({ name: part.name })} id={part.id} />
          <Json value={part.input} />
        </div>
      );
    case "result":
      return (
        <div className={classes.tool} data-error={part.isError || undefined}>
          <ToolHead title={part.isError ? words.failedResult : words.result} id={part.id} />
          {part.parts.map((inner, index) =>
            inner.kind === "text" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
              <Json key={index} value={inner.text} />
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above
              <PartView key={index} part={inner} markdown={false} />
            ),
          )}
        </div>
      );
    case "image":
      return <Picture source={part.source} />;
    case "file":
      return (
        <Text size="sm">
          <Icon name="files" size={14} /> {part.name} <Code>{part.source.slice(0, 200)}</Code>
        </Text>
      );
    case "other":
      return (
        <div className={classes.tool}>
          <ToolHead title={part.name || text.common.json} id="" />
          <Json value={toJson(part.value)} />
        </div>
      );
  }
}

function ToolHead({ title, id }: { readonly title: string; readonly id: string }): ReactNode {
  return (
    <Group gap="xs" className={classes.toolHead}>
      <Icon name="tool" size={14} />
      <Text size="sm" fw={600}>
        {title}
      </Text>
      {id !== "" && <span className={classes.faint}>{id}</span>}
    </Group>
  );
}

/** Data in the page itself; anything else is an address, and no address in a log is loaded. */
const inlineImage = /^data:image\/(png|jpeg|gif|webp|avif);base64,/;

function Picture({ source }: { readonly source: string }): ReactNode {
  if (inlineImage.test(source)) return <img src={source} alt={words.image} className={classes.picture} />;
  return (
    <Text size="sm" c="dimmed">
      <Icon name="image" size={14} /> {words.imageNotLoaded} <Code>{source.slice(0, 500)}</Code>
    </Text>
  );
}

/** JSON with line breaks where it is JSON and short; else the text as it is. */
function Json({ value }: { readonly value: string }): ReactNode {
  if (value.length > shownText) return <Words value={value} markdown={false} />;
  return <pre className={classes.code}>{indent(value)}</pre>;
}

function indent(value: string): string {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "object" ? JSON.stringify(parsed, undefined, 2) : value;
  } catch {
    return value;
  }
}

/** Text of any length: beyond a size only its beginning, and all of it in lines on request. */
export function Words({ value, markdown }: { readonly value: string; readonly markdown: boolean }): ReactNode {
  const [all, setAll] = useState(false);
  if (all) return <BigText value={value} label={words.text} fileName="message.txt" />;
  const shown = value.slice(0, shownText);
  return (
    <>
      {markdown ? (
        <div className={classes.markdown}>
          <Markdown>{shown}</Markdown>
        </div>
      ) : (
        <div className={classes.plain}>{shown}</div>
      )}
      {shown.length < value.length && (
        <Group>
          <Button variant="default" onClick={() => setAll(true)}>
            {words.showText({ length: formatNumber(value.length) })}
          </Button>
        </Group>
      )}
    </>
  );
}

function Tools({ tools }: { readonly tools: readonly Tool[] }): ReactNode {
  return (
    <details className={classes.reasoning}>
      <summary>{words.tools({ count: tools.length })}</summary>
      <Stack gap="xs" mt="xs">
        {tools.slice(0, 50).map((tool, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names may repeat
          <details key={index} className={classes.tool}>
            <summary>
              <b>{tool.name}</b> {tool.about.slice(0, 200)}
            </summary>
            <Json value={toJson(tool.value)} />
          </details>
        ))}
      </Stack>
    </details>
  );
}
