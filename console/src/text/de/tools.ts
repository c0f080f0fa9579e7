import type { tools as english } from "../en/tools.ts";
import type { WordsOf } from "../words-of.ts";

/** Tools of MCP servers, in German. */
export const tools: WordsOf<typeof english> = {
  tools: {
    definition: "Definition",
    run: "Ausführen",
    arguments: "Argumente",
    runHint:
      "Das Gateway ruft das Tool auf wie für Clients: mit den Rechten der Sitzung, seinen Prüfungen und Limits und einer Zeile im Log.",
    noArguments: "Das Schema nennt keine Argumente.",
    destructive: "Der Server sagt, dass dieses Tool etwas ändern oder löschen kann.",
    result: "Ergebnis",
    took: "Der Server hat nach {time} geantwortet",
    failed: "Das Tool meldet einen Fehler",
    empty: "Das Ergebnis ist leer.",
    structured: "Strukturiertes Ergebnis",
    otherContent: "Inhalt",
    text: "Text",
    image: "Bild {place}",
    openLog: "Log öffnen",
    description: "Beschreibung",
    inputSchema: "Schema der Argumente",
    outputSchema: "Schema des Ergebnisses",
    annotations: "Anmerkungen",
    hints: {
      readOnlyHint: ["Liest nur", "Ändert etwas"],
      destructiveHint: ["Kann löschen oder überschreiben", "Fügt nur hinzu"],
      idempotentHint: ["Wiederholungen ändern nichts", "Jeder Aufruf zählt"],
      openWorldHint: ["Reicht nach außen", "Geschlossene Welt"],
    },
    hintsHint: "Nach Angabe des Servers.",
    approvals: { approved: "Freigegeben", changed: "Seit der Freigabe geändert", new: "Neu, nicht freigegeben" },
    approve: "Freigeben",
    approved: "Die Definition ist freigegeben",
    changes: "Was sich seit der Freigabe geändert hat",
    unseen: "Geändert haben sich nur verborgene Zeichen oder das, was das Gateway nicht vergleicht.",
    hidden:
      "{count, plural, one {# verborgenes Zeichen ist hier ausgelassen} other {# verborgene Zeichen sind hier ausgelassen}}",
    off: "Ausgeschaltet",
    lastCalls: "Letzte Aufrufe",
    noCalls: "Dieses Tool wurde noch nie aufgerufen.",
    allCalls: "Alle Aufrufe",
    time: "Zeit",
    latency: "Latenz",
    source: "Quelle",
    client: "Client",
    missing: "Erforderlich",
    notFound: "Dieser Server führt nichts unter diesem Namen",
    types: { tool: "Tool", prompt: "Prompt", resource: "Ressource", resource_template: "Vorlage" },
  },
};
