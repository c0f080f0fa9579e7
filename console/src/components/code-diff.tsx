import { json } from "@codemirror/lang-json";
import { syntaxHighlighting } from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { type ReactNode, useEffect, useRef } from "react";
import { cspNonce } from "@/lib/nonce.ts";
import { colours, look } from "./code-mirror.tsx";

const marks = EditorView.theme({
  ".cm-changedLine": { backgroundColor: "var(--good-soft) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft)" },
  ".cm-changedText": { background: "none !important", textDecoration: "underline", textDecorationThickness: "2px" },
  ".cm-deletedText": { background: "none !important", textDecoration: "line-through" },
  ".cm-insertedLine": { textDecoration: "none", backgroundColor: "var(--good-soft)" },
  ".cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "none !important" },
  ".cm-collapsedLines": { background: "var(--surface-sunken) !important", color: "var(--ink-soft)" },
  ".cm-scroller": { maxHeight: "60vh", overflow: "auto" },
});

interface CodeDiffProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
  readonly language?: "json" | "text";
}

/** Two strings in one: what was removed above what replaced it. Loaded by `TextDiff`. */
export function CodeDiff({ before, after, label, language = "json" }: CodeDiffProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (host.current === null) return;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          EditorView.cspNonce.of(cspNonce),
          lineNumbers(),
          EditorView.lineWrapping,
          language === "json" ? json() : [],
          syntaxHighlighting(colours),
          look,
          marks,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            collapseUnchanged: { margin: 3, minSize: 6 },
          }),
        ],
      }),
    });
    return () => editor.destroy();
  }, [before, after, label, language]);
  return <div ref={host} />;
}
