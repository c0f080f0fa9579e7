import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { type Column, DataTable } from "@/components/data-table.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { formatDay, formatDollars, formatNumber } from "@/lib/format.ts";
import { useInference } from "@/session/inference.ts";
import { ObstacleNotice } from "@/session/obstacle.tsx";
import { text } from "@/text/text.ts";

const words = text.models;

type Answer = AnswerOf<"GET /v1/models">;
/** The list in OpenAI's form, which requests without headers of other clients get. */
type List = Extract<Answer, { object?: unknown }>;
type Model = List["data"][number];

const isList = (answer: Answer): answer is List => "object" in answer;

const none = "—";
const count = (tokens: number | null | undefined): string => (tokens == null ? none : formatNumber(tokens));

/** Prices per token as text, in dollars per million tokens. */
function showPrice({ pricing }: Model): string {
  const [input, output] = [pricing?.prompt, pricing?.completion].map((price) =>
    price == null ? none : formatDollars(Number((Number(price) * 1e6).toPrecision(12))),
  );
  return pricing == null ? none : text.resources.integrations.priceIs({ input: input ?? none, output: output ?? none });
}

/** What the fields of requests that a model takes say that it can do. */
function showAbilities({ supported_parameters: fields }: Model): string {
  const known = Object.entries(words.abilities).filter(([field]) => fields?.includes(field));
  return known.length === 0 ? none : known.map(([, word]) => word).join(", ");
}

const columns: readonly Column<Model>[] = [
  { key: "id", label: words.name, track: "minmax(12rem, 2fr)", render: ({ id }) => <span className="code">{id}</span> },
  { key: "service", label: words.service, wide: true, render: ({ owned_by: service }) => service ?? none },
  { key: "window", label: words.window, figure: true, render: ({ context_length: window }) => count(window) },
  {
    key: "output",
    label: words.output,
    figure: true,
    wide: true,
    render: ({ top_provider: limits }) => count(limits?.max_completion_tokens),
  },
  {
    key: "modalities",
    label: words.modalities,
    wide: true,
    track: "minmax(9rem, 1fr)",
    render: ({ architecture: known }) => known?.modality ?? known?.input_modalities?.join("+") ?? none,
  },
  { key: "abilities", label: words.can, wide: true, track: "minmax(9rem, 1fr)", render: showAbilities },
  { key: "price", label: words.price, track: "minmax(10rem, 1fr)", render: showPrice },
  {
    key: "retires",
    label: words.retires,
    wide: true,
    render: ({ shutdown_date: date }) => (date == null ? none : formatDay(date)),
  },
];

/** Models and aliases that the workspace may call, with what the gateway knows of them. */
export default function Models(): ReactNode {
  const { obstacle, headers } = useInference();
  const [wanted, setWanted] = useState("");
  const { data, error, refetch } = useQuery({
    queryKey: ["models", headers],
    enabled: obstacle === undefined,
    queryFn: async ({ signal }): Promise<readonly Model[]> => {
      const answer = await get("/v1/models", { headers, signal });
      return isList(answer) ? answer.data : [];
    },
  });
  const rows = data?.filter(({ id }) => id.toLowerCase().includes(wanted.trim().toLowerCase()));
  return (
    <ListPage title={words.title} about={words.about}>
      <ObstacleNotice obstacle={obstacle} />
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {obstacle === undefined && rows === undefined && error === null && <Waiting />}
      {rows !== undefined && (
        <>
          <TextInput
            type="search"
            label={words.search}
            value={wanted}
            onChange={(event) => setWanted(event.currentTarget.value)}
            maw="24rem"
          />
          {rows.length === 0 ? (
            <Empty title={words.empty} hint={words.emptyHint} />
          ) : (
            <DataTable label={words.title} columns={columns} rows={rows} idOf={({ id }) => id} above="16rem" />
          )}
        </>
      )}
    </ListPage>
  );
}
