import {
  ActionIcon,
  Button,
  Drawer,
  Kbd,
  Menu,
  Select,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { Waiting } from "@/components/states.tsx";
import classes from "@/layout/layout.module.css";
import { formatAgo } from "@/lib/format.ts";
import { nameOf } from "@/lib/words.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { navEntries } from "./entries.ts";

/** The frame around every page: header, navigation, content. */
export function Shell(): ReactNode {
  const [menu, { open, close }] = useDisclosure();
  const [palette, searching] = useDisclosure();
  const LoadedPalette = usePalette();
  const path = useRouterState({ select: (state) => state.location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the menu
  useEffect(close, [path]);
  return (
    <div className={classes.frame}>
      <a href="#content" className={classes.skip}>
        {text.common.skip}
      </a>
      <header className={classes.header}>
        <ActionIcon hiddenFrom="sm" variant="subtle" color="gray" aria-label={text.nav.open} onClick={open}>
          <Icon name="menu" />
        </ActionIcon>
        <Link to="/" className={classes.brand} aria-label={text.common.product}>
          <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width={22} height={22} />
          <span className={classes.product}>{text.common.product}</span>
        </Link>
        <HeaderTools onSearch={searching.open} />
      </header>
      <nav className={classes.nav} aria-label={text.nav.label}>
        <Navigation />
      </nav>
      <main id="content" className={classes.content} tabIndex={-1}>
        <Suspense fallback={<Waiting />}>
          <Outlet />
        </Suspense>
      </main>
      <Drawer
        opened={menu}
        onClose={close}
        size="16rem"
        title={text.nav.label}
        closeButtonProps={{ "aria-label": text.common.close }}
      >
        <Button
          variant="default"
          fullWidth
          leftSection={<Icon name="search" size={14} />}
          onClick={() => {
            close();
            searching.open();
          }}
        >
          {text.common.search}
        </Button>
        <nav aria-label={text.nav.label}>
          <Navigation />
        </nav>
      </Drawer>
      {palette && LoadedPalette !== undefined && <LoadedPalette onClose={searching.close} />}
    </div>
  );
}

/** The palette, loaded before it is asked for: keys typed right after the ones that open it must arrive in it. */
function usePalette() {
  const [parts, setParts] = useState<typeof import("./palette.tsx")>();
  useEffect(() => {
    void import("./palette.tsx").then(setParts);
  }, []);
  return parts?.Palette;
}

/** The pages one may open. The entry of the open page is scrolled into view. */
function Navigation(): ReactNode {
  const { can } = useSession();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const frame = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address has another entry
  useEffect(() => {
    // in braces: some browsers answer with a promise, which is no cleanup
    frame.current?.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  return (
    <div ref={frame}>
      {navEntries(can).map(([label, entries]) => (
        <div key={label}>
          <div className={classes.group}>{label}</div>
          {entries.map(({ to, label, icon }) => (
            <Link key={to} to={to} className={classes.entry} activeOptions={{ exact: to === "/" }}>
              <Icon name={icon} />
              {label}
            </Link>
          ))}
        </div>
      ))}
    </div>
  );
}

/** @param props.onSearch Opens the command palette. */
function HeaderTools({ onSearch }: { readonly onSearch: () => void }): ReactNode {
  useHotkeys([["/", () => document.querySelector<HTMLElement>("[data-search]")?.focus()]]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      onSearch();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [onSearch]);
  return (
    <>
      <div style={{ flex: 1 }} />
      <WorkspaceSelect />
      <Button
        variant="default"
        leftSection={<Icon name="search" size={14} />}
        onClick={onSearch}
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
      <AccountMenu />
    </>
  );
}

function WorkspaceSelect(): ReactNode {
  const { all, current, choosable, choose } = useWorkspace();
  if (!choosable && current !== undefined) {
    return (
      <Text size="sm" c="var(--ink-soft)" truncate title={text.common.workspace}>
        {current.name}
      </Text>
    );
  }
  if (!choosable || all.length === 0) return null;
  return (
    <Select
      aria-label={text.common.workspace}
      placeholder={text.common.allWorkspaces}
      data={all.map(({ id, name }) => ({ value: id, label: name }))}
      value={current?.id ?? null}
      onChange={(id) => choose(id ?? undefined)}
      clearable
      searchable
      w={{ base: "9.5rem", sm: "11rem" }}
    />
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

function AccountMenu(): ReactNode {
  const { principal, expiresAt, leave } = useSession();
  return (
    <Menu position="bottom-end" width="16rem">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={text.nav.account}>
          <Icon name="account" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" truncate>
            {principal.user?.email ?? principal.key?.name ?? nameOf(principal.type)}
          </Text>
          <Text size="xs" c="dimmed">
            {nameOf(principal.type)}
            {principal.role ? ` · ${nameOf(principal.role)}` : ""} · {text.signIn.expires(formatAgo(expiresAt))}
          </Text>
        </Menu.Label>
        <Menu.Item leftSection={<Icon name="leave" size={14} />} onClick={() => void leave()}>
          {text.signIn.out}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
