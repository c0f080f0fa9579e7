import { Button, Group, Menu, Modal, Stack, Switch, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { consolePath } from "@/api/base.ts";
import { type AnswerOf, ask, get } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { CopyValue, Failure } from "@/components/states.tsx";
import { formatTime } from "@/lib/format.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import classes from "./playground.module.css";
import type { Playground } from "./state.ts";
import { modelsOf, toContents } from "./stored.ts";

const words = text.runs;

type Run = AnswerOf<"GET /v1/playground-runs">["data"][number];

const queryName = "playground-runs";
const shownRuns = 50;

/** Saves what the playground holds, and lists what was saved. */
export function RunsMenu({ state }: { readonly state: Playground }): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [asked, setAsked] = useState<{ readonly run?: Run }>();
  const { data: runs = [], error } = useQuery({
    queryKey: [queryName],
    enabled: isOpen,
    queryFn: async ({ signal }) =>
      (await get("/v1/playground-runs", { query: { page_size: shownRuns, current_page: 0 }, signal })).data,
  });
  if (!can("GET /v1/playground-runs")) return null;
  return (
    <>
      <Menu position="bottom-end" width="24rem" onChange={setOpen} withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="unfold" size={12} />}>
            {words.title}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflow: "auto" }}>
          {error !== null && <Menu.Label>{error.message}</Menu.Label>}
          {runs.length === 0 && error === null && <Menu.Label>{words.none}</Menu.Label>}
          {runs.map((run) => (
            <Group key={run.id} gap={0} wrap="nowrap">
              <Menu.Item
                className={classes.run}
                onClick={() => void navigate({ to: "/playground", search: { run: run.id } })}
              >
                {run.name}
                <Text size="xs" c="dimmed">
                  {[run.models.join(", "), formatTime(run.created_at), run.shared ? words.isShared : ""]
                    .filter((part) => part !== "")
                    .join(" · ")}
                </Text>
              </Menu.Item>
              <Menu.Item w="auto" aria-label={words.edit({ name: run.name })} onClick={() => setAsked({ run })}>
                <Icon name="edit" size={14} />
              </Menu.Item>
            </Group>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="plus" size={14} />} onClick={() => setAsked({})}>
            {words.save}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asked !== undefined && (
        <Modal
          opened
          onClose={() => setAsked(undefined)}
          title={asked.run === undefined ? words.save : words.edit({ name: asked.run.name })}
          closeButtonProps={{ "aria-label": text.common.close }}
        >
          <RunForm run={asked.run} state={state} onEnd={() => setAsked(undefined)} />
        </Modal>
      )}
    </>
  );
}

interface RunFormProps {
  /** The run to change; absent: a new one. */
  readonly run: Run | undefined;
  readonly state: Playground;
  readonly onEnd: () => void;
}

function RunForm({ run, state, onEnd }: RunFormProps): ReactNode {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [name, setName] = useState(run?.name ?? "");
  const [shared, setShared] = useState(run?.shared ?? false);
  const [status, setStatus] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const write = async (change: () => Promise<unknown>, message: string) => {
    setStatus({ busy: true });
    try {
      await change();
      await queries.invalidateQueries({ queryKey: [queryName] });
      notifications.show({ message });
      onEnd();
    } catch (error) {
      setStatus({ busy: false, error });
    }
  };
  const save = async () => {
    const body = { name: name.trim(), shared };
    if (run !== undefined) return ask("PUT /v1/playground-runs/{id}", { path: { id: run.id }, body });
    const contents = toContents(state);
    const { id } = await ask("POST /v1/playground-runs", { body: { ...body, models: modelsOf(state), contents } });
    return navigate({ to: "/playground", search: { run: id }, replace: true });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void write(save, text.common.saved);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={text.common.name}
          value={name}
          maxLength={255}
          onChange={({ currentTarget: { value } }) => setName(value)}
          data-autofocus
        />
        <Switch
          label={text.views.share}
          description={words.sharedHint}
          checked={shared}
          onChange={({ currentTarget: { checked } }) => setShared(checked)}
        />
        {status.error !== undefined && <Failure error={status.error} />}
        <Group justify="space-between">
          <Group gap="xs">
            {run !== undefined && (
              <>
                <Button
                  variant="default"
                  disabled={status.busy}
                  onClick={() =>
                    void write(
                      () => ask("DELETE /v1/playground-runs/{id}", { path: { id: run.id } }),
                      text.common.deleted({ what: words.one }),
                    )
                  }
                >
                  {text.common.delete}
                </Button>
                <CopyValue
                  value={`${location.origin}${consolePath}/playground?run=${run.id}`}
                  label={text.views.copyLink}
                />
              </>
            )}
          </Group>
          <Button type="submit" loading={status.busy} disabled={name.trim() === ""}>
            {text.common.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
