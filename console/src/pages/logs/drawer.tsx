import { Button, Drawer, Group } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { useChangeSearch } from "@/lib/search.ts";
import { text } from "@/text/text.ts";
import { LogView } from "./log.tsx";
import type { PagedRows } from "./paged-rows.ts";

const words = text.logs;

interface LogDrawerProps {
  readonly id: string;
  /** The list that it stands beside. */
  readonly rows: PagedRows;
}

/** One request beside the list, with ways to the rows before and behind it. The list stays where it is. */
export default function LogDrawer({ id, rows }: LogDrawerProps): ReactNode {
  const change = useChangeSearch();
  const place = rows.indexOf(id);
  const [former, next] = place < 0 ? [] : [rows.at(place - 1), rows.at(place + 1)];
  const show = (row: { readonly id: string } | undefined) => {
    if (row !== undefined) change({ row: row.id });
  };
  const isLast = place >= 0 && place === rows.length - 1;
  useEffect(() => {
    // the rows beside it may have left the memory, or not be read yet
    if (isLast) rows.more();
    else if (place >= 0) rows.show(Math.max(0, place - 1), place + 1);
  }, [rows, place, isLast]);
  const shown = useRef(place);
  shown.current = place;
  // the row that was read last takes the focus once the drawer is closed
  useEffect(() => () => document.querySelector<HTMLElement>(`[data-index="${shown.current}"]`)?.focus(), []);
  useHotkeys([
    ["j", () => show(next)],
    ["k", () => show(former)],
  ]);
  return (
    <Drawer
      opened
      onClose={() => change({ row: undefined, tab: undefined })}
      position="right"
      size="min(64rem, 100%)"
      title={
        <Group gap="xs">
          <Button variant="default" size="xs" disabled={former === undefined} onClick={() => show(former)}>
            {words.formerRow}
          </Button>
          <Button variant="default" size="xs" disabled={next === undefined} onClick={() => show(next)}>
            {words.nextRow}
          </Button>
          <Button component={Link} to={`/logs/${encodeURIComponent(id)}`} variant="default" size="xs">
            {words.openRow}
          </Button>
        </Group>
      }
      overlayProps={{ backgroundOpacity: 0.2 }}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ "aria-label": text.common.close }}
    >
      <LogView key={id} id={id} />
    </Drawer>
  );
}
