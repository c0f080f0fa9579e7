import { Box, Button, Collapse, Stack, Switch } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { MessageList } from "@/chat/message-list.tsx";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { ListPage, Section } from "@/layout/page.tsx";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { ObstacleNotice } from "@/session/obstacle.tsx";
import { text } from "@/text/text.ts";
import { CodeDialog } from "./code-dialog.tsx";
import { ColumnView, RunKey } from "./column.tsx";
import { useOpened, withPrompt } from "./open.ts";
import classes from "./playground.module.css";
import { asSent, toRequest } from "./request.ts";
import { isRunning, stopColumn, useRuns } from "./runs.ts";
import { RunsMenu } from "./runs-menu.tsx";
import { SaveDialog } from "./save-dialog.tsx";
import {
  createColumn,
  createPlayground,
  maxColumns,
  type Playground,
  type Update,
  usePlayground,
  withColumn,
} from "./state.ts";
import { PromptsField, ServersField, ToolsField } from "./tools-field.tsx";

const words = text.playground;

/** Requests to any model, side by side. */
export default function PlaygroundPage(): ReactNode {
  const [state, update] = usePlayground();
  const { obstacle } = useInference();
  const runs = useRuns(update);
  const error = useOpened(update);
  const busy = state.columns.some(isRunning);
  const runAll = () => {
    if (obstacle !== undefined || busy) return;
    for (const column of state.columns) runs.start(state, column);
  };
  useRunKey(runAll);
  return (
    <ListPage
      title={text.nav.playground}
      about={words.about}
      actions={
        <PageActions state={state} update={update} busy={busy} disabled={obstacle !== undefined} onRun={runAll} />
      }
    >
      <ObstacleNotice obstacle={obstacle} />
      {error !== null && <Failure error={error} />}
      <div className={classes.board} data-stacked={!state.shared || state.columns.length > 2 || undefined}>
        <Shared state={state} update={update} />
        <Columns state={state} update={update} runs={runs} disabled={obstacle !== undefined} />
      </div>
    </ListPage>
  );
}

/** Ctrl+Enter and ⌘+Enter run all columns, also from inside a field. */
function useRunKey(run: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      // an editor would add a line
      event.stopPropagation();
      run();
    };
    document.addEventListener("keydown", listen, { capture: true });
    return () => document.removeEventListener("keydown", listen, { capture: true });
  }, [run]);
}

interface PageActionsProps {
  readonly state: Playground;
  readonly update: Update;
  readonly busy: boolean;
  readonly disabled: boolean;
  readonly onRun: () => void;
}

function PageActions({ state, update, busy, disabled, onRun }: PageActionsProps): ReactNode {
  const navigate = useNavigate();
  const reset = () => {
    update(createPlayground);
    void navigate({ to: "/playground", search: {}, replace: true });
  };
  const add = () =>
    update((before) => {
      const last = before.columns.at(-1);
      const copy = last && { target: last.target, parameters: last.parameters, messages: last.messages };
      return { ...before, columns: [...before.columns, createColumn(copy)] };
    });
  return (
    <>
      <Switch
        label={words.stream}
        checked={state.stream}
        onChange={(event) => {
          const stream = event.currentTarget.checked;
          update((before) => ({ ...before, stream }));
        }}
      />
      <RunsMenu state={state} />
      <Button variant="default" onClick={reset}>
        {words.reset}
      </Button>
      <Button
        variant="default"
        leftSection={<Icon name="columns" size={14} />}
        disabled={state.columns.length >= maxColumns}
        onClick={add}
      >
        {words.addColumn}
      </Button>
      {state.columns.length > 1 &&
        (busy ? (
          <Button
            leftSection={<Icon name="stop" size={14} />}
            onClick={() => {
              for (const { id } of state.columns) stopColumn(id);
            }}
          >
            {words.stopAll}
          </Button>
        ) : (
          <Button
            leftSection={<Icon name="playground" size={14} />}
            rightSection={<RunKey />}
            onClick={onRun}
            disabled={disabled}
          >
            {words.runAll}
          </Button>
        ))}
    </>
  );
}

