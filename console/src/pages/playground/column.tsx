import { ActionIcon, Button, Group, Kbd, Text, Textarea } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Answer } from "@/chat/answer.ts";
import { AnswerFigures, AnswerView } from "@/chat/answer-view.tsx";
import { MessageList } from "@/chat/message-list.tsx";
import { createMessage, type Message } from "@/chat/messages.ts";
import { Icon } from "@/components/icons.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import type { PromptRecord } from "./open.ts";
import { ParameterFields } from "./parameter-fields.tsx";
import classes from "./playground.module.css";
import { isRunning, stopColumn } from "./runs.ts";
import type { Column, Turn } from "./state.ts";
import { TargetFields } from "./target-fields.tsx";

const words = text.playground;

interface ColumnViewProps {
  readonly column: Column;
  readonly place: number;
  /** Whether its messages are those of all columns. */
  readonly shared: boolean;
  /** There is no other column: it cannot be removed, and to run it is the page's main action. */
  readonly isOnly: boolean;
  readonly disabled: boolean;
  readonly onChange: (change: (column: Column) => Column) => void;
  readonly onRemove: () => void;
  readonly onRun: () => void;
  readonly onReply: (messages: readonly Message[]) => void;
  readonly onOpenPrompt: (record: PromptRecord) => void;
  readonly onShowCode: () => void;
  readonly onSave: (() => void) | undefined;
}

/** One column: where its requests go, with which parameters, and the conversation. */
export function ColumnView(props: ColumnViewProps): ReactNode {
  const { column, place, shared, onChange } = props;
  return (
    <section className={classes.column} aria-label={words.column({ place })}>
      <TargetFields
        target={column.target}
        onChange={(changes) => onChange((before) => ({ ...before, target: { ...before.target, ...changes } }))}
        onOpenPrompt={props.onOpenPrompt}
        corner={
          !props.isOnly && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={words.removeColumn({ place })}
              onClick={props.onRemove}
            >
              <Icon name="close" size={14} />
            </ActionIcon>
          )
        }
      />
      <ParameterFields
        parameters={column.parameters}
        onChange={(changes) => onChange((before) => ({ ...before, parameters: { ...before.parameters, ...changes } }))}
      />
      {!shared && column.target.kind !== "prompt" && (
        <MessageList
          messages={column.messages}
          onChange={(messages) => onChange((before) => ({ ...before, messages }))}
        />
      )}
      <ColumnActions {...props} />
      <div className={classes.turns} aria-live="polite">
        {column.turns.length === 0 && <p className={classes.nothing}>{words.noAnswer}</p>}
        {column.turns.map((turn, index) => (
          <TurnView key={turn.id} turn={turn} isLast={index === column.turns.length - 1} onReply={props.onReply} />
        ))}
      </div>
      <Reply {...props} />
    </section>
  );
}

/** The keys that run all columns, where there are keys. */
export function RunKey(): ReactNode {
  return (
    <Kbd size="xs" aria-hidden="true" className={classes.runKey}>
      Ctrl ⏎
    </Kbd>
  );
}

function ColumnActions(props: ColumnViewProps): ReactNode {
  const { column, isOnly, disabled, onRun, onShowCode, onSave } = props;
  const busy = isRunning(column);
  return (
    <Group gap="xs">
      {busy ? (
        <Button variant="default" leftSection={<Icon name="stop" size={14} />} onClick={() => stopColumn(column.id)}>
          {words.stopRun}
        </Button>
      ) : (
        <Button
          variant={isOnly ? "filled" : "default"}
          leftSection={<Icon name="playground" size={14} />}
          rightSection={isOnly && <RunKey />}
          onClick={onRun}
          disabled={disabled}
        >
          {words.run}
        </Button>
      )}
      <Button variant="default" onClick={onShowCode}>
        {words.code}
      </Button>
      {onSave !== undefined && (
        <Button variant="default" onClick={onSave}>
          {words.save}
        </Button>
      )}
    </Group>
  );
}

interface TurnViewProps {
  readonly turn: Turn;
  readonly isLast: boolean;
  readonly onReply: (messages: readonly Message[]) => void;
}

function TurnView({ turn, isLast, onReply }: TurnViewProps): ReactNode {
  const { can } = useSession();
  if (turn.kind === "message") {
    const { role, text: said, toolCallId } = turn.message;
    return (
      <div className={classes.said}>
        {role === "tool" && (
          <Text size="xs" c="dimmed">
            {words.resultOf({ name: toolCallId })}
          </Text>
        )}
        {said}
      </div>
    );
  }
  const { answer } = turn;
  return (
    <div className={classes.turn}>
      <AnswerView answer={answer} />
      {isLast && answer.state === "done" && answer.toolCalls.length > 0 && (
        <ToolResults answer={answer} onReply={onReply} />
      )}
      <AnswerFigures answer={answer} showsLog={can("GET /v1/logs/{id}")} />
    </div>
  );
}

/** Results of the tools a model asked for, typed in by hand. */
function ToolResults({
  answer,
  onReply,
}: {
  readonly answer: Answer;
  readonly onReply: (messages: readonly Message[]) => void;
}): ReactNode {
  const [results, setResults] = useState<Readonly<Record<string, string>>>({});
  const send = () =>
    onReply(answer.toolCalls.map(({ id }) => createMessage("tool", results[id] ?? "", { toolCallId: id })));
  return (
    <>
      {answer.toolCalls.map(({ id, name }) => (
        <Textarea
          key={id}
          label={words.resultOf({ name })}
          autosize
          minRows={2}
          maxRows={10}
          value={results[id] ?? ""}
          onChange={(event) => setResults({ ...results, [id]: event.currentTarget.value })}
        />
      ))}
      <Group>
        <Button onClick={send}>{words.sendResults}</Button>
      </Group>
    </>
  );
}

/** Goes on with the conversation of this column alone. */
function Reply({ column, place, disabled, onReply }: ColumnViewProps): ReactNode {
  const [said, setSaid] = useState("");
  const last = column.turns.at(-1);
  const answered = last?.kind === "answer" && last.answer.state === "done" && last.answer.toolCalls.length === 0;
  if (!answered || column.target.kind === "prompt") return null;
  const send = () => {
    if (said.trim() === "" || disabled) return;
    onReply([createMessage("user", said)]);
    setSaid("");
  };
  return (
    <Group align="end" gap="xs" wrap="nowrap">
      <Textarea
        aria-label={words.replyIn({ place })}
        placeholder={words.reply}
        autosize
        minRows={1}
        maxRows={8}
        value={said}
        onChange={(event) => setSaid(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
        style={{ flex: 1 }}
      />
      <ActionIcon aria-label={words.sendReply} size="md" onClick={send} disabled={said.trim() === "" || disabled}>
        <Icon name="up" size={14} />
      </ActionIcon>
    </Group>
  );
}
