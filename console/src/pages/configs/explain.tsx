import { Alert, Autocomplete, Button, Collapse, Group, Stack, TagsInput, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { post } from "@/api/client.ts";
import { CodeEditor } from "@/components/code-editor.tsx";
import { CodeField } from "@/components/code-field.tsx";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDuration } from "@/lib/format.ts";
import { useInference } from "@/session/inference.ts";
import { ObstacleNotice } from "@/session/obstacle.tsx";
import { text } from "@/text/text.ts";
import classes from "./config-tree.module.css";
import { type Plan, type PlannedCall, toPlan } from "./plan.ts";

const words = text.configs;

const paths = ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank"];

const firstBody = JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "Hello" }] }, undefined, 2);

interface ExplainProps {
  /** The config as written, or the slug of a saved one that was not changed. */
  readonly config: () => unknown;
  readonly plan: Plan | undefined;
  readonly onPlan: (plan: Plan | undefined) => void;
}

/** Pairs written as `name=value`. */
function toPairs(written: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    written.map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? [pair, ""] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}

/** Asks what the config would do with a sample request. */
export function Explain({ config, plan, onPlan }: ExplainProps): ReactNode {
  const { obstacle, headers } = useInference();
  const [path, setPath] = useState(paths[0] ?? "");
  const [body, setBody] = useState(firstBody);
  const [metadata, setMetadata] = useState<string[]>([]);
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const run = async () => {
    setState({ busy: true });
    try {
      const request = { path, body: JSON.parse(body === "" ? "{}" : body), metadata: toPairs(metadata) };
      const answer = await post("/v1/configs/explain", { body: { config: config(), request }, headers });
      onPlan(toPlan(answer));
      setState({ busy: false });
    } catch (error) {
      onPlan(undefined);
      setState({ busy: false, error });
    }
  };
  return (
    <Section title={words.explain}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {words.explainAbout}
        </Text>
        <ObstacleNotice
          obstacle={
            obstacle?.needsKey === true
              ? { ...obstacle, title: words.explainNeedsKey, hint: words.explainNeedsKeyHint }
              : obstacle
          }
        />
        <Autocomplete label={words.path} data={paths} value={path} onChange={setPath} size="xs" />
        <CodeField
          label={words.sampleBody}
          value={body}
          onChange={setBody}
          minHeight="6rem"
          maxHeight="16rem"
          lines={false}
        />
        <TagsInput
          label={words.metadata}
          description={words.metadataHint}
          placeholder={metadata.length === 0 ? "plan=paid" : ""}
          value={metadata}
          onChange={setMetadata}
          clearable
        />
        <Group>
          <Button onClick={() => void run()} loading={state.busy} disabled={obstacle !== undefined}>
            {words.explain}
          </Button>
          {plan !== undefined && (
            <Button variant="default" onClick={() => onPlan(undefined)}>
              {words.clear}
            </Button>
          )}
        </Group>
        {state.error !== undefined && <Failure error={state.error} />}
        {plan !== undefined && <PlanView plan={plan} />}
      </Stack>
    </Section>
  );
}

function PlanView({ plan }: { readonly plan: Plan }): ReactNode {
  return (
    <div aria-live="polite">
      <Stack gap="sm">
        {plan.warnings.length > 0 && (
          <Alert className="notice" icon={<Icon name="warning" />} title={words.warnings}>
            {plan.warnings.map((warning) => (
              <Text key={warning} size="sm">
                {warning}
              </Text>
            ))}
          </Alert>
        )}
        <Text size="sm" fw={600}>
          {words.calls({ count: plan.calls.length })}
        </Text>
        <ol className={classes.calls}>
          {plan.calls.map((planned, index) => (
            <Call key={planned.label} planned={planned} order={index + 1} />
          ))}
        </ol>
      </Stack>
    </div>
  );
}

function Call({ planned, order }: { readonly planned: PlannedCall; readonly order: number }): ReactNode {
  const [open, setOpen] = useState(false);
  const facts = [
    planned.host,
    planned.timeoutMs > 0 ? words.timeout({ time: formatDuration(planned.timeoutMs) }) : "",
    planned.retries > 0 ? words.retries({ count: planned.retries }) : "",
  ].filter((fact) => fact !== "");
  return (
    <li className={classes.call}>
      <span className={classes.order} aria-hidden="true">
        {order}
      </span>
      <div>
        <Text size="sm" fw={600}>
          {planned.provider || words.ofRequest}
          {planned.model !== "" && ` · ${planned.model}`}
        </Text>
        <Text size="xs" c="dimmed">
          {planned.label} — {planned.why}
        </Text>
        {facts.length > 0 && (
          <Text size="xs" c="dimmed">
            {facts.join(" · ")}
          </Text>
        )}
        <Button
          variant="subtle"
          size="compact-xs"
          ml={-8}
          aria-expanded={open}
          onClick={() => setOpen((before) => !before)}
        >
          {open ? words.hideParams : words.showParams}
        </Button>
        <Collapse expanded={open}>
          {open && (
            <CodeEditor
              label={words.params}
              value={JSON.stringify(planned.params, undefined, 2)}
              minHeight="3rem"
              maxHeight="16rem"
              lines={false}
            />
          )}
        </Collapse>
      </div>
    </li>
  );
}
