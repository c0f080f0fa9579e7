import type { saved as english } from "../en/saved.ts";
import type { WordsOf } from "../words-of.ts";

/** Saved views with their charts on the overview, and saved runs of the playground, in German. */
export const saved: WordsOf<typeof english> = {
  views: {
    title: "Gespeicherte Ansichten",
    one: "Ansicht",
    none: "Noch keine gespeicherten Ansichten. Eine Ansicht ist, was diese Seite jetzt zeigt, unter einem Namen.",
    shared: "Im Workspace geteilt",
    share: "Im Workspace teilen",
    own: "Nur für die eigene Person",
    local: "In diesem Browser gespeichert",
    save: "Als Ansicht speichern",
    saveChanges: "Änderungen speichern",
    everything: "Alles zeigen",
    edit: "Ansicht {name} bearbeiten",
    move: "Ansicht {name} in den Workspace verschieben",
    defaultMark: "öffnet zuerst",
    sharedHint: "Alle im Workspace öffnen sie. Was sie davon sehen, folgt aus ihrer Rolle.",
    ofOthers: "Eine andere Person hat sie geteilt. Manager und Admins dürfen sie auch ändern.",
    isDefault: "Diese Seite für mich damit öffnen",
    pinned: "Diagramm auf der Übersicht",
    copyLink: "Link kopieren",
    missing: "Diese Ansicht gibt es nicht, oder sie ist nicht geteilt.",
    unknown: "Diese Konsole kennt {names} nicht, von einer späteren Version gespeichert. Hier ausgelassen.",
    charts: "Diagramme dieses Workspace",
    open: "Öffnen",
  },
  runs: {
    title: "Verlauf",
    one: "Lauf",
    none: "Noch keine gespeicherten Läufe. Ein Lauf ist, was der Playground jetzt enthält: Anfragen, Antworten, Tokens und Kosten.",
    save: "Diesen Lauf speichern",
    edit: "Lauf {name} bearbeiten",
    isShared: "geteilt",
    sharedHint: "Alle im Workspace, die Modelle aufrufen und Inhalte des Logs sehen dürfen, öffnen ihn.",
  },
};
