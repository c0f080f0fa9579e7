import { Button, Group, Menu, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { ask } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import type { Search } from "@/lib/search.ts";
import { useNamedWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { useHasViews } from "../../overview/pinned-views.ts";
import { openedSearch, useViews, useViewsChanged, type ViewPage } from "./data.ts";
import { type LocalView, readLocalViews, removeLocalView } from "./local.ts";
import { asksSame, type SavedView, toQuestion, toSearch, unknownIn } from "./question.ts";
import classes from "./views.module.css";

// opened by a click
const ViewDialog = lazy(async () => ({ default: (await import("./view-dialog.tsx")).ViewDialog }));

const words = text.views;

interface ViewsMenuProps {
  readonly page: ViewPage;
  /** The question of the page. */
  readonly search: Search;
  /** The view that is open. */
  readonly view: SavedView | undefined;
}

/** What the dialog is about. */
interface Asked {
  readonly view?: SavedView;
  readonly search: Search;
  readonly local?: string;
}

/** Opens, saves and changes the saved views of a page. */
export function ViewsMenu({ page, search, view }: ViewsMenuProps): ReactNode {
  const navigate = useNavigate();
  const { data: views = [], error } = useViews(page);
  const [locals, setLocals] = useState(page === "logs" ? readLocalViews : []);
  const [asked, setAsked] = useState<Asked>();
  if (!useHasViews()) return null;
  const show = (next: Search) => void navigate({ to: ".", search: next });
  const onSaved = (id: string) => {
    if (asked?.local !== undefined) {
      removeLocalView(asked.local);
      setLocals(readLocalViews());
    } else if (asked?.view === undefined) show({ ...search, view: id });
    setAsked(undefined);
  };
  return (
    <>
      <Menu position="bottom-end" width="20rem" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button variant="default" rightSection={<Icon name="unfold" size={12} />} className={classes.target}>
            {view?.name ?? words.title}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah="70vh" style={{ overflow: "auto" }}>
          {error !== null && <Menu.Label>{error.message}</Menu.Label>}
          {views.length + locals.length === 0 && error === null && <Menu.Label>{words.none}</Menu.Label>}
          <Rows
            label={words.shared}
            views={views.filter(({ shared }) => shared)}
            onOpen={(one) => show(openedSearch(one))}
            onEdit={(one) => setAsked({ view: one, search })}
          />
          <Rows
            label={words.own}
            views={views.filter(({ shared }) => !shared)}
            onOpen={(one) => show(openedSearch(one))}
            onEdit={(one) => setAsked({ view: one, search })}
          />
          <LocalRows
            views={locals}
            onOpen={(one) => show(one.search)}
            onMove={(one) => setAsked({ search: one.search, local: one.name })}
          />
          <Menu.Divider />
          <SaveItems page={page} search={search} view={view} onSave={() => setAsked({ search })} />
        </Menu.Dropdown>
      </Menu>
      {asked !== undefined && (
        <Suspense fallback={null}>
          <ViewDialog
            page={page}
            view={asked.view}
            search={asked.search}
            {...(asked.local !== undefined && { name: asked.local })}
            onSaved={onSaved}
            onDeleted={() => {
              if (asked.view?.id === view?.id)
                show(Object.fromEntries(Object.entries(search).filter(([name]) => name !== "view")));
              setAsked(undefined);
            }}
            onClose={() => setAsked(undefined)}
          />
        </Suspense>
      )}
    </>
  );
}

interface SaveItemsProps extends ViewsMenuProps {
  readonly onSave: () => void;
}

/** What can be done with the question of the page. */
function SaveItems({ page, search, view, onSave }: SaveItemsProps): ReactNode {
  const navigate = useNavigate();
  const workspace = useNamedWorkspace();
  const changed = useViewsChanged();
  const isChanged = view !== undefined && !asksSame(search, toSearch(view.question));
  const saveChanges = async ({ id }: SavedView) => {
    try {
      const body = { question: toQuestion(search) };
      await ask("PUT /v1/saved-views/{id}", { path: { id }, query: workspace, body });
      await changed();
      notifications.show({ message: text.common.saved });
    } catch (error) {
      notifications.show({ color: "red", message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      {view !== undefined && isChanged && (
        <Menu.Item leftSection={<Icon name="check" size={14} />} onClick={() => void saveChanges(view)}>
          {words.saveChanges}
        </Menu.Item>
      )}
      <Menu.Item leftSection={<Icon name="plus" size={14} />} onClick={onSave}>
        {words.save}
      </Menu.Item>
      {Object.keys(search).some((name) => name !== "columns") && (
        <Menu.Item
          leftSection={<Icon name="close" size={14} />}
          onClick={() => void navigate({ to: `/${page}`, search: {} })}
        >
          {words.everything}
        </Menu.Item>
      )}
    </>
  );
}

interface RowsProps {
  readonly label: string;
  readonly views: readonly SavedView[];
  readonly onOpen: (view: SavedView) => void;
  readonly onEdit: (view: SavedView) => void;
}

function Rows({ label, views, onOpen, onEdit }: RowsProps): ReactNode {
  if (views.length === 0) return null;
  return (
    <>
      <Menu.Label>{label}</Menu.Label>
      {views.map((view) => (
        <Group key={view.id} gap={0} wrap="nowrap">
          <Menu.Item onClick={() => onOpen(view)} className={classes.name}>
            {view.name}
            {view.is_default && <span className={classes.mark}> {words.defaultMark}</span>}
          </Menu.Item>
          <Menu.Item w="auto" aria-label={words.edit({ name: view.name })} onClick={() => onEdit(view)}>
            <Icon name="edit" size={14} />
          </Menu.Item>
        </Group>
      ))}
    </>
  );
}

interface LocalRowsProps {
  readonly views: readonly LocalView[];
  readonly onOpen: (view: LocalView) => void;
  readonly onMove: (view: LocalView) => void;
}

/** Views that an earlier version stored in this browser: they open as before, and can move to the workspace. */
function LocalRows({ views, onOpen, onMove }: LocalRowsProps): ReactNode {
  if (views.length === 0) return null;
  return (
    <>
      <Menu.Label>{words.local}</Menu.Label>
      {views.map((view) => (
        <Group key={view.name} gap={0} wrap="nowrap">
          <Menu.Item onClick={() => onOpen(view)} className={classes.name}>
            {view.name}
          </Menu.Item>
          <Menu.Item w="auto" aria-label={words.move({ name: view.name })} onClick={() => onMove(view)}>
            <Icon name="plus" size={14} />
          </Menu.Item>
        </Group>
      ))}
    </>
  );
}

interface ViewNoticesProps {
  readonly view: SavedView | undefined;
  readonly isMissing: boolean;
}

/** What one must know of the view that an address names: it is not there, or a part of its question is not understood. */
export function ViewNotices({ view, isMissing }: ViewNoticesProps): ReactNode {
  const unknown = view === undefined ? [] : unknownIn(view.question);
  if (!isMissing && unknown.length === 0) return null;
  return (
    <Text size="sm" role="note" className={classes.notice}>
      {isMissing ? words.missing : words.unknown({ names: unknown.join(", ") })}
    </Text>
  );
}
