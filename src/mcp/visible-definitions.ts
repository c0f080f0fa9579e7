import { isResourceDisabled } from "./capabilities.ts";
import { isSamePinned } from "./registry/definitions.ts";
import type { CapabilityKind, McpServer } from "./registry/mcp-server.ts";

type Definition = Readonly<Record<string, unknown>>;

/** A definition that callers may see, under the name it has at its server. */
interface VisibleDefinition {
  readonly name: string;
  readonly definition: Definition;
}

/** The definition that callers see of a capability; undefined for one that they do not see. */
function shownOf(
  { settings: { pinning } }: McpServer,
  kind: CapabilityKind,
  { definition, approved }: { definition: Definition | null; approved: Definition | null },
): Definition | undefined {
  if (!definition || pinning === "log" || (kind !== "tool" && kind !== "prompt")) return definition ?? undefined;
  if (approved && isSamePinned(kind, approved, definition)) return definition;
  return pinning === "hold" ? (approved ?? undefined) : undefined;
}

/** What a server offers of one kind, as it was last read: without what is switched off or not approved. */
export function visibleDefinitions(server: McpServer, kind: CapabilityKind): VisibleDefinition[] {
  const { capabilities, disabled } = server;
  return [...capabilities[kind]].flatMap(([name, known]): VisibleDefinition[] => {
    const isOff = kind === "resource" ? isResourceDisabled(disabled, name) : disabled[kind].has(name);
    if (isOff || !known.isListed) return [];
    const definition = shownOf(server, kind, known);
    return definition ? [{ name, definition }] : [];
  });
}
