import { Group, Stack, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CodeField } from "@/components/code-field.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { DetailPage, Section } from "@/layout/page.tsx";
import { asObject, textOf } from "@/lib/json.ts";
import { useSearchParams } from "@/lib/search.ts";
import { usePart } from "@/resources/sections/use-part.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { Approval } from "./approval.tsx";
import { LastCalls } from "./last-calls.tsx";
import { RunTool } from "./run-tool.tsx";
import type { Capability } from "./types.ts";

const words = text.tools;

/** One capability of an MCP server: what it is, how it is run, and who called it. */
export function ServerCapability(): ReactNode {
  const { id: slug = "" } = useParams({ strict: false });
  const { type = "", name = "" } = useSearchParams();
  const { can } = useSession();
  const query = { type, name };
  const part = usePart("/v1/mcp-servers/{slug}/capabilities", { path: { slug }, query, inWorkspace: true });
  const server = usePart("/v1/mcp-servers/{slug}", { path: { slug }, inWorkspace: true });
  return (
    <CapabilityPage
      part={part}
      back={{ to: `/mcp-servers/${encodeURIComponent(slug)}`, label: server.data?.name ?? slug }}
      integration={server.data?.mcp_integration_details?.slug}
    >
      {(capability) =>
        capability.type === "tool" && (
          <>
            <Section title={words.run}>
              <RunTool key={capability.name} slug={slug} tool={capability} />
            </Section>
            {can("GET /v1/logs") && (
              <Section title={words.lastCalls}>
                <LastCalls slug={slug} tool={capability.name} />
              </Section>
            )}
          </>
        )
      }
    </CapabilityPage>
  );
}

/** The same at the integration, which approves definitions. */
export function IntegrationCapability(): ReactNode {
  const { id: slug = "" } = useParams({ strict: false });
  const { type = "", name = "" } = useSearchParams();
  const query = { type, name };
  const part = usePart("/v1/mcp-integrations/{slug}/capabilities", { path: { slug }, query, inWorkspace: true });
  const back = { to: `/mcp-integrations/${encodeURIComponent(slug)}`, label: slug };
  return <CapabilityPage part={part} back={back} integration={slug} />;
}

interface CapabilityPageProps {
  readonly part: {
    readonly data: { readonly data: readonly Capability[] } | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly back: { readonly to: string; readonly label: string };
  /** Slug of the integration that has the definition; undefined: not known to the viewer. */
  readonly integration: string | undefined;
  readonly children?: (capability: Capability) => ReactNode;
}

function CapabilityPage({ part, back, integration, children }: CapabilityPageProps): ReactNode {
  const { name = "" } = useSearchParams();
  const capability = part.data?.data[0];
  return (
    <DetailPage title={capability === undefined ? name : titleOf(capability)} about={name} back={back}>
      {part.error !== null && <Failure error={part.error} onRetry={() => void part.refetch()} />}
      {part.data === undefined && part.error === null && <Waiting />}
      {part.data !== undefined && capability === undefined && <Empty title={words.notFound} />}
      {capability !== undefined && (
        <>
          {capability.approval !== "approved" && <Approval capability={capability} integration={integration} />}
          {children?.(capability)}
          <Section title={words.definition}>
            <Definition capability={capability} />
          </Section>
        </>
      )}
    </DetailPage>
  );
}

const titleOf = ({ title, annotations, name }: Capability): string =>
  textOf(title) || textOf(asObject(annotations).title) || name;

const pretty = (value: unknown): string => JSON.stringify(value, undefined, 2);

const hintNames = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** What the server says of a tool itself, in words. */
function hintsOf(annotations: unknown): readonly string[] {
  const given = asObject(annotations);
  return hintNames.flatMap((name) =>
    typeof given[name] === "boolean" ? [words.hints[name][given[name] ? 0 : 1]] : [],
  );
}

function Definition({ capability }: { readonly capability: Capability }): ReactNode {
  const { type, enabled, description, annotations, hidden_characters: hidden } = capability;
  const { input_schema: input, output_schema: output, arguments: given } = capability;
  const hints = hintsOf(annotations);
  const parts = [
    [words.inputSchema, input],
    [words.outputSchema, output],
    [words.arguments, given],
    [words.annotations, annotations],
  ] as const;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <StatusBadge value={type} label={words.types[type] ?? type} />
        {!enabled && <StatusBadge value="failed" label={words.off} />}
        {hints.map((hint) => (
          <StatusBadge key={hint} value="hint" label={hint} />
        ))}
        {hints.length > 0 && (
          <Text span size="xs" c="dimmed">
            {words.hintsHint}
          </Text>
        )}
      </Group>
      {textOf(description) !== "" && (
        <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }} dir="auto">
          {textOf(description)}
        </Text>
      )}
      {hidden > 0 && (
        <Text size="sm" c="var(--bad)">
          {words.hidden({ count: hidden })}
        </Text>
      )}
      {parts.map(
        ([label, value]) =>
          value !== null &&
          value !== undefined && (
            <CodeField key={label} label={label} value={pretty(value)} minHeight="3rem" maxHeight="24rem" />
          ),
      )}
    </Stack>
  );
}
