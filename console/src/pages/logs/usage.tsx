import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "@/api/client.ts";
import { Empty } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatNumber } from "@/lib/format.ts";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { costOf } from "./row.ts";

const words = text.logs.usage;

const priceRow = "GET /v1/model-configs/pricing/{provider}/{model}";

interface Line {
  readonly label: string;
  readonly count: number;
  /** The count is a part of another line. */
  readonly isPart?: boolean;
  /** Member of the price list; undefined: it has no price of its own. */
  readonly price?: string;
}

/** Lines of what was counted. Input and output stand without the parts that have a price of their own. */
function toLines(usage: Row): readonly Line[] {
  const of = (name: string) => Number(usage[name] ?? 0);
  const parts: readonly Line[] = [
    { label: words.cached, count: of("cached_tokens"), price: "cache_read_input_token" },
    { label: words.cacheWrite, count: of("cache_write_tokens"), price: "cache_write_input_token" },
    { label: words.audioInput, count: of("audio_input_tokens"), price: "request_audio_token" },
  ];
  const audioOutput = of("audio_output_tokens");
  const units = isRow(usage.units) ? Object.entries(usage.units) : [];
  const plainInput = of("input_tokens") - parts.reduce((sum, { count }) => sum + count, 0);
  return [
    { label: words.input, count: Math.max(0, plainInput), price: "request_token" },
    ...parts.filter(({ count }) => count > 0),
    { label: words.output, count: Math.max(0, of("output_tokens") - audioOutput), price: "response_token" },
    { label: words.reasoning, count: of("reasoning_tokens"), isPart: true },
    { label: words.audioOutput, count: audioOutput, price: "response_audio_token" },
    ...units.map(([name, count]) => ({ label: name, count: Number(count), price: `additional_units.${name}` })),
  ].filter(({ count }, index) => count > 0 || index === 0);
}

/** What was counted and what it cost. */
export function Usage({ row }: { readonly row: Row }): ReactNode {
  const usage = isRow(row.usage) ? row.usage : undefined;
  const prices = usePrices(row);
  return (
    <Stack gap="md">
      <Section title={words.title}>
        {usage === undefined ? <Empty title={words.none} /> : <UsageTable lines={toLines(usage)} prices={prices} />}
        {row.estimated === true && (
          <Text size="sm" mt="xs">
            {words.estimated}
          </Text>
        )}
      </Section>
      <Section title={words.cost}>
        <CostTable row={row} />
      </Section>
    </Stack>
  );
}

/** The listed prices of the row's model, in US cents; undefined where the row was priced otherwise. */
function usePrices(row: Row): unknown {
  const { can } = useSession();
  const [provider, model] = [readText(row, "provider"), readText(row, "answered_model") || readText(row, "model")];
  const { data } = useQuery({
    queryKey: ["price", provider, model],
    enabled: readText(row, "price_source") === "list" && provider !== "" && model !== "" && can(priceRow),
    staleTime: 600_000,
    queryFn: ({ signal }) =>
      call("GET", "/v1/model-configs/pricing/{provider}/{model}", { path: { provider, model }, signal }),
  });
  return readPath(data, "pay_as_you_go");
}

function UsageTable({ lines, prices }: { readonly lines: readonly Line[]; readonly prices: unknown }): ReactNode {
  const priceOf = ({ price }: Line): number | undefined => {
    const value = price === undefined ? undefined : readPath(prices, `${price}.price`);
    return typeof value === "number" ? value : undefined;
  };
  return (
    <>
      <Table aria-label={words.title} fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.counted}</Table.Th>
            <Table.Th ta="end">{words.amount}</Table.Th>
            {prices !== undefined && <Table.Th ta="end">{words.listPrice}</Table.Th>}
            {prices !== undefined && <Table.Th ta="end">{words.product}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map((line) => {
            const price = priceOf(line);
            return (
              <Table.Tr key={line.label}>
                <Table.Td>{line.isPart === true ? words.ofWhich(line.label) : line.label}</Table.Td>
                <Table.Td className="number">{formatNumber(line.count)}</Table.Td>
                {prices !== undefined && (
                  <Table.Td className="number">{price === undefined ? "—" : formatDollars(price * 10_000)}</Table.Td>
                )}
                {prices !== undefined && (
                  <Table.Td className="number">
                    {price === undefined ? "—" : formatDollars((price * line.count) / 100)}
                  </Table.Td>
                )}
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
      {prices !== undefined && (
        <Text size="xs" c="dimmed" mt="xs">
          {words.listHint}
        </Text>
      )}
    </>
  );
}

function CostTable({ row }: { readonly row: Row }): ReactNode {
  const dollars = (value: unknown) => (typeof value === "number" ? formatDollars(value / 100) : words.unknown);
  const rows: readonly (readonly [string, string])[] = [
    [words.total, row.cost === 0 && costOf(row) === undefined ? words.notPriced : dollars(row.cost)],
    ...(row.discarded_cost === undefined ? [] : [[words.discarded, dollars(row.discarded_cost)] as const]),
    ...(row.former_cost === undefined ? [] : [[words.former, dollars(row.former_cost)] as const]),
    ...(readPath(row, "cache.saved_cost") === undefined
      ? []
      : [[words.saved, dollars(readPath(row, "cache.saved_cost"))] as const]),
  ];
  const [source, priced] = [readText(row, "price_source"), readText(row, "answered_model")];
  const notes = [source && words.pricedFrom(source), priced && words.answeredModel(priced)].filter(
    (note) => note !== "",
  );
  return (
    <>
      <Table aria-label={words.cost} fz="sm">
        <Table.Tbody>
          {rows.map(([label, value]) => (
            <Table.Tr key={label}>
              <Table.Td>{label}</Table.Td>
              <Table.Td className="number">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {notes.length > 0 && (
        <Text size="xs" c="dimmed" mt="xs">
          {notes.join(" · ")}
        </Text>
      )}
    </>
  );
}
