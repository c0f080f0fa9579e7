import { Alert, Button, Center, Code, CopyButton, Group, Loader, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { ApiError } from "@/api/client.ts";
import { text } from "@/text/frame.ts";
import { Icon } from "./icons.tsx";
import classes from "./states.module.css";

/** A quiet sign that something is on its way. */
export function Waiting(): ReactNode {
  return (
    <Center p="xl" role="status" aria-label={text.common.loading}>
      <Loader size="sm" />
    </Center>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** A failed call in the gateway's own words, with its status and trace id. */
export function Failure({ error, onRetry }: FailureProps): ReactNode {
  const api = error instanceof ApiError ? error : undefined;
  return (
    <Alert color="red" variant="light" icon={<Icon name="warning" />} title={text.common.failed} role="alert">
      <Stack gap="xs">
        <Text size="sm">{error instanceof Error ? error.message : String(error)}</Text>
        {api !== undefined && api.status > 0 && (
          <Text size="xs" c="var(--ink-soft)">
            {text.common.status} {api.status}
            {api.code !== "" && ` · ${api.code}`}
            {api.traceId !== "" && (
              <>
                {" · "}
                {text.common.traceId} <Code>{api.traceId}</Code>
              </>
            )}
          </Text>
        )}
        {onRetry !== undefined && (
          <Group>
            <Button variant="default" onClick={onRetry}>
              {text.common.retry}
            </Button>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly hint?: string | undefined;
  /** A command that fills the page, offered for copying. */
  readonly command?: string | undefined;
  readonly action?: ReactNode;
}

/** What a page without content says: what belongs here and what to do next. */
export function Empty({ title, hint, command, action }: EmptyProps): ReactNode {
  return (
    <Center p="xl">
      <Stack align="center" gap="sm" maw="36rem">
        <Text fw={600} ta="center">
          {title}
        </Text>
        {hint !== undefined && (
          <Text size="sm" c="dimmed" ta="center">
            {hint}
          </Text>
        )}
        {command !== undefined && <Command value={command} />}
        {action}
      </Stack>
    </Center>
  );
}

/** A command or code with a button that copies it. */
export function Command({ value }: { readonly value: string }): ReactNode {
  return (
    <div className={classes.command}>
      <Code block tabIndex={0}>
        {value}
      </Code>
      <CopyValue value={value} />
    </div>
  );
}

/** A button that copies a value. */
export function CopyValue({
  value,
  label = text.common.copy,
}: {
  readonly value: string;
  readonly label?: string;
}): ReactNode {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          onClick={copy}
          leftSection={<Icon name={copied ? "check" : "copy"} size={14} />}
          style={{ flex: "none" }}
        >
          {copied ? text.common.copied : label}
        </Button>
      )}
    </CopyButton>
  );
}
