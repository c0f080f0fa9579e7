import { ActionIcon, Menu, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon } from "@/components/icons.tsx";
import { formatAgo } from "@/lib/format.ts";
import { nameOf } from "@/lib/words.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";
import { chooseAnother, language, languageNames, languages } from "@/text/locale.ts";

/** Who signed in, and the way out. It is open at first: its code is loaded with the first click. */
export function AccountMenu(): ReactNode {
  const { principal, expiresAt, leave } = useSession();
  return (
    <Menu position="bottom-end" width="16rem" defaultOpened>
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
            {principal.role ? ` · ${nameOf(principal.role)}` : ""} ·{" "}
            {text.signIn.expires({ when: formatAgo(expiresAt) })}
          </Text>
        </Menu.Label>
        <Menu.Label>{text.nav.language}</Menu.Label>
        {languages.map((name) => (
          <Menu.Item
            key={name}
            lang={name}
            aria-current={name === language}
            leftSection={name === language ? <Icon name="check" size={14} /> : <span style={{ width: 14 }} />}
            onClick={() => chooseAnother(name)}
          >
            {languageNames[name]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="leave" size={14} />} onClick={() => void leave()}>
          {text.signIn.out}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
