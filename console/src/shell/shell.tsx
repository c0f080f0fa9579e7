import { ActionIcon, Button, Kbd, Text, TextInput, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Brand, Icon } from "@/components/icons.tsx";
import { Waiting } from "@/components/states.tsx";
import classes from "@/layout/layout.module.css";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/frame.ts";
import { Navigation } from "./navigation.tsx";
import { usePalette } from "./use-palette.ts";

// What opens with a click is loaded with it: most visits need none of it.
const AccountMenu = lazy(async () => ({ default: (await import("./account-menu.tsx")).AccountMenu }));
const MenuDrawer = lazy(async () => ({ default: (await import("./menu-drawer.tsx")).MenuDrawer }));
const WorkspaceSelect = lazy(async () => ({ default: (await import("./workspace-select.tsx")).WorkspaceSelect }));

/** The frame around every page: header, navigation, content. */
export function Shell(): ReactNode {
  const [menu, { open, close }] = useDisclosure();
  const [hadMenu, setHadMenu] = useState(false);
  const { Palette, query, change, load, begin, end } = usePalette();
  const path = useRouterState({ select: (state) => state.location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the menu
  useEffect(close, [path]);
  return (
    <div className={classes.frame}>
      <a href="#content" className={classes.skip}>
        {text.common.skip}
      </a>
      <header className={classes.header}>
        <ActionIcon
          hiddenFrom="sm"
          variant="subtle"
          color="gray"
          aria-label={text.nav.open}
          onClick={() => {
            setHadMenu(true);
            open();
          }}
        >
          <Icon name="menu" />
        </ActionIcon>
        <Link to="/" className={classes.brand} aria-label={text.common.product}>
          <Brand size={22} />
          <span className={classes.product}>{text.common.product}</span>
        </Link>
        <HeaderTools onSearch={begin} onReach={load} />
      </header>
      <nav className={classes.nav} aria-label={text.nav.label}>
        <Navigation />
      </nav>
      <main id="content" className={classes.content} tabIndex={-1}>
        <Suspense fallback={<Waiting />}>
          <Outlet />
        </Suspense>
      </main>
      {hadMenu && (
        <Suspense>
          <MenuDrawer opened={menu} onClose={close} onSearch={begin} />
        </Suspense>
      )}
      {Palette !== undefined && query !== undefined && <Palette query={query} onChange={change} onClose={end} />}
    </div>
  );
}

interface HeaderToolsProps {
  /** Opens the command palette. */
  readonly onSearch: () => void;
  /** The button that opens it is about to be used. */
  readonly onReach: () => void;
}

function HeaderTools({ onSearch, onReach }: HeaderToolsProps): ReactNode {
  useHotkeys([["/", () => document.querySelector<HTMLElement>("[data-search]")?.focus()]]);
  return (
    <>
      <div style={{ flex: 1 }} />
      <Workspace />
      <Button
        variant="default"
        leftSection={<Icon name="search" size={14} />}
        onClick={onSearch}
        onPointerEnter={onReach}
        onFocus={onReach}
        aria-keyshortcuts="Control+K"
        visibleFrom="sm"
        rightSection={
          <Kbd size="xs" aria-hidden="true">
            Ctrl K
          </Kbd>
        }
      >
        {text.common.search}
      </Button>
      <SchemeButton />
      <Account />
    </>
  );
}

function Workspace(): ReactNode {
  const { all, current, choosable } = useWorkspace();
  const [isReached, setReached] = useState(false);
  if (!choosable && current !== undefined) {
    return (
      <Text size="sm" c="var(--ink-soft)" truncate title={text.common.workspace}>
        {current.name}
      </Text>
    );
  }
  if (!choosable || all.length === 0) return null;
  const closed = (
    <TextInput
      role="combobox"
      aria-label={text.common.workspace}
      aria-haspopup="listbox"
      aria-expanded="false"
      placeholder={text.common.allWorkspaces}
      value={current?.name ?? ""}
      readOnly
      onFocus={() => setReached(true)}
      w={{ base: "9.5rem", sm: "11rem" }}
    />
  );
  return isReached ? (
    <Suspense fallback={closed}>
      <WorkspaceSelect />
    </Suspense>
  ) : (
    closed
  );
}

function SchemeButton(): ReactNode {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={text.nav.scheme}
      onClick={() => setColorScheme(scheme === "dark" ? "light" : "dark")}
    >
      <Icon name={scheme === "dark" ? "sun" : "moon"} />
    </ActionIcon>
  );
}

function Account(): ReactNode {
  const [isUsed, setUsed] = useState(false);
  const closed = (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={text.nav.account}
      aria-haspopup="menu"
      onClick={() => setUsed(true)}
    >
      <Icon name="account" />
    </ActionIcon>
  );
  return isUsed ? (
    <Suspense fallback={closed}>
      <AccountMenu />
    </Suspense>
  ) : (
    closed
  );
}
