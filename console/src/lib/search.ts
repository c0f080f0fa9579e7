import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { isJsonObject } from "./json.ts";

export type Search = Readonly<Record<string, string>>;

/** The search parameters of the address as plain strings. */
export function useSearchParams(): Search {
  const search: unknown = useSearch({ strict: false });
  return useMemo(
    () =>
      Object.fromEntries(
        Object.entries(isJsonObject(search) ? search : {}).map(([name, value]) => [name, String(value)]),
      ),
    [search],
  );
}

/** Changes some search parameters and leaves the others; undefined removes one. */
export function useChangeSearch(): (changes: Readonly<Record<string, string | undefined>>) => void {
  const navigate = useNavigate();
  const search = useSearchParams();
  return useCallback(
    (changes) => void navigate({ to: ".", search: { ...search, ...changes }, replace: true }),
    [navigate, search],
  );
}
