import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import {
  bracketMatching,
  defaultHighlightStyle,
  foldGutter,
  HighlightStyle,
  syntaxHighlighting,
} from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  keymap,
  lineNumbers,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactNode, useEffect, useRef } from "react";
import { cspNonce } from "@/lib/nonce.ts";
import type { CodeEditorProps } from "./code-editor.tsx";
import { completeFromSchema, lintWithSchema } from "./json-schema.ts";

const look = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    fontSize: "var(--size-sm)",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--font-code)", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface-sunken)", color: "var(--ink-faint)", border: "none" },
  ".cm-tooltip": { backgroundColor: "var(--surface-raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-variable": { color: "var(--accent-ink)", fontWeight: "600" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent-ink)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
]);

const variable = new MatchDecorator({
  regexp: /\{\{[^{}]{1,200}\}\}/g,
  decoration: Decoration.mark({ class: "cm-variable" }),
});

const variables = ViewPlugin.fromClass(
  class {
    decorations;
    constructor(view: EditorView) {
      this.decorations = variable.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = variable.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function languageOf({ language = "json", schema, onChange }: CodeEditorProps): Extension {
  if (language === "text") return [variables, EditorView.lineWrapping];
  const checks = onChange === undefined ? [] : [linter(jsonParseLinter()), lintGutter()];
  const guided =
    schema === undefined || onChange === undefined
      ? []
      : [linter(lintWithSchema(schema)), autocompletion({ override: [completeFromSchema(schema)] })];
  return [json(), checks, guided];
}

/** CodeMirror 6 with the console's look. Loaded by `CodeEditor`. */
export function CodeMirror(props: CodeEditorProps): ReactNode {
  const { value, onChange, label, minHeight = "12rem", maxHeight = "70vh" } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const language = useRef(new Compartment());
  const initial = useRef(props);

  useEffect(() => {
    if (host.current === null) return;
    const size = EditorView.theme({ ".cm-scroller": { minHeight, maxHeight, overflow: "auto" } });
    const editable = initial.current.onChange !== undefined;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial.current.value,
        extensions: [
          EditorView.cspNonce.of(cspNonce),
          lineNumbers(),
          foldGutter(),
          history(),
          bracketMatching(),
          syntaxHighlighting(colours),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          look,
          size,
          language.current.of(languageOf(initial.current)),
          EditorState.readOnly.of(!editable),
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, minHeight, maxHeight]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={host} />;
}
