import { Switch } from "@mantine/core";
import type { ReactNode } from "react";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { countsConsole, withConsole } from "@/lib/source.ts";
import { text } from "@/text/frame.ts";

/** Chooses whether figures count what sessions of the console requested. The choice stands in the address. */
export function ConsoleRequests(): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  return (
    <Switch
      label={text.common.consoleRequests}
      checked={countsConsole(search)}
      onChange={({ currentTarget: { checked } }) => change({ source: checked ? withConsole : undefined })}
    />
  );
}
