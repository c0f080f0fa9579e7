import { useQuery } from "@tanstack/react-query";
import { type Answer, get } from "@/api/client.ts";
import { optionsOf } from "../define.ts";
import type { SourcedParameter } from "./parameter-input.tsx";
import { type Parameter, parametersOf } from "./parameters.ts";
import { nameOfCheck, vendorOf } from "./words.ts";

/** A check to choose. */
export interface CatalogCheck {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly name: string;
  readonly vendor: string;
  readonly isPartner: boolean;
  readonly phases: readonly string[];
  readonly parameters: readonly SourcedParameter[];
}

/** The integration of a partner's check is one of the partner's. */
function withIntegrations(parameters: readonly Parameter[], partner: string | null): readonly SourcedParameter[] {
  if (partner === null) return parameters;
  const source = optionsOf("/v1/integrations", ({ slug, name, ai_provider_id: provider }) =>
    provider === partner ? { value: slug, label: name } : undefined,
  );
  return parameters.map((one) => (one.name === "integration" ? { ...one, kind: "select", source } : one));
}

function toCheck({
  id,
  aliases,
  partner,
  phases,
  parameters,
}: Answer<"/v1/guardrails/checks", "get">["data"][number]): CatalogCheck {
  return {
    id,
    aliases,
    name: nameOfCheck(id),
    vendor: vendorOf(id),
    isPartner: partner !== null,
    phases,
    parameters: withIntegrations(parametersOf(parameters), partner),
  };
}

/** The checks that guardrails can have. */
export function useCatalog() {
  return useQuery({
    queryKey: ["checks"],
    queryFn: async ({ signal }) => (await get("/v1/guardrails/checks", { signal })).data.map(toCheck),
    staleTime: 300_000,
  });
}

/** The check with an id or an alias; ids without a source are those of `default`. */
export function findCheck(checks: readonly CatalogCheck[], id: string): CatalogCheck | undefined {
  const whole = id.includes(".") ? id : `default.${id}`;
  return checks.find((check) => check.id === whole || check.aliases.includes(whole));
}

function sharedNames(checks: readonly CatalogCheck[]): ReadonlySet<string> {
  const [first, ...others] = checks.map(({ parameters }) => parameters.map(({ name }) => name));
  return new Set(first?.filter((name) => others.every((names) => names.includes(name))));
}

/** Parameters of a check: its own, and those that every check, or every check of a partner, has. */
export function splitParameters(checks: readonly CatalogCheck[], { parameters, isPartner }: CatalogCheck) {
  const common = sharedNames(checks);
  const ofPartners = sharedNames(checks.filter((check) => check.isPartner));
  const isCommon = ({ name }: Parameter) =>
    common.has(name) || (isPartner && ofPartners.has(name) && name !== "integration");
  return { own: parameters.filter((one) => !isCommon(one)), common: parameters.filter(isCommon) };
}