/** What all columns have: messages, where they share them, and tools. */
function Shared({ state, update }: { readonly state: Playground; readonly update: Update }): ReactNode {
  const [open, { toggle }] = useDisclosure(false);
  const share = (shared: boolean) =>
    update((before) => ({
      ...before,
      shared,
      columns: shared ? before.columns : before.columns.map((column) => ({ ...column, messages: before.messages })),
    }));
  const hasTools = state.tools.trim() !== "" || state.servers.length + state.prompts.length > 0;
  const hasMessages = state.shared && state.columns.some(({ target }) => target.kind !== "prompt");
  return (
    <Section
      title={hasMessages ? words.messages : words.options}
      actions={
        state.columns.length > 1 && (
          <Switch
            label={words.sameMessages}
            checked={state.shared}
            onChange={(event) => share(event.currentTarget.checked)}
          />
        )
      }
    >
      <Stack gap="sm" className={classes.sharedParts}>
        {hasMessages && (
          <div className={classes.shared}>
            <MessageList
              messages={state.messages}
              onChange={(messages) => update((before) => ({ ...before, messages }))}
            />
          </div>
        )}
        <div>
          <Button
            variant="subtle"
            size="compact-xs"
            ml={-8}
            onClick={toggle}
            aria-expanded={open}
            leftSection={<Icon name="tool" size={14} />}
          >
            {hasTools ? words.tools : words.addTools}
          </Button>
          <Collapse expanded={open || hasTools}>
            <Box mt="xs">
              <ServersField
                value={state.servers}
                onChange={(servers) => update((before) => ({ ...before, servers }))}
              />
              <PromptsField
                value={state.prompts}
                onChange={(prompts) => update((before) => ({ ...before, prompts }))}
              />
              <ToolsField value={state.tools} onChange={(tools) => update((before) => ({ ...before, tools }))} />
            </Box>
          </Collapse>
        </div>
      </Stack>
    </Section>
  );
}

interface ColumnsProps {
  readonly state: Playground;
  readonly update: Update;
  readonly runs: ReturnType<typeof useRuns>;
  readonly disabled: boolean;
}

function Columns({ state, update, runs, disabled }: ColumnsProps): ReactNode {
  const { can } = useSession();
  const [dialog, setDialog] = useState<{ kind: "code" | "save"; id: string }>();
  const chosen = state.columns.find(({ id }) => id === dialog?.id);
  const close = () => setDialog(undefined);
  return (
    <div className={classes.columns} data-many={state.columns.length > 1 || undefined}>
      {state.columns.map((column, index) => (
        <ColumnView
          key={column.id}
          column={column}
          place={index + 1}
          shared={state.shared}
          isOnly={state.columns.length === 1}
          disabled={disabled}
          onChange={(change) => update((before) => withColumn(before, column.id, change))}
          onRemove={() => {
            stopColumn(column.id);
            update((before) => ({ ...before, columns: before.columns.filter(({ id }) => id !== column.id) }));
          }}
          onRun={() => runs.start(state, column)}
          onReply={(messages) => runs.reply(state, column, messages)}
          onOpenPrompt={(record) => update((before) => withPrompt(before, record, column.id))}
          onShowCode={() => setDialog({ kind: "code", id: column.id })}
          onSave={
            can("POST /v1/prompts") && column.target.kind !== "prompt"
              ? () => setDialog({ kind: "save", id: column.id })
              : undefined
          }
        />
      ))}
      {dialog?.kind === "code" && chosen !== undefined && (
        <CodeDialog read={() => toRequest(state, asSent(chosen))} onClose={close} />
      )}
      {dialog?.kind === "save" && chosen !== undefined && <SaveDialog state={state} column={chosen} onClose={close} />}
    </div>
  );
}
