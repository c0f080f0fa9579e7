import { ActionIcon, Button, Group, Menu, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { isJsonObject } from "@/lib/json.ts";
import type { Search } from "@/lib/search.ts";
import { text } from "@/text/text.ts";

const words = text.logs;

/** A set of filters under a name. Stored in this browser: names and filters only. */
interface SavedView {
  readonly name: string;
  readonly search: Search;
}

const storageKey = "console.logs.views";

function readViews(): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  return isJsonObject(value) && typeof value.name === "string" && isJsonObject(value.search);
}

/** Opens, makes and removes saved views. */
export function Views({ search }: { readonly search: Search }): ReactNode {
  const navigate = useNavigate();
  const [views, setViews] = useState(readViews);
  const [naming, setNaming] = useState(false);
  const store = (next: readonly SavedView[]) => {
    localStorage.setItem(storageKey, JSON.stringify(next));
    setViews(next);
  };
  const save = (name: string) => {
    store([...views.filter((view) => view.name !== name), { name, search }]);
    setNaming(false);
  };
  return (
    <>
      <Menu position="bottom-end" width="16rem">
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="unfold" size={12} />}>
            {words.views}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.length === 0 && (
            <Text size="xs" c="dimmed" p="xs">
              {words.noViews}
            </Text>
          )}
          {views.map((view) => (
            <Group key={view.name} gap={0} wrap="nowrap">
              <Menu.Item onClick={() => void navigate({ to: "/logs", search: view.search })}>{view.name}</Menu.Item>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={words.removeView({ name: view.name })}
                onClick={() => store(views.filter(({ name }) => name !== view.name))}
              >
                <Icon name="trash" size={14} />
              </ActionIcon>
            </Group>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="plus" size={14} />} onClick={() => setNaming(true)}>
            {words.saveView}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {naming && (
        <Modal
          opened
          onClose={() => setNaming(false)}
          title={words.saveView}
          closeButtonProps={{ "aria-label": text.common.close }}
        >
          <NameForm onSave={save} />
        </Modal>
      )}
    </>
  );
}

function NameForm({ onSave }: { readonly onSave: (name: string) => void }): ReactNode {
  const [name, setName] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") onSave(name.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <TextInput
          label={words.viewName}
          value={name}
          maxLength={80}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Button type="submit" disabled={name.trim() === ""}>
          {text.common.save}
        </Button>
      </Stack>
    </form>
  );
}
