import { Button, Group, Modal, Stack, Switch, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type FormEvent, type ReactNode, useState } from "react";
import { consolePath } from "@/api/base.ts";
import { ask } from "@/api/client.ts";
import { CopyValue, Failure } from "@/components/states.tsx";
import type { Search } from "@/lib/search.ts";
import { useSession } from "@/session/context.tsx";
import { useNamedWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { linkOf, useViewsChanged, type ViewPage } from "./data.ts";
import { type SavedView, toQuestion } from "./question.ts";

const words = text.views;

interface ViewDialogProps {
  readonly page: ViewPage;
  /** The view to change; absent: a new one. */
  readonly view?: SavedView | undefined;
  /** The question of a new view, and the name that is offered for it. */
  readonly search: Search;
  readonly name?: string;
  readonly onSaved: (id: string) => void;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

/** Saves a question under a name, or changes what a saved view is called and who sees it. */
export function ViewDialog(props: ViewDialogProps): ReactNode {
  const { view, onClose } = props;
  return (
    <Modal
      opened
      onClose={onClose}
      title={view === undefined ? words.save : words.edit({ name: view.name })}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <ViewForm {...props} />
    </Modal>
  );
}

/** What a person says of a view beside its question. */
interface Draft {
  readonly name: string;
  readonly shared: boolean;
  readonly pinned: boolean;
  readonly isDefault: boolean;
}

const draftOf = (view: SavedView | undefined, name: string): Draft => ({
  name: view?.name ?? name,
  shared: view?.shared ?? false,
  pinned: view?.pinned ?? false,
  isDefault: view?.is_default ?? false,
});

/** Writes what was changed of a view, or a new one. */
function useSave({ page, view, search }: Pick<ViewDialogProps, "page" | "view" | "search">) {
  const query = useNamedWorkspace();
  return async ({ name, shared, pinned, isDefault }: Draft): Promise<string> => {
    const body = { name: name.trim(), shared, pinned };
    const isSame = view?.name === body.name && view.shared === shared && view.pinned === pinned;
    if (view !== undefined && !isSame) await ask("PUT /v1/saved-views/{id}", { path: { id: view.id }, query, body });
    const question = toQuestion(search);
    const id = view?.id ?? (await ask("POST /v1/saved-views", { body: { ...query, page, question, ...body } })).id;
    if (isDefault !== (view?.is_default ?? false)) {
      const row = isDefault ? "PUT /v1/saved-views/{id}/default" : "DELETE /v1/saved-views/{id}/default";
      await ask(row, { path: { id }, query });
    }
    return id;
  };
}

function ViewForm({ page, view, search, name = "", onSaved, onDeleted, onClose }: ViewDialogProps): ReactNode {
  const { principal } = useSession();
  const isOwn = view === undefined || view.created_by === (principal.user?.id ?? principal.key?.id);
  const isFixed = !isOwn && principal.role === "member";
  const query = useNamedWorkspace();
  const save = useSave({ page, view, search });
  const changed = useViewsChanged();
  const [draft, setDraft] = useState(() => draftOf(view, name));
  const [status, setStatus] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const run = async (write: () => Promise<() => void>, message: string) => {
    setStatus({ busy: true });
    try {
      const end = await write();
      await changed();
      notifications.show({ message });
      end();
    } catch (error) {
      setStatus({ busy: false, error });
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const write = async () => {
      const id = await save(draft);
      return () => onSaved(id);
    };
    void run(write, text.common.saved);
  };
  const remove = async () => {
    await ask("DELETE /v1/saved-views/{id}", { path: { id: view?.id ?? "" }, query });
    return onDeleted;
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Fields page={page} draft={draft} isFixed={isFixed} onChange={setDraft} />
        {status.error !== undefined && <Failure error={status.error} />}
        <Group justify="space-between">
          <Group gap="xs">
            {view !== undefined && !isFixed && (
              <Button
                variant="default"
                disabled={status.busy}
                onClick={() => void run(remove, text.common.deleted({ what: words.one }))}
              >
                {text.common.delete}
              </Button>
            )}
            {view !== undefined && (
              <CopyValue value={`${location.origin}${consolePath}${linkOf(view)}`} label={words.copyLink} />
            )}
          </Group>
          <Group gap="xs">
            <Button variant="default" onClick={onClose}>
              {text.common.cancel}
            </Button>
            <Button type="submit" loading={status.busy} disabled={draft.name.trim() === ""}>
              {text.common.save}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

interface FieldsProps {
  readonly page: ViewPage;
  readonly draft: Draft;
  /** The view is another person's. */
  readonly isFixed: boolean;
  readonly onChange: (draft: Draft) => void;
}

function Fields({ page, draft, isFixed, onChange }: FieldsProps): ReactNode {
  return (
    <>
      <TextInput
        label={text.common.name}
        value={draft.name}
        maxLength={255}
        disabled={isFixed}
        onChange={({ currentTarget: { value } }) => onChange({ ...draft, name: value })}
        data-autofocus
      />
      <Switch
        label={words.share}
        description={isFixed ? words.ofOthers : words.sharedHint}
        disabled={isFixed}
        checked={draft.shared}
        onChange={({ currentTarget: { checked } }) => onChange({ ...draft, shared: checked })}
      />
      <Switch
        label={words.isDefault}
        checked={draft.isDefault}
        onChange={({ currentTarget: { checked } }) => onChange({ ...draft, isDefault: checked })}
      />
      {page === "analytics" && (
        <Switch
          label={words.pinned}
          checked={draft.pinned}
          disabled={isFixed}
          onChange={({ currentTarget: { checked } }) => onChange({ ...draft, pinned: checked })}
        />
      )}
    </>
  );
}
