import { Anchor, Group, Stack, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Icon } from "@/components/icons.tsx";
import { text } from "@/text/frame.ts";
import classes from "./layout.module.css";

interface PageProps {
  readonly title: string;
  /** One line below the title: what the page is for. */
  readonly about?: string | undefined;
  /** Where the way back leads, with its name. */
  readonly back?: { readonly to: string; readonly label: string } | undefined;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** Filters below the title. */
  readonly filters?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of every page: way back, title, actions, filters, content. */
function Page({ title, about, back, actions, filters, children }: PageProps): ReactNode {
  useDocumentTitle(`${title} · ${text.common.product}`);
  return (
    <Stack gap="md" className={classes.page}>
      <header>
        {back !== undefined && (
          <Anchor component={Link} to={back.to} size="sm" className={classes.back}>
            <Icon name="back" size={14} /> {back.label}
          </Anchor>
        )}
        <Group justify="space-between" align="start" gap="sm">
          <div className={classes.heading}>
            <Title order={1} className={classes.title}>
              {title}
            </Title>
            {about !== undefined && <p className={classes.about}>{about}</p>}
          </div>
          {actions !== undefined && <Group gap="xs">{actions}</Group>}
        </Group>
      </header>
      {filters !== undefined && <Group gap="xs">{filters}</Group>}
      {children}
    </Stack>
  );
}

/** Layout of a list: title and actions, filters, one table. */
export function ListPage(props: PageProps): ReactNode {
  return <Page {...props} />;
}

/** Layout of one record: content beside a narrow column of facts. */
export function DetailPage({ aside, children, ...props }: PageProps & { readonly aside?: ReactNode }): ReactNode {
  return (
    <Page {...props}>
      <div className={classes.detail} data-aside={aside !== undefined || undefined}>
        <Stack gap="md" miw={0}>
          {children}
        </Stack>
        {aside !== undefined && <aside className={classes.aside}>{aside}</aside>}
      </div>
    </Page>
  );
}

/** Layout of an editor: one column of limited width with its actions below. */
export function EditorPage({ footer, children, ...props }: PageProps & { readonly footer?: ReactNode }): ReactNode {
  return (
    <Page {...props}>
      <div className={classes.editor}>
        <Stack gap="md">{children}</Stack>
        {footer !== undefined && (
          <Group className={classes.footer} gap="xs">
            {footer}
          </Group>
        )}
      </div>
    </Page>
  );
}

interface SectionProps {
  readonly title: string;
  /** true: the title is only read out, because what stands above says it already. */
  readonly isPlain?: boolean;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A titled block of a page. */
export function Section({ title, isPlain = false, actions, children }: SectionProps): ReactNode {
  return (
    <section className={classes.section} aria-label={title}>
      {!isPlain && (
        <Group justify="space-between" className={classes.sectionHead}>
          <Title order={2}>{title}</Title>
          {actions}
        </Group>
      )}
      <div className={classes.sectionBody}>{children}</div>
    </section>
  );
}
