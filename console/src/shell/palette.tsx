import { Modal, NavLink, ScrollArea, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useId, useMemo, useState } from "react";
import type { ApiRow } from "@/api/client.ts";
import { Icon } from "@/components/icons.tsx";
import { pages } from "@/pages/pages.ts";
import { resources } from "@/records/all.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";
import { navEntries } from "./entries.ts";

/** Pages, and actions that open one, that a viewer may use. */
function entriesFor(can: (row: ApiRow) => boolean) {
  const shown = navEntries(can).flatMap(([, group]) => group.map(({ to, label, icon }) => ({ to, label, icon })));
  const opened = pages.flatMap(({ path, rows, action }) =>
    action !== undefined && rows[0] !== undefined && can(rows[0])
      ? [{ to: path, label: text.nav[action], icon: "plus" as const }]
      : [],
  );
  const made = Object.values(resources)
    .filter(({ create }) => create !== undefined && can(create.rows[0]))
    .map(({ name, text: words }) => ({ to: `/${name}/new`, label: words.create, icon: "plus" as const }));
  return [...shown, ...opened, ...made];
}

interface PaletteProps {
  readonly query: string;
  readonly onChange: (query: string) => void;
  readonly onClose: () => void;
}

/** Pages and actions by name, for the keyboard. */
export function Palette({ query, onChange, onClose }: PaletteProps): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const id = useId();
  const [active, setActive] = useState(0);
  const entries = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    return entriesFor(can).filter(({ label }) => label.toLowerCase().includes(wanted));
  }, [can, query]);
  const open = (index: number) => {
    const entry = entries[index];
    if (entry === undefined) return;
    onClose();
    void navigate({ to: entry.to });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") open(active);
    if (step === 0) return;
    event.preventDefault();
    setActive((active + step + entries.length) % Math.max(1, entries.length));
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={text.nav.palette}
      closeButtonProps={{ "aria-label": text.common.close }}
      centered={false}
    >
      <TextInput
        data-autofocus
        data-palette
        // at once, while the dialog waits a moment: keys typed until then would be lost
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={`${id}-${active}`}
        aria-label={text.nav.paletteHint}
        placeholder={text.nav.paletteHint}
        value={query}
        onChange={(event) => {
          onChange(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ScrollArea.Autosize mah="50vh" mt="xs">
        <div role="listbox" id={id} aria-label={text.nav.palette}>
          {entries.map(({ to, label, icon }, index) => (
            <NavLink
              key={to}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              active={index === active}
              label={label}
              leftSection={<Icon name={icon} />}
              tabIndex={-1}
              component="button"
              onClick={() => open(index)}
            />
          ))}
        </div>
        {entries.length === 0 && (
          <Text size="sm" c="dimmed" p="sm">
            {text.nav.paletteEmpty}
          </Text>
        )}
      </ScrollArea.Autosize>
    </Modal>
  );
}
