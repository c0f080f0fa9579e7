import { Button, Code, Group, Stack, Text, Textarea } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { type AnswerOf, post } from "@/api/client.ts";
import type { Answer } from "@/chat/answer.ts";
import { AnswerFigures, AnswerView } from "@/chat/answer-view.tsx";
import { runModel } from "@/chat/run.ts";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { nameOf } from "@/lib/words.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { ObstacleNotice } from "@/session/obstacle.tsx";
import { text } from "@/text/text.ts";

const words = text.prompts;

interface TryPromptProps {
  /** As requests name it: `slug@version`. */
  readonly reference: string;
  readonly variables: readonly string[];
}

/** JSON lists and objects as they are, everything else as text. */
function toValue(written: string): unknown {
  if (!/^\s*[[{]/.test(written)) return written;
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

/** The request that a prompt becomes. */
type Request = AnswerOf<"POST /v1/prompts/{id}/render">["data"];

interface Result {
  readonly answer?: Answer;
  readonly rendered?: Request;
  readonly error?: unknown;
}

/** Fills in a saved version and runs it. */
function useTry(reference: string, values: Readonly<Record<string, string>>) {
  const { can } = useSession();
  const { headers } = useInference();
  const [result, setResult] = useState<Result>({});
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const path = `/v1/prompts/${encodeURIComponent(reference)}`;
  const variables = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, toValue(value)]));
  const render = async () => {
    try {
      const { data } = await post("/v1/prompts/{id}/render", { path: { id: reference }, body: { variables }, headers });
      setResult({ rendered: data });
    } catch (error) {
      setResult({ error });
    }
  };
  const run = () => {
    controller.current?.abort();
    controller.current = new AbortController();
    const request = {
      path: `${path}/completions`,
      headers: { "x-gateway-strict-open-ai-compliance": "false", ...headers },
      body: { variables, stream: true, stream_options: { include_usage: true } },
    };
    void runModel(request, {
      signal: controller.current.signal,
      onAnswer: (answer) => setResult({ answer }),
      readsLog: can("GET /v1/logs/{id}"),
    });
  };
  return { result, render, run, stop: () => controller.current?.abort() };
}

/** Values of the variables, and what the prompt becomes with them. */
export function TryPrompt({ reference, variables }: TryPromptProps): ReactNode {
  const { can } = useSession();
  const { obstacle } = useInference();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const given = Object.fromEntries(variables.map((name) => [name, values[name] ?? ""]));
  const { result, render, run, stop } = useTry(reference, given);
  const busy = result.answer?.state === "waiting" || result.answer?.state === "streaming";
  return (
    <Section title={words.tryIt}>
      <Stack gap="sm">
        <ObstacleNotice obstacle={obstacle} />
        <Text size="sm" c="dimmed">
          {variables.length === 0 ? words.noVariables : words.valuesHint}
        </Text>
        {variables.map((name) => (
          <Textarea
            key={name}
            label={<span className="code">{`{{${name}}}`}</span>}
            autosize
            minRows={1}
            maxRows={8}
            value={values[name] ?? ""}
            onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        ))}
        <Group gap="xs">
          {busy ? (
            <Button variant="default" leftSection={<Icon name="stop" size={14} />} onClick={stop}>
              {words.stop}
            </Button>
          ) : (
            <Button
              leftSection={<Icon name="playground" size={14} />}
              onClick={run}
              disabled={obstacle !== undefined || !can("POST /v1/prompts/{id}/completions")}
            >
              {words.run}
            </Button>
          )}
          <Button variant="default" onClick={() => void render()} disabled={obstacle !== undefined}>
            {words.render}
          </Button>
        </Group>
        {result.error !== undefined && <Failure error={result.error} />}
        {result.rendered !== undefined && <Rendered request={result.rendered} />}
        {result.answer !== undefined && (
          <div aria-live="polite">
            <AnswerView answer={result.answer} />
            <AnswerFigures answer={result.answer} showsLog={can("GET /v1/logs/{id}")} />
          </div>
        )}
      </Stack>
    </Section>
  );
}

/** The request a prompt became: its messages as text, the rest as JSON. */
function Rendered({ request }: { readonly request: Request }): ReactNode {
  const { messages: list = [], ...rest } = request;
  return (
    <Stack gap="xs" aria-label={words.rendered} role="group">
      {list.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
        <div key={index}>
          <Text size="xs" fw={600} c="dimmed">
            {nameOf(String(message.role))}
          </Text>
          <Code block style={{ whiteSpace: "pre-wrap" }}>
            {typeof message.content === "string" ? message.content : JSON.stringify(message.content, undefined, 2)}
          </Code>
        </div>
      ))}
      <Code block style={{ whiteSpace: "pre-wrap" }}>
        {JSON.stringify(rest, undefined, 2)}
      </Code>
    </Stack>
  );
}
