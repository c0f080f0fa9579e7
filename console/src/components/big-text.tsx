import { Button, Group, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type FormEvent, type ReactNode, useMemo, useRef, useState } from "react";
import { formatNumber } from "@/lib/format.ts";
import { saveAs } from "@/lib/save.ts";
import { text } from "@/text/text.ts";
import classes from "./big-text.module.css";
import { Icon } from "./icons.tsx";
import { CopyValue } from "./states.tsx";

interface BigTextProps {
  readonly value: string;
  /** Accessible name. */
  readonly label: string;
  /** Name of the file it is saved as. */
  readonly fileName: string;
}

const lineHeight = 20;
/** Longest line on the screen; what is longer goes on in the next one. */
const lineLength = 240;

/** Ends of the lines on the screen, as offsets in the text. */
function toLines(value: string): Uint32Array {
  const ends: number[] = [];
  let start = 0;
  while (start <= value.length) {
    const found = value.indexOf("\n", start);
    const end = found === -1 ? value.length : found;
    for (let cut = start + lineLength; cut < end; cut += lineLength) ends.push(cut);
    ends.push(end);
    if (found === -1) break;
    start = end + 1;
  }
  return Uint32Array.from(ends);
}

/** The first line that ends at or behind an offset. */
function lineAt(ends: Uint32Array, offset: number): number {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) >= offset) high = middle;
    else low = middle + 1;
  }
  return low;
}

const heightOf = (lines: number): string => `min(${(lines + 2) * lineHeight}px, 32rem, 70vh)`;

/** Text of any size: only the lines in view are in the document. With a search, because the browser's sees only those. */
export function BigText({ value, label, fileName }: BigTextProps): ReactNode {
  const ends = useMemo(() => toLines(value), [value]);
  const scroller = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState<number>();
  const virtual = useVirtualizer({
    count: ends.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => lineHeight,
    overscan: 20,
  });
  const lineOf = (index: number): string => {
    const before = index === 0 ? -1 : (ends[index - 1] ?? 0);
    const start = index === 0 ? 0 : value[before] === "\n" ? before + 1 : before;
    return value.slice(start, ends[index]);
  };
  const find = (wanted: string) => {
    const from = found === undefined ? 0 : found + 1;
    const next = value.indexOf(wanted, from);
    const at = next === -1 ? value.indexOf(wanted) : next;
    setFound(at === -1 ? undefined : at);
    if (at !== -1) virtual.scrollToIndex(lineAt(ends, at + 1), { align: "center" });
    return at !== -1;
  };
  const size = { height: heightOf(ends.length) };
  const foundLine = found === undefined ? -1 : lineAt(ends, found + 1);
  return (
    <div>
      <Group gap="xs" mb="xs" justify="space-between">
        <Finder onFind={find} />
        <Group gap="xs">
          <span className={classes.size}>
            {text.bigText.size({ characters: formatNumber(value.length), lines: formatNumber(ends.length) })}
          </span>
          <CopyValue value={value} />
          <Button
            variant="default"
            leftSection={<Icon name="exports" size={14} />}
            onClick={() => saveAs(fileName, new Blob([value]))}
          >
            {text.bigText.save}
          </Button>
        </Group>
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section ref={scroller} className={classes.scroller} style={size} aria-label={label} tabIndex={0}>
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              className={classes.line}
              data-found={index === foundLine || undefined}
              style={{ transform: `translateY(${start}px)` }}
            >
              {lineOf(index)}
            </div>
          ))}
        </div>
      </section>
    </div>
  );
}

function Finder({ onFind }: { readonly onFind: (wanted: string) => boolean }): ReactNode {
  const [wanted, setWanted] = useState("");
  const [isMissing, setMissing] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wanted !== "") setMissing(!onFind(wanted));
  };
  return (
    <form onSubmit={submit}>
      <TextInput
        aria-label={text.bigText.find}
        placeholder={text.bigText.find}
        leftSection={<Icon name="search" size={14} />}
        value={wanted}
        error={isMissing ? text.bigText.missing : undefined}
        onChange={(event) => {
          setWanted(event.currentTarget.value);
          setMissing(false);
        }}
        w="16rem"
      />
    </form>
  );
}
