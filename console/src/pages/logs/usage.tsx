import { Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { Empty } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatNumber } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/text.ts";
import { costOf, type LogRow } from "./row.ts";

const words = text.logs.usage;

const priceRow = "GET /v1/model-configs/pricing/{provider}/{path}";

type Prices = AnswerOf<typeof priceRow>["pay_as_you_go"];
type Counted = NonNullable<LogRow["usage"]>;

interface Line {
  readonly label: string;
  readonly count: number;
  /** The count is a part of another line. */
  readonly isPart?: boolean;
  /** Its price in the list; undefined: it has none of its own. */
  readonly price?: (prices: Prices) => Prices[string] | undefined;
}

const listed =
  (kind: string): NonNullable<Line["price"]> =>
  (prices) =>
    prices[kind];

const isPrice = (entry: Prices[string]): entry is { price: number } => typeof entry.price === "number";

/** The price of a unit that is no token stands in a list of its own. */
const listedUnit =
  (name: string): NonNullable<Line["price"]> =>
  ({ additional_units: units }) =>
    units === undefined || isPrice(units) ? undefined : units[name];

/** Lines of what was counted. Input and output stand without the parts that have a price of their own. */
function toLines(usage: Counted): readonly Line[] {
  const parts: readonly Line[] = [
    { label: words.cached, count: usage.cached_tokens, price: listed("cache_read_input_token") },
    { label: words.cacheWrite, count: usage.cache_write_tokens, price: listed("cache_write_input_token") },
    { label: words.audioInput, count: usage.audio_input_tokens, price: listed("request_audio_token") },
  ];
  const audioOutput = usage.audio_output_tokens;
  const units = Object.entries(usage.units ?? {});
  const plainInput = usage.input_tokens - parts.reduce((sum, { count }) => sum + count, 0);
  return [
    { label: words.input, count: Math.max(0, plainInput), price: listed("request_token") },
    ...parts.filter(({ count }) => count > 0),
    { label: words.output, count: Math.max(0, usage.output_tokens - audioOutput), price: listed("response_token") },
    { label: words.reasoning, count: usage.reasoning_tokens, isPart: true },
    { label: words.audioOutput, count: audioOutput, price: listed("response_audio_token") },
    ...units.map(([name, count]) => ({ label: name, count, price: listedUnit(name) })),
  ].filter(({ count }, index) => count > 0 || index === 0);
}

/** What was counted and what it cost. */
export function Usage({ row }: { readonly row: LogRow }): ReactNode {
  const { usage } = row;
  const prices = usePrices(row);
  return (
    <Stack gap="md">
      <Section title={words.title}>
        {!usage ? <Empty title={words.none} /> : <UsageTable lines={toLines(usage)} prices={prices} />}
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
function usePrices(row: LogRow): Prices | undefined {
  const { can } = useSession();
  const [provider, model] = [textOf(row.provider), textOf(row.answered_model) || textOf(row.model)];
  const { data } = useQuery({
    queryKey: ["price", provider, model],
    enabled: textOf(row.price_source) === "list" && provider !== "" && model !== "" && can(priceRow),
    staleTime: 600_000,
    queryFn: ({ signal }) =>
      get("/v1/model-configs/pricing/{provider}/{path}", { path: { provider, path: model }, signal }),
  });
  return data?.pay_as_you_go;
}

function UsageTable({
  lines,
  prices,
}: {
  readonly lines: readonly Line[];
  readonly prices: Prices | undefined;
}): ReactNode {
  const priceOf = ({ price }: Line): number | undefined => {
    const entry = prices && price?.(prices);
    return entry !== undefined && isPrice(entry) ? entry.price : undefined;
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
                <Table.Td>{line.isPart === true ? words.ofWhich({ what: line.label }) : line.label}</Table.Td>
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

function CostTable({ row }: { readonly row: LogRow }): ReactNode {
  const dollars = (value: number | null | undefined) =>
    typeof value === "number" ? formatDollars(value / 100) : words.unknown;
  const rows: readonly (readonly [string, string])[] = [
    [words.total, row.cost === 0 && costOf(row) === undefined ? words.notPriced : dollars(row.cost)],
    ...(row.discarded_cost === undefined ? [] : [[words.discarded, dollars(row.discarded_cost)] as const]),
    ...(row.former_cost === undefined ? [] : [[words.former, dollars(row.former_cost)] as const]),
    ...(row.cache?.saved_cost === undefined ? [] : [[words.saved, dollars(row.cache?.saved_cost)] as const]),
  ];
  const [source, priced] = [textOf(row.price_source), textOf(row.answered_model)];
  const notes = [source && words.pricedFrom({ source }), priced && words.answeredModel({ model: priced })].filter(
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
