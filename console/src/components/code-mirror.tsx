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
import { linter, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  keymap,
  lineNumbers,
  MatchDecorator,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { cspNonce } from "@/lib/nonce.ts";
import type { CodeEditorProps } from "./code-editor-props.ts";
import { completeFromSchema, lintWithSchema, nodeAt, toDiagnostics } from "./json-schema.ts";

/** The console's look of an editor. */
export const look = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
    fontSize: "var(--size-sm)",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--font-code)" },
  ".cm-content": { fontFamily: "var(--font-code)", caretColor: "var(--ink)" },
  ".cm-gutters": {
    backgroundColor: "var(--surface-sunken)",
    color: "var(--ink-faint)",
    border: "none",
  },
  ".cm-foldPlaceholder": { backgroundColor: "transparent", border: "none", color: "var(--ink-faint)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--surface)" },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal", opacity: "0.75" },
  ".cm-diagnostic": { fontFamily: "var(--font-text)" },
  ".cm-tooltip": { backgroundColor: "var(--surface-raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-placeholder": { color: "var(--ink-faint)" },
  ".cm-variable": { color: "var(--accent-ink)", fontWeight: "600" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
});

/** Colours of JSON. */
export const colours = HighlightStyle.define([
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

/**
 * Typing over a selection is a change of the text here, and not of the page first: Chromium would give the new letters the
 * look of the replaced ones in a style attribute, which the Content-Security-Policy refuses.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType, isComposing } = event;
    if (inputType !== "insertText" || data === null || isComposing || view.state.readOnly) return false;
    if (view.state.selection.ranges.every(({ empty }) => empty)) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

function languageOf({ language = "json", schema, onChange, lines = true }: CodeEditorProps): Extension {
  if (language === "text") return [variables, EditorView.lineWrapping];
  // an empty text stands for nothing, not for broken JSON
  const parse = jsonParseLinter();
  const lint = linter((view) => (view.state.doc.length === 0 ? [] : parse(view)));
  const checks = onChange === undefined ? [] : [lint, lines ? lintGutter() : []];
  const guided =
    schema === undefined || onChange === undefined
      ? []
      : [linter(lintWithSchema(schema)), autocompletion({ icons: false, override: [completeFromSchema(schema)] })];
  return [json(), EditorView.lineWrapping, checks, guided];
}

/** CodeMirror 6 with the console's look. Loaded by `CodeEditor`. */
export function CodeMirror(props: CodeEditorProps): ReactNode {
  const { value, onChange, label, minHeight = "12rem", maxHeight = "70vh", lines = true } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const language = useRef(new Compartment());
  const initial = useRef(props);

  useEffect(() => {
    if (host.current === null) return;
    const size = EditorView.theme({
      ".cm-scroller": { maxHeight, overflow: "auto" },
      ".cm-content, .cm-gutter": { minHeight },
    });
    const editable = initial.current.onChange !== undefined;
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: initial.current.value,
        extensions: [
          EditorView.cspNonce.of(cspNonce),
          lines ? [lineNumbers(), foldGutter()] : [],
          history(),
          typeOver,
          bracketMatching(),
          syntaxHighlighting(colours),
          syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          look,
          initial.current.placeholder === undefined ? [] : placeholder(initial.current.placeholder),
          size,
          language.current.of(languageOf(initial.current)),
          EditorState.readOnly.of(!editable),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, minHeight, maxHeight, lines]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useMarks(view, props);
  return <div ref={host} />;
}

/** Shows what the gateway refused, and brings a value into view. */
function useMarks(view: RefObject<EditorView | null>, { marks, reveal }: CodeEditorProps): void {
  useEffect(() => {
    const editor = view.current;
    if (editor === null || marks === undefined) return;
    editor.dispatch(setDiagnostics(editor.state, [...toDiagnostics(editor.state, marks)]));
  }, [view, marks]);
  useEffect(() => {
    const editor = view.current;
    const node = editor === null || reveal === undefined ? undefined : nodeAt(editor.state, reveal.path);
    if (editor === null || node === undefined) return;
    editor.dispatch({ selection: { anchor: node.from, head: node.to }, scrollIntoView: true });
    editor.focus();
  }, [view, reveal]);
}
