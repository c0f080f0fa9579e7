import { Select } from "@mantine/core";
import type { ReactNode } from "react";

interface VersionPairProps {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly before: string;
  readonly after: string;
  readonly onBefore: (version: string) => void;
  readonly onAfter: (version: string) => void;
  readonly words: { readonly before: string; readonly after: string };
}

/** The choice of two versions to compare. */
export function VersionPair({ choices, before, after, onBefore, onAfter, words }: VersionPairProps): ReactNode {
  const sides = [
    { label: words.before, value: before, onChange: onBefore },
    { label: words.after, value: after, onChange: onAfter },
  ];
  return sides.map(({ label, value, onChange }) => (
    <Select
      key={label}
      label={label}
      data={[...choices]}
      value={value}
      onChange={(next) => onChange(next ?? value)}
      w="20rem"
      maw="100%"
    />
  ));
}
