import { Badge, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Empty } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDuration } from "@/lib/format.ts";
import { text } from "@/text/text.ts";
import classes from "./detail.module.css";
import type { LogRow } from "./row.ts";

const words = text.logs.hooks;

type HookResult = NonNullable<LogRow["hook_results"]>["before_request_hooks"][number];

/** Results of guardrails before or after the call. */
function hooksOf({ hook_results: results }: LogRow, when: "before" | "after"): readonly HookResult[] {
  if (results === undefined) return [];
  return when === "before" ? results.before_request_hooks : results.after_request_hooks;
}

/** Number of guardrails that ran. */
export function countHooks(row: LogRow): number {
  return hooksOf(row, "before").length + hooksOf(row, "after").length;
}

/** Guardrails that denied the request or its response, each with the checks that failed. */
export function Denials({ row }: { readonly row: LogRow }): ReactNode {
  const hooks = [...hooksOf(row, "before"), ...hooksOf(row, "after")];
  const denied = hooks.filter(({ deny, verdict }) => deny && !verdict);
  return denied.map((hook) => {
    const failed = hook.checks.filter(({ verdict }) => !verdict);
    const checks = failed.map((check) => check.id).join(", ");
    return (
      <Text key={hook.id} size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
        {checks === "" ? words.deniedBy({ guardrail: hook.id }) : words.deniedByChecks({ guardrail: hook.id, checks })}
      </Text>
    );
  });
}

/** Results of guardrails before and after the call. */
export function Hooks({ row }: { readonly row: LogRow }): ReactNode {
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
        const hooks = hooksOf(row, when);
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

function Hook({ hook }: { readonly hook: HookResult }): ReactNode {
  return (
    <div className={classes.tool}>
      <Group gap="xs">
        <Verdict passed={hook.verdict} denied={hook.deny} />
        <Text size="sm" fw={600}>
          {hook.id}
        </Text>
        {hook.transformed && (
          <Badge variant="default" radius="sm">
            {words.changed}
          </Badge>
        )}
        {hook.async && (
          <Badge variant="default" radius="sm">
            {words.async}
          </Badge>
        )}
        <span className={classes.faint}>{formatDuration(hook.execution_time)}</span>
      </Group>
      <Stack gap={4} mt="xs">
        {hook.checks.map((check, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <div key={index}>
            <Group gap="xs">
              <Verdict passed={check.verdict} denied={false} />
              <span className="code">{check.id}</span>
              <span className={classes.faint}>{formatDuration(check.execution_time)}</span>
              {check.error !== null && <Text size="sm">{check.error.message}</Text>}
            </Group>
            {check.data !== null && (
              <pre className={classes.code}>{JSON.stringify(check.data, undefined, 2).slice(0, 4000)}</pre>
            )}
          </div>
        ))}
      </Stack>
    </div>
  );
}
