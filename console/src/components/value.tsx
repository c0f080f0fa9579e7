import { ActionIcon, Badge, CopyButton, Group, Text, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import {
  formatAgo,
  formatBytes,
  formatDollars,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
} from "@/lib/format.ts";
import { wordOf } from "@/lib/words.ts";
import { text } from "@/text/frame.ts";
import { Icon } from "./icons.tsx";
import classes from "./value.module.css";

export type ValueKind =
  | "text"
  | "word"
  | "code"
  /** An id, slug or address, which is sent or opened elsewhere: the page of a record offers to copy it. */
  | "id"
  | "number"
  | "dollars"
  | "duration"
  | "share"
  | "bytes"
  | "time"
  | "ago"
  | "seconds"
  | "status"
  | "boolean"
  | "tags"
  /** A list of values that the API names. */
  | "words"
  | "json"
  /** Members whose values the API names. */
  | "settings";

/** Kinds whose figures stand flush right in tables. */
export const figureKinds: ReadonlySet<ValueKind> = new Set(["number", "dollars", "duration", "share", "bytes"]);

const figures = {
  number: formatNumber,
  dollars: formatDollars,
  duration: formatDuration,
  share: formatShare,
  bytes: formatBytes,
} as const;

function isFigure(kind: ValueKind): kind is keyof typeof figures {
  return figureKinds.has(kind);
}

type Tone = "good" | "warn" | "bad" | "quiet";

const tones: Readonly<Record<string, Tone>> = {
  active: "good",
  success: "good",
  completed: "good",
  processed: "good",
  accepted: "good",
  connected: "good",
  passed: "good",
  ok: "good",
  resolved: "good",
  sent: "good",
  no_data: "warn",
  healthy: "good",
  closed: "good",
  degraded: "warn",
  exhausted: "warn",
  pending: "warn",
  in_progress: "warn",
  expired: "bad",
  failed: "bad",
  denied: "bad",
  failing: "bad",
  firing: "bad",
  unhealthy: "bad",
  open: "bad",
};

function toneOf(word: string): Tone {
  const code = Number(word);
  if (code >= 500) return "bad";
  if (code >= 400) return "warn";
  return code >= 200 ? "good" : ((Object.hasOwn(tones, word) ? tones[word] : undefined) ?? "quiet");
}

/** A state as a badge: HTTP statuses by their class, words by their meaning, anything else grey. */
export function StatusBadge({
  value,
  label,
}: {
  readonly value: string | number;
  /** What it says; default: the state. */
  readonly label?: string;
}): ReactNode {
  const word = String(value).toLowerCase();
  return (
    <span className={classes.badge} data-tone={toneOf(word)}>
      {label ?? wordOf(word).replaceAll("_", " ")}
    </span>
  );
}

/** Whether a value holds nothing: missing, or an empty text, list or object. */
export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

interface ValueProps {
  readonly value: unknown;
  readonly kind?: ValueKind;
  /** What stands for a missing or empty value. Default: a dash. */
  readonly empty?: string | undefined;
}

/** A value of a record the way its kind is read. */
export function Value({ value, kind = "text", empty = "—" }: ValueProps): ReactNode {
  if (isEmpty(value))
    return (
      <Text span c="dimmed" inherit>
        {empty}
      </Text>
    );
  if (isFigure(kind)) {
    const figure = Number(value);
    return <span className="number">{Number.isNaN(figure) ? String(value) : figures[kind](figure)}</span>;
  }
  if (kind === "time") return formatTime(String(value));
  if (kind === "ago" || kind === "seconds") {
    const moment = kind === "seconds" ? Number(value) * 1000 : String(value);
    return (
      <Tooltip label={formatTime(moment)}>
        <span>{formatAgo(moment)}</span>
      </Tooltip>
    );
  }
  if (kind === "status") return <StatusBadge value={String(value)} />;
  if (kind === "words" && Array.isArray(value)) return value.map((word) => wordOf(String(word))).join(", ");
  if (kind === "tags" && Array.isArray(value)) return <Tags values={value.map(String)} />;
  if (kind === "boolean") return value === true || value === 1 ? text.common.yes : text.common.no;
  if (kind === "word") return wordOf(String(value));
  if (kind === "code" || kind === "id") return <span className="code">{String(value)}</span>;
  return typeof value === "object" ? <span className="code">{JSON.stringify(value)}</span> : String(value);
}

/** A value as code, with a button that copies it. */
export function CopiedCode({ value, label }: { readonly value: string; readonly label: string }): ReactNode {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <span className="code">{value}</span>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <ActionIcon
            className={classes.copy ?? ""}
            variant="subtle"
            color="gray"
            size={24}
            aria-label={text.common.copyOf({ label })}
            onClick={copy}
          >
            <Icon name={copied ? "check" : "copy"} size={14} />
          </ActionIcon>
        )}
      </CopyButton>
    </Group>
  );
}

interface TagsProps {
  readonly values: readonly string[];
  /** Shows all of them, in several lines; default: the first ones in one line. */
  readonly isWhole?: boolean;
}

export function Tags({ values, isWhole = false }: TagsProps): ReactNode {
  const shown = isWhole ? values : values.slice(0, 4);
  return (
    <Group gap={4} wrap={isWhole ? "wrap" : "nowrap"}>
      {shown.map((value) => (
        <Badge key={value} variant="default" radius="sm" tt="none" fw={400}>
          {value}
        </Badge>
      ))}
      {values.length > shown.length && (
        <Text span size="xs" c="dimmed">
          +{values.length - shown.length}
        </Text>
      )}
    </Group>
  );
}
