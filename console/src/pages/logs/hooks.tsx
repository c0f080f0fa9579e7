import { Badge, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Empty } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDuration } from "@/lib/format.ts";
import { isRow, type Row, readPath, readText, rowsOf } from "@/lib/read.ts";
import { text } from "@/text/text.ts";
import classes from "./detail.module.css";

const words = text.logs.hooks;

/** Number of guardrails that ran. */
export function countHooks(row: Row): number {
  return (["before", "after"] as const).reduce(
    (sum, when) => sum + rowsOf(readPath(row, `hook_results.${when}_request_hooks`)).length,
    0,
  );
}

/** Guardrails that denied the request or its response, each with the checks that failed. */
export function Denials({ row }: { readonly row: Row }): ReactNode {
  const hooks = (["before", "after"] as const).flatMap((when) =>
    rowsOf(readPath(row, `hook_results.${when}_request_hooks`)),
  );
  const denied = hooks.filter((hook) => hook.deny === true && hook.verdict === false);
  return denied.map((hook) => {
    const failed = rowsOf(hook.checks).filter((check) => check.verdict === false);
    const checks = failed.map((check) => readText(check, "id")).join(", ");
    return (
      <Text key={readText(hook, "id")} size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
        {words.deniedBy(readText(hook, "id"), checks)}
      </Text>
    );
  });
}

/** Results of guardrails before and after the call. */
export function Hooks({ row }: { readonly row: Row }): ReactNode {
  if (countHooks(row) === 0) {
    return (
      <Section title={text.logs.tabs.hooks} isPlain>
        <Empty title={words.none} />
      </Section>
    );
  }
  return (
    <Stack gap="md">
      {(["before", "after"] as const).map((when) => {
        const hooks = rowsOf(readPath(row, `hook_results.${when}_request_hooks`));
        if (hooks.length === 0) return null;
        return (
          <Section key={when} title={words[when]}>
            <Stack gap="sm">
              {hooks.map((hook, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: ids may repeat
                <Hook key={index} hook={hook} />
              ))}
            </Stack>
          </Section>
        );
      })}
    </Stack>
  );
}

function Verdict({ passed, denied }: { readonly passed: boolean; readonly denied: boolean }): ReactNode {
  return (
    <span className={classes.verdict} data-tone={passed ? "good" : denied ? "bad" : "warn"}>
      {passed ? words.passed : denied ? words.denied : words.objected}
    </span>
  );
}

function Hook({ hook }: { readonly hook: Row }): ReactNode {
  return (
    <div className={classes.tool}>
      <Group gap="xs">
        <Verdict passed={hook.verdict !== false} denied={hook.deny === true} />
        <Text size="sm" fw={600}>
          {readText(hook, "id")}
        </Text>
        {hook.transformed === true && (
          <Badge variant="default" radius="sm">
            {words.changed}
          </Badge>
        )}
        {hook.async === true && (
          <Badge variant="default" radius="sm">
            {words.async}
          </Badge>
        )}
        <span className={classes.faint}>{formatDuration(Number(hook.execution_time ?? 0))}</span>
      </Group>
      <Stack gap={4} mt="xs">
        {rowsOf(hook.checks).map((check, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <div key={index}>
            <Group gap="xs">
              <Verdict passed={check.verdict !== false} denied={false} />
              <span className="code">{readText(check, "id")}</span>
              <span className={classes.faint}>{formatDuration(Number(check.execution_time ?? 0))}</span>
              {isRow(check.error) && <Text size="sm">{readText(check.error, "message")}</Text>}
            </Group>
            {isRow(check.data) && (
              <pre className={classes.code}>{JSON.stringify(check.data, undefined, 2).slice(0, 4000)}</pre>
            )}
          </div>
        ))}
      </Stack>
    </div>
  );
}
