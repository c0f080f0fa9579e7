import { message } from "../message.ts";

/** Tools of MCP servers. */
export const tools = {
  tools: {
    definition: "Definition",
    run: "Run",
    arguments: "Arguments",
    runHint:
      "The gateway calls the tool as it does for clients: with your rights, its checks and limits, and a row in the log.",
    noArguments: "The schema names no arguments.",
    destructive: "The server says that this tool may change or delete things.",
    result: "Result",
    took: message<{ time: string }>("The server answered in {time}"),
    failed: "The tool reports an error",
    empty: "The result is empty.",
    structured: "Structured result",
    otherContent: "Content",
    text: "Text",
    image: message<{ place: number }>("Image {place}"),
    openLog: "Open log",
    description: "Description",
    inputSchema: "Schema of the arguments",
    outputSchema: "Schema of the result",
    annotations: "Annotations",
    hints: {
      readOnlyHint: ["Only reads", "Changes things"],
      destructiveHint: ["May delete or overwrite", "Only adds"],
      idempotentHint: ["Repeats change nothing", "Each call counts"],
      openWorldHint: ["Reaches outside", "Closed world"],
    },
    hintsHint: "The server says so itself.",
    approvals: { approved: "Approved", changed: "Changed since it was approved", new: "New, not approved" },
    approve: "Approve",
    approved: "The definition was approved",
    changes: "What changed since it was approved",
    unseen: "Only hidden characters changed, or what the gateway does not compare.",
    hidden: message<{ count: number }>(
      "{count, plural, one {# hidden character is left out here} other {# hidden characters are left out here}}",
    ),
    off: "Switched off",
    lastCalls: "Last calls",
    noCalls: "Nobody called this tool yet.",
    allCalls: "All calls",
    time: "Time",
    latency: "Latency",
    source: "Source",
    client: "Client",
    missing: "Required",
    notFound: "This server lists no such capability",
    types: { tool: "Tool", prompt: "Prompt", resource: "Resource", resource_template: "Template" } as Readonly<
      Record<string, string>
    >,
  },
} as const;
