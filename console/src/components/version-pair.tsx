import { Select } from "@mantine/core";
import { type ReactNode, useState } from "react";

interface VersionPairOptions {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  /** Version that is chosen first, by its value. */
  readonly before: string;
  /** Version that it is compared with first. */
  readonly after: string;
  readonly words: { readonly before: string; readonly after: string };
}

interface VersionPair {
  readonly before: string;
  readonly after: string;
  /** The fields that choose the two. */
  readonly fields: ReactNode;
}

/** Two versions to compare, and the fields that choose them. */
export function useVersionPair({ choices, words, ...first }: VersionPairOptions): VersionPair {
  const [before, setBefore] = useState(first.before);
  const [after, setAfter] = useState(first.after);
  const sides = [
    { label: words.before, value: before, choose: setBefore },
    { label: words.after, value: after, choose: setAfter },
  ];
  const fields = sides.map(({ label, value, choose }) => (
    <Select
      key={label}
      label={label}
      data={[...choices]}
      value={value}
      allowDeselect={false}
      onChange={(next) => choose(next ?? value)}
      w="24rem"
      maw="100%"
    />
  ));
  return { before, after, fields };
}
