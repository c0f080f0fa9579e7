import { Alert, Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { BigText } from "@/components/big-text.tsx";
import { CodeField } from "@/components/code-field.tsx";
import { Icon } from "@/components/icons.tsx";
import { Failure } from "@/components/states.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { formatDuration } from "@/lib/format.ts";
import { formatJson } from "@/lib/format-json.ts";
import { asObject, isJsonObject, type JsonObject } from "@/lib/json.ts";
import { readDrafts } from "@/resources/checks/draft.ts";
import type { ParameterWords } from "@/resources/checks/parameters.ts";
import type { FieldMarks } from "@/resources/field-marks.ts";
import { FormOrJson, readBody, StaysHere, useFormOrJson } from "@/resources/form-or-json.tsx";
import { OtherMembers, SchemaForm, type SchemaRules } from "@/resources/schema-form/schema-form.tsx";
import { placeRoot, sameKey } from "@/resources/schema-form/schema-members.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { ObstacleNotice } from "@/session/obstacle.tsx";
import { text } from "@/text/text.ts";
import { callTool, type ToolAnswer, type ToolContent } from "./call.ts";
import type { Capability } from "./types.ts";

const words = text.tools;

/** Most characters of a description beside an input; the schema below has all of it. */
const maxHelp = 400;

/** Arguments are named as the tool names them. */
const toolWords: ParameterWords = {
  labelOf: (name) => name,
  helpOf: (_, { description }) =>
    typeof description !== "string" || description === ""
      ? undefined
      : description.length > maxHelp
        ? `${description.slice(0, maxHelp)}…`
        : description,
  labelOfValue: (_, value) => (typeof value === "string" ? value : JSON.stringify(value)),
  emptyOf: () => undefined,
};

const rules: SchemaRules = { words: toolWords, keyOf: sameKey };

/** Names of required arguments that are missing, each with what is said there. */
function missingIn({ required }: JsonObject, given: JsonObject): FieldMarks {
  const names = Array.isArray(required) ? required.map(String) : [];
  return Object.fromEntries(names.filter((name) => !Object.hasOwn(given, name)).map((name) => [name, words.missing]));
}

interface RunToolProps {
  readonly slug: string;
  readonly tool: Capability;
}

/** A form made of the schema of a tool, and what the tool answered. */
export function RunTool({ slug, tool }: RunToolProps): ReactNode {
  const { obstacle, headers } = useInference("tools");
  const queries = useQueryClient();
  const schema = asObject(tool.input_schema);
  const [placed] = useState(() => placeRoot(schema));
  const [form, setForm] = useState<JsonObject>({});
  const [marks, setMarks] = useState<FieldMarks>({});
  const host = useRef<HTMLFormElement>(null);
  const json = useFormOrJson({
    write: () => JSON.stringify(readDrafts(form), undefined, 2),
    read: (body) => {
      setForm(body);
      return [];
    },
  });
  const run = useMutation({
    mutationFn: (given: JsonObject) => callTool({ slug, tool: tool.name, given, headers }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["logs", "of-tool"] }),
  });
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => {
    if (Object.keys(marks).length > 0) host.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [marks]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblem(undefined);
    try {
      const given = json.code === undefined ? asObject(readDrafts(form)) : readBody(json.code);
      const missing = json.code === undefined ? missingIn(placed.schema, given) : {};
      setMarks(missing);
      if (Object.keys(missing).length === 0) run.mutate(given);
    } catch (error) {
      setProblem(error);
    }
  };
  const shared = { rules, placed, value: form, onChange: setForm, marks };
  return (
    <Stack gap="md">
      <ObstacleNotice obstacle={obstacle} />
      <form ref={host} onSubmit={submit} noValidate>
        <Stack gap="sm">
          <Group justify="space-between">
            <Text size="sm" c="dimmed" flex="1 1 20rem">
              {words.runHint}
            </Text>
            <FormOrJson isJson={json.code !== undefined} onChange={json.switchTo} />
          </Group>
          <StaysHere reason={json.reason} />
          {json.code === undefined ? (
            <Arguments {...shared} />
          ) : (
            <CodeField
              label={words.arguments}
              value={json.code}
              onChange={json.setCode}
              schema={schema}
              minHeight="8rem"
            />
          )}
          <RunButton tool={tool} isBusy={run.isPending} isOff={obstacle !== undefined} />
        </Stack>
      </form>
      {problem !== undefined && <Failure error={problem} />}
      {run.error !== null && <Failure error={run.error} />}
      {run.data !== undefined && <Answer answer={run.data} />}
    </Stack>
  );
}

/** Inputs for the arguments, also for those that the schema does not name. */
function Arguments(props: ComponentProps<typeof SchemaForm>): ReactNode {
  const hasNamed = Object.keys(asObject(props.placed.schema.properties)).length > 0;
  return (
    <>
      {!hasNamed && <Text size="sm">{words.noArguments}</Text>}
      <SchemaForm {...props} />
      <OtherMembers {...props} />
    </>
  );
}

interface RunButtonProps {
  readonly tool: Capability;
  readonly isBusy: boolean;
  readonly isOff: boolean;
}

function RunButton({ tool, isBusy, isOff }: RunButtonProps): ReactNode {
  return (
    <>
      {asObject(tool.annotations).destructiveHint === true && (
        <Alert className="notice" icon={<Icon name="warning" />}>
          {words.destructive}
        </Alert>
      )}
      <Group>
        <Button
          type="submit"
          loading={isBusy}
          disabled={isOff || !tool.enabled}
          leftSection={<Icon name="playground" size={14} />}
        >
          {words.run}
        </Button>
      </Group>
    </>
  );
}

function Answer({ answer }: { readonly answer: ToolAnswer }): ReactNode {
  const { can } = useSession();
  const { isError, content, structured, durationMs, requestId } = answer;
  return (
    <section aria-label={words.result} aria-live="polite">
      <Stack gap="sm">
        <Group gap="xs">
          <StatusBadge
            value={isError ? "failed" : "ok"}
            label={isError ? words.failed : words.took({ time: formatDuration(durationMs) })}
          />
          {requestId !== "" && can("GET /v1/logs/{id}") && (
            <Anchor component={Link} to={`/logs/${encodeURIComponent(requestId)}`} size="sm">
              {words.openLog}
            </Anchor>
          )}
        </Group>
        {content.map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no name but their place
          <Content key={index} piece={piece} place={index + 1} />
        ))}
        {isJsonObject(structured) && (
          <CodeField
            label={words.structured}
            value={JSON.stringify(structured, undefined, 2)}
            minHeight="3rem"
            maxHeight="32rem"
          />
        )}
        {content.length === 0 && structured === undefined && <Text size="sm">{words.empty}</Text>}
      </Stack>
    </section>
  );
}

/** A piece of a result as words: nothing of it is a document, and images are only those that came with it. */
function Content({ piece, place }: { readonly piece: ToolContent; readonly place: number }): ReactNode {
  if (piece.kind === "image") {
    return (
      <img src={piece.url} alt={words.image({ place })} style={{ maxInlineSize: "100%", inlineSize: "fit-content" }} />
    );
  }
  if (piece.kind === "other") {
    const value = JSON.stringify(piece.value, undefined, 2);
    return <BigText label={`${words.otherContent} ${place}`} value={value} fileName="result.json" />;
  }
  return <BigText label={`${words.text} ${place}`} value={formatJson(piece.text)} fileName="result.txt" />;
}
